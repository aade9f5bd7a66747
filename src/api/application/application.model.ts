import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'
import { Reconciled } from '../resource/reconciled.model.js'
import { ApplicationSpec } from './application-spec.model.js'

@ObjectType({ description: 'Why a release was given up. Nothing tries it again before the application changes.' })
export class Verdict {
  @Field(() => String, { description: 'One CamelCase word.' })
  reason!: string

  @Field(() => String, { description: 'The same in words.' })
  message!: string
}

@ObjectType({ description: 'The last lines of what made a release fail.' })
export class ReleaseLog {
  @Field(() => [String], { description: 'Oldest first.' })
  lines!: string[]
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

  @Field(() => Date, { nullable: true, description: 'When its pre-deploy command had ended well; null before, and without one.' })
  preDeployedAt!: Date | null

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
