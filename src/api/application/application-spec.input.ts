import { Field, Float, ID, InputType, Int } from '@nestjs/graphql'
import { DomainInput } from '../domain/domain.input.js'
import { Protocol, PullPolicy, Strategy, told } from './application-spec.model.js'

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

@InputType({ description: 'An environment variable from a secret of the project.' })
export class SecretEnvInput {
  @Field(() => String, { description: 'Its name in the container, without = and NUL.' })
  name!: string

  @Field(() => String, { description: 'Name of the secret.' })
  secret!: string

  @Field(() => Int, { nullable: true, description: told.secretVersion })
  version?: number | null
}

@InputType({ description: 'A file that stands in the container when it starts: either a text or a secret.' })
export class ApplicationFileInput {
  @Field(() => String, { description: 'Where, absolute.' })
  path!: string

  @Field(() => String, { nullable: true, description: 'Its text, at most 32 KiB. Shown to tokens with the ability write only.' })
  content?: string | null

  @Field(() => String, { nullable: true, description: 'Name of a secret of the project, instead of content.' })
  secret?: string | null

  @Field(() => Int, { nullable: true, description: told.secretVersion })
  version?: number | null

  @Field(() => String, { nullable: true, description: told.fileMode })
  mode?: string | null
}

@InputType({
  description: 'How a replica is asked how it is: by an HTTP request or a TCP connect from its node, or by a command in it.',
})
export class ProbeInput {
  @Field(() => String, { nullable: true, description: told.probePath })
  path?: string | null

  @Field(() => Int, { nullable: true, description: told.probePort })
  port?: number | null

  @Field(() => [String], { nullable: true, description: told.probeCommand })
  command?: string[] | null

  @Field(() => Float, { nullable: true, description: told.intervalSeconds })
  intervalSeconds?: number | null

  @Field(() => Float, { nullable: true, description: told.timeoutSeconds })
  timeoutSeconds?: number | null

  @Field(() => Int, { nullable: true, description: told.failureThreshold })
  failureThreshold?: number | null
}

@InputType({ description: 'A port of the node that leads to the container.' })
export class PublishedPortInput {
  @Field(() => Int, { description: "The container's port." })
  port!: number

  @Field(() => Int, { description: "The node's port; only one application of the node can have it." })
  hostPort!: number

  @Field(() => String, { nullable: true, description: told.hostAddress })
  hostAddress?: string | null

  @Field(() => Protocol, { nullable: true, description: 'TCP when not given.' })
  protocol?: Protocol | null
}

@InputType({ description: 'A volume of the application.' })
export class VolumeMountInput {
  @Field(() => String, { description: 'Its name in the application.' })
  name!: string

  @Field(() => String, { description: 'Where it is in the container, absolute.' })
  path!: string

  @Field(() => Boolean, { nullable: true, description: 'false when not given.' })
  readOnly?: boolean | null
}

@InputType({ description: 'A place of the node inside the container.' })
export class BindMountInput {
  @Field(() => String, { description: 'Where it is on the node, absolute.' })
  source!: string

  @Field(() => String, { description: 'Where it is in the container, absolute.' })
  path!: string

  @Field(() => Boolean, { nullable: true, description: 'false when not given.' })
  readOnly?: boolean | null
}

@InputType({ description: 'Memory as a file system.' })
export class TmpfsInput {
  @Field(() => String, { description: 'Where it is in the container, absolute.' })
  path!: string

  @Field(() => Float, { nullable: true, description: "The engine's default when not given." })
  sizeBytes?: number | null
}

@InputType({ description: 'A device of the node inside the container.' })
export class DeviceInput {
  @Field(() => String, { description: 'Where it is on the node, absolute.' })
  source!: string

  @Field(() => String, { nullable: true, description: 'Where it is in the container; the same place when not given.' })
  path?: string | null

  @Field(() => String, { nullable: true, description: 'Made of r, w and m; rwm when not given.' })
  permissions?: string | null
}

@InputType({ description: 'Most that one replica may use.' })
export class ResourcesInput {
  @Field(() => Float, { nullable: true, description: told.memoryBytes })
  memoryBytes?: number | null

  @Field(() => Float, { nullable: true, description: told.cpus })
  cpus?: number | null
}

@InputType({ description: 'What runs once for each release, before anything is switched to it.' })
export class PreDeployInput {
  @Field(() => [String], { description: 'An argument list, never a shell line.' })
  command!: string[]

  @Field(() => Int, { nullable: true, description: told.preDeployTimeout })
  timeoutSeconds?: number | null
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

  @Field(() => ProbeInput, {
    nullable: true,
    description: 'When a replica counts as ready; a TCP connect to the first port when not given.',
  })
  readiness?: ProbeInput | null

  @Field(() => ProbeInput, {
    nullable: true,
    description: 'A replica that fails it is restarted; only an exit counts when not given.',
  })
  liveness?: ProbeInput | null

  @Field(() => [SecretEnvInput], { nullable: true, description: `${told.secretEnv} The list is replaced as a whole.` })
  secretEnv?: SecretEnvInput[] | null

  @Field(() => [ApplicationFileInput], { nullable: true, description: `${told.files} The list is replaced as a whole.` })
  files?: ApplicationFileInput[] | null

  @Field(() => String, { nullable: true, description: told.user })
  user?: string | null

  @Field(() => [PublishedPortInput], { nullable: true, description: `${told.publishedPorts} The list is replaced as a whole.` })
  publishedPorts?: PublishedPortInput[] | null

  @Field(() => [VolumeMountInput], { nullable: true, description: `${told.volumes} The list is replaced as a whole.` })
  volumes?: VolumeMountInput[] | null

  @Field(() => [BindMountInput], { nullable: true, description: `${told.bindMounts} The list is replaced as a whole.` })
  bindMounts?: BindMountInput[] | null

  @Field(() => [TmpfsInput], { nullable: true, description: `${told.tmpfs} The list is replaced as a whole.` })
  tmpfs?: TmpfsInput[] | null

  @Field(() => Float, { nullable: true, description: `${told.shmBytes} At least 65536; the engine's default when not given.` })
  shmBytes?: number | null

  @Field(() => [DeviceInput], { nullable: true, description: `${told.devices} The list is replaced as a whole.` })
  devices?: DeviceInput[] | null

  @Field(() => ResourcesInput, { nullable: true, description: 'Most that one replica may use; no limit when not given.' })
  resources?: ResourcesInput | null

  @Field(() => Strategy, { nullable: true, description: told.strategy })
  strategy?: Strategy | null

  @Field(() => PreDeployInput, { nullable: true, description: told.preDeploy })
  preDeploy?: PreDeployInput | null

  @Field(() => [String], { nullable: true, description: `${told.dependsOn} The list is replaced as a whole.` })
  dependsOn?: string[] | null

  @Field(() => PullPolicy, { nullable: true, description: 'When an image is pulled; MISSING when not given.' })
  pullPolicy?: PullPolicy | null

  @Field(() => String, { nullable: true, description: told.registryCredential })
  registryCredential?: string | null

  @Field(() => Boolean, { nullable: true, description: told.suspended })
  suspended?: boolean | null

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

  @Field(() => [DomainInput], { nullable: true, description: `${told.domains} The list is replaced as a whole.` })
  domains?: DomainInput[] | null

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
