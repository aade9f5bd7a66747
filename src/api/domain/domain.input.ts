import { Field, Float, InputType, Int } from '@nestjs/graphql'
import { BalancingPolicy, domainTold, TlsMode } from './domain-spec.model.js'

@InputType({ description: 'A redirect in place of the application.' })
export class DomainRedirectInput {
  @Field(() => String, { description: domainTold.redirectTo })
  to!: string

  @Field(() => Boolean, { nullable: true, description: domainTold.permanent })
  permanent?: boolean | null
}

@InputType({
  description:
    'Somebody who may enter. Give password or passwordHash; an update that gives neither keeps the hash that this name has at the same host and path.',
})
export class BasicAuthUserInput {
  @Field(() => String, { description: 'Their name, without a colon.' })
  username!: string

  @Field(() => String, { nullable: true, description: 'At most 72 bytes. Hashed at once, and neither kept nor written down.' })
  password?: string | null

  @Field(() => String, { nullable: true, description: 'Instead of password: its bcrypt hash with a cost of 4 to 15.' })
  passwordHash?: string | null
}

@InputType({ description: 'A header that ingress sets or removes.' })
export class DomainHeaderInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string

  @Field(() => String, { nullable: true, description: domainTold.headerValue })
  value?: string | null
}

@InputType({ description: 'How long ingress waits for the application, in seconds.' })
export class DomainTimeoutsInput {
  @Field(() => Float, { nullable: true, description: domainTold.responseHeaderSeconds })
  responseHeaderSeconds?: number | null

  @Field(() => Float, { nullable: true, description: domainTold.readSeconds })
  readSeconds?: number | null

  @Field(() => Float, { nullable: true, description: domainTold.writeSeconds })
  writeSeconds?: number | null
}

@InputType({ description: 'Which replica gets a request.' })
export class DomainBalancingInput {
  @Field(() => BalancingPolicy, { description: 'The rule.' })
  policy!: BalancingPolicy

  @Field(() => String, { nullable: true, description: domainTold.cookie })
  cookie?: string | null
}

@InputType({ description: 'A host, or a part of one, that ingress serves the application under. Only one resource can have it.' })
export class DomainInput {
  @Field(() => String, { description: domainTold.host })
  host!: string

  @Field(() => String, { nullable: true, description: domainTold.path })
  path?: string | null

  @Field(() => Boolean, { nullable: true, description: domainTold.stripPath })
  stripPath?: boolean | null

  @Field(() => Int, { nullable: true, description: domainTold.port })
  port?: number | null

  @Field(() => TlsMode, { nullable: true, description: domainTold.tls })
  tls?: TlsMode | null

  @Field(() => String, { nullable: true, description: domainTold.certificate })
  certificate?: string | null

  @Field(() => DomainRedirectInput, { nullable: true, description: domainTold.redirect })
  redirect?: DomainRedirectInput | null

  @Field(() => [BasicAuthUserInput], { nullable: true, description: domainTold.basicAuth })
  basicAuth?: BasicAuthUserInput[] | null

  @Field(() => [DomainHeaderInput], { nullable: true, description: domainTold.requestHeaders })
  requestHeaders?: DomainHeaderInput[] | null

  @Field(() => [DomainHeaderInput], { nullable: true, description: domainTold.responseHeaders })
  responseHeaders?: DomainHeaderInput[] | null

  @Field(() => [String], { nullable: true, description: domainTold.allowedAddresses })
  allowedAddresses?: string[] | null

  @Field(() => Float, { nullable: true, description: domainTold.bodyLimitBytes })
  bodyLimitBytes?: number | null

  @Field(() => Boolean, { nullable: true, description: domainTold.compression })
  compression?: boolean | null

  @Field(() => DomainTimeoutsInput, { nullable: true, description: domainTold.timeouts })
  timeouts?: DomainTimeoutsInput | null

  @Field(() => DomainBalancingInput, { nullable: true, description: domainTold.balancing })
  balancing?: DomainBalancingInput | null
}
