import { Field, ID, Int, ObjectType } from '@nestjs/graphql'
import { ConditionStatus } from '../../reconcile/condition.js'
import { EndpointState } from '../application/application.model.js'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({ description: 'Whether requests for a domain reach what it is for, as its ingress saw it last.' })
export class DomainRoute {
  @Field(() => ConditionStatus, { description: 'True: they do.' })
  status!: ConditionStatus

  @Field(() => String, { description: 'Why: one CamelCase word, as in the condition Routed of its application.' })
  reason!: string

  @Field(() => String, { description: 'The same in words; empty when there is nothing to say.' })
  message!: string
}

@ObjectType({ description: 'The certificate that a host is served with, as it was seen last by a handshake.' })
export class DomainCertificate {
  @Field(() => String, { nullable: true, description: 'Who signed it; null while there is none.' })
  issuer!: string | null

  @Field(() => Date, { nullable: true, description: 'Until when it holds; null while there is none.' })
  notAfter!: Date | null

  @Field(() => String, { nullable: true, description: 'Why there is none, or why it is not renewed; null = all is well.' })
  error!: string | null

  @Field(() => Date, { description: 'When it was looked at.' })
  seenAt!: Date
}

@ObjectType({ description: 'A replica that gets the requests of a domain.' })
export class DomainEndpoint {
  @Field(() => Int, { description: 'The release that it runs.' })
  release!: number

  @Field(() => Int, { description: 'Counted from 0 in each release.' })
  replica!: number

  @Field(() => ID, { description: 'Id of the node that it runs on.' })
  nodeId!: string

  @Field(() => String, { description: "IPv4 address in the node's network." })
  address!: string

  @Field(() => String, { description: 'Name of its container, as docker ps shows it.' })
  container!: string

  @Field(() => EndpointState, { description: 'Where it is in its life.' })
  state!: EndpointState
}

@ObjectType({ description: 'What answers requests for a domain now.' })
export class DomainServing {
  @Field(() => Int, {
    nullable: true,
    description: 'The newest release that served and was not given up; null before the first one.',
  })
  release!: number | null

  @Field(() => [DomainEndpoint], { description: 'Its ready replicas; in a rolling change also those of another release.' })
  endpoints!: DomainEndpoint[]
}

@ObjectType({ description: 'A host, or a part of one, that something has claimed: nothing else can be served under it.' })
export class Domain {
  @Field(() => String, { description: 'In lower case and punycode, perhaps with *. in front.' })
  host!: string

  @Field(() => String, { description: 'Requests at or below it; / is the whole host.' })
  path!: string

  @Field(() => Date, { description: 'When what is wanted of it changed last.' })
  changedAt!: Date
}

export const DomainConnection = connectionOf(Domain, 'Domain')
