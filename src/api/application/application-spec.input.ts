import { Field, Float, ID, InputType, Int } from '@nestjs/graphql'

@InputType({ description: 'One environment variable, passed on byte for byte: nothing in it is expanded or unquoted.' })
export class EnvInput {
  @Field(() => String, { description: 'Without = and NUL.' })
  name!: string

  @Field(() => String, { description: 'Any text without NUL.' })
  value!: string
}

@InputType({ description: "One label on the application's containers." })
export class LabelInput {
  @Field(() => String, { description: 'Keys that begin with evenkeel. are reserved.' })
  key!: string

  @Field(() => String, { description: 'Any text.' })
  value!: string
}

@InputType({ description: 'When a replica counts as ready: by an HTTP request or a TCP connect from its node.' })
export class ReadinessInput {
  @Field(() => String, { nullable: true, description: 'Path of the HTTP request; without it a TCP connect is enough.' })
  path?: string | null

  @Field(() => Int, { nullable: true, description: "The application's first port when not given." })
  port?: number | null

  @Field(() => Float, { nullable: true, description: 'Seconds between probes, 2 when not given.' })
  intervalSeconds?: number | null

  @Field(() => Float, { nullable: true, description: 'Seconds that a probe may take, 2 when not given.' })
  timeoutSeconds?: number | null

  @Field(() => Int, {
    nullable: true,
    description: 'Failures in a row after which a ready replica counts as unready, 3 when not given.',
  })
  failureThreshold?: number | null
}

@InputType({ description: 'Where replicas live.' })
export class PlacementInput {
  @Field(() => String, { description: 'Name of the node.' })
  node!: string
}

/** What create and update share: everything but the image, which only a create must name. */
@InputType({ isAbstract: true })
export abstract class ApplicationSpecInput {
  @Field(() => [String], {
    nullable: true,
    description: "Instead of the image's entry point; an argument list, never a shell line.",
  })
  entrypoint?: string[] | null

  @Field(() => [String], { nullable: true, description: "Instead of the image's command; an argument list, never a shell line." })
  command?: string[] | null

  @Field(() => [EnvInput], { nullable: true, description: 'Environment variables; the list is replaced as a whole.' })
  env?: EnvInput[] | null

  @Field(() => [LabelInput], { nullable: true, description: 'Labels on the containers; the list is replaced as a whole.' })
  labels?: LabelInput[] | null

  @Field(() => [Int], {
    nullable: true,
    description: 'Container ports; the first is the one that ingress and the default probe use.',
  })
  ports?: number[] | null

  @Field(() => Int, { nullable: true, description: '0 to 100, 1 when not given.' })
  replicas?: number | null

  @Field(() => ReadinessInput, {
    nullable: true,
    description: 'When a replica counts as ready; a TCP connect to the first port when not given.',
  })
  readiness?: ReadinessInput | null

  @Field(() => Int, {
    nullable: true,
    description: 'Seconds that a new replica has to become ready before its release is given up, 60 when not given.',
  })
  startupBudgetSeconds?: number | null

  @Field(() => Int, { nullable: true, description: 'Seconds between the stop signal and the kill, 10 when not given.' })
  stopGraceSeconds?: number | null

  @Field(() => Int, {
    nullable: true,
    description: 'Longest time that open connections keep an old replica alive, 30 when not given.',
  })
  drainSeconds?: number | null

  @Field(() => PlacementInput, {
    nullable: true,
    description: 'Where its replicas live; the node that joined first when not given.',
  })
  placement?: PlacementInput | null
}

@InputType({ description: 'A new application.' })
export class ApplicationCreateInput extends ApplicationSpecInput {
  @Field(() => ID, { description: 'The project that it goes into.' })
  projectId!: string

  @Field(() => String, { description: 'A DNS label, unique in the project over all kinds. Cannot be changed later.' })
  name!: string

  @Field(() => String, { description: 'An image reference: [host[:port]/]name[:tag][@sha256:digest].' })
  image!: string
}

@InputType({
  description:
    'A change: what is absent stays as it is, null goes back to the default, objects are changed field by field, lists are replaced as a whole.',
})
export class ApplicationUpdateInput extends ApplicationSpecInput {
  @Field(() => String, { nullable: true, description: 'A name does not change: only the present one is accepted.' })
  name?: string | null

  @Field(() => String, { nullable: true, description: 'An image reference. Has no default, so null is refused.' })
  image?: string | null
}
