import { Field, Float, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'
import { Reconciled } from '../resource/reconciled.model.js'

@ObjectType({ description: 'One environment variable.' })
export class Env {
  @Field(() => String, { description: 'Its name.' })
  name!: string

  @Field(() => String, { description: 'Its value, byte for byte.' })
  value!: string
}

@ObjectType({ description: "One label on the application's containers." })
export class Label {
  @Field(() => String, { description: 'Its key.' })
  key!: string

  @Field(() => String, { description: 'Its value.' })
  value!: string
}

@ObjectType({ description: 'When a replica counts as ready, as people asked for it; null fields stand for the default.' })
export class Readiness {
  @Field(() => String, { nullable: true, description: 'Path of the HTTP request; null = a TCP connect.' })
  path!: string | null

  @Field(() => Int, { nullable: true, description: 'null = the first port.' })
  port!: number | null

  @Field(() => Float, { nullable: true, description: 'null = 2.' })
  intervalSeconds!: number | null

  @Field(() => Float, { nullable: true, description: 'null = 2.' })
  timeoutSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 3.' })
  failureThreshold!: number | null
}

@ObjectType({ description: 'Where replicas live.' })
export class Placement {
  @Field(() => String, { description: 'Name of the node.' })
  node!: string
}

@ObjectType({ description: 'What people asked for, exactly as they said it: null stands for the default.' })
export class ApplicationSpec {
  @Field(() => String, { description: 'The image reference.' })
  image!: string

  @Field(() => [String], { nullable: true, description: "null = the image's own." })
  entrypoint!: string[] | null

  @Field(() => [String], { nullable: true, description: "null = the image's own." })
  command!: string[] | null

  @Field(() => [Env], { nullable: true, description: 'null = none.' })
  env!: Env[] | null

  @Field(() => [Label], { nullable: true, description: 'null = none.' })
  labels!: Label[] | null

  @Field(() => [Int], { nullable: true, description: 'null = none.' })
  ports!: number[] | null

  @Field(() => Int, { nullable: true, description: 'null = 1.' })
  replicas!: number | null

  @Field(() => Readiness, { nullable: true, description: 'null = a TCP connect to the first port, if there is one.' })
  readiness!: Readiness | null

  @Field(() => Int, { nullable: true, description: 'null = 60.' })
  startupBudgetSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 10.' })
  stopGraceSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 30.' })
  drainSeconds!: number | null

  @Field(() => Placement, { nullable: true, description: 'null = the node that joined first.' })
  placement!: Placement | null
}

@ObjectType({ description: 'Why a release was given up. Nothing tries it again before the application changes.' })
export class Verdict {
  @Field(() => String, { description: 'One CamelCase word.' })
  reason!: string

  @Field(() => String, { description: 'The same in words.' })
  message!: string
}

@ObjectType({ description: 'One immutable revision of an application: its container template and the image it was resolved to.' })
export class Release {
  @Field(() => Int, { description: 'Counted from 1 for each application.' })
  number!: number

  @Field(() => Int, { description: 'The generation that asked for it first.' })
  generation!: number

  @Field(() => String, { description: 'The image as it was asked for.' })
  image!: string

  @Field(() => String, { description: 'What the containers run: an image id or name@digest.' })
  resolvedImage!: string

  @Field(() => String, { description: 'Who said what the image is: registry, repo-digest or image-id.' })
  resolvedFrom!: string

  @Field(() => Verdict, { nullable: true, description: 'Why it was given up; null for one that was not.' })
  verdict!: Verdict | null

  @Field(() => Date, { nullable: true, description: 'When enough of its replicas were ready for the first time; null before.' })
  servingAt!: Date | null

  @Field(() => Date, { description: 'When it was made.' })
  createdAt!: Date
}

export const ReleaseConnection = connectionOf(Release, 'Release')

export const EndpointState = { starting: 'starting', ready: 'ready', draining: 'draining' } as const
export type EndpointState = (typeof EndpointState)[keyof typeof EndpointState]
registerEnumType(EndpointState, {
  name: 'EndpointState',
  description: 'Where a replica is in its life.',
  valuesMap: {
    starting: { description: 'Its container is being made or is not ready yet; nothing is routed to it.' },
    ready: { description: 'It takes requests.' },
    draining: { description: 'Nothing new is routed to it; it stops when what is open has ended.' },
  },
})

@ObjectType({ description: 'The fixed address of one replica. It exists before its container and outlives crashes of it.' })
export class Endpoint {
  @Field(() => Int, { description: 'The release that it runs.' })
  release!: number

  @Field(() => Int, { description: 'Counted from 0 in each release.' })
  replica!: number

  @Field(() => ID, { description: 'Id of the node that it runs on.' })
  nodeId!: string

  @Field(() => String, { description: "IPv4 address in the node's network." })
  address!: string

  @Field(() => EndpointState, { description: 'Where it is in its life.' })
  state!: EndpointState

  @Field(() => Date, { nullable: true, description: 'When it was ready for the first time.' })
  readyAt!: Date | null
}

@ObjectType({ description: 'How many replicas there are.' })
export class Replicas {
  @Field(() => Int, { description: 'As many should run.' })
  desired!: number

  @Field(() => Int, { description: 'As many take requests.' })
  ready!: number
}

@ObjectType({ implements: () => Reconciled, description: 'Replicas of one image, changed without losing a request.' })
export class Application extends Reconciled {
  @Field(() => ApplicationSpec, { description: 'What people asked for.' })
  spec!: ApplicationSpec
}

export const ApplicationConnection = connectionOf(Application, 'Application')
