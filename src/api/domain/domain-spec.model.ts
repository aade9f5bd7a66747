import { Field, Float, Int, ObjectType, registerEnumType } from '@nestjs/graphql'

/** Names of GraphQL for the spec's words. */
export const TlsMode = { INTERNAL: 'internal', ACME: 'acme', CERTIFICATE: 'certificate', OFF: 'off' } as const
export type TlsMode = (typeof TlsMode)[keyof typeof TlsMode]
registerEnumType(TlsMode, {
  name: 'TlsMode',
  description: 'Where the certificate of a domain comes from.',
  valuesMap: {
    INTERNAL: { description: "From the ingress's own authority, which browsers do not know." },
    ACME: {
      description: "From an ACME authority, Let's Encrypt unless the ingress names another. The host must lead to the node.",
    },
    CERTIFICATE: { description: "From a secret of the application's project, which `certificate` names." },
    OFF: { description: 'None: plain HTTP.' },
  },
})

export const BalancingPolicy = {
  ROUND_ROBIN: 'round-robin',
  LEAST_CONNECTIONS: 'least-connections',
  RANDOM: 'random',
  IP_HASH: 'ip-hash',
  COOKIE: 'cookie',
} as const
export type BalancingPolicy = (typeof BalancingPolicy)[keyof typeof BalancingPolicy]
registerEnumType(BalancingPolicy, {
  name: 'BalancingPolicy',
  description: 'Which replica gets a request.',
  valuesMap: {
    ROUND_ROBIN: { description: 'One after the other.' },
    LEAST_CONNECTIONS: { description: 'The one with the fewest open requests.' },
    RANDOM: { description: 'Any. What is done when nothing is given.' },
    IP_HASH: { description: "The same one for the same client's address." },
    COOKIE: { description: 'The same one for the same client, by a cookie.' },
  },
})

/** One description for what is asked and for what is told. */
export const domainTold = {
  host: 'shop.example.com, or *.example.com for every name one level below. Kept in lower case and punycode.',
  path: 'Only requests at or below this path; all when not given.',
  stripPath: 'Takes the path away before the application sees the request.',
  port: "One of the application's ports; its first when not given.",
  tls: 'Where its certificate comes from; what the ingress takes by default when not given.',
  certificate:
    "With CERTIFICATE: name of a secret of the project that holds the chain and its key as PEM, the host's own certificate first.",
  redirect: 'Answers with a redirect and asks the application nothing.',
  redirectTo: 'https://shop.example.com keeps the path and query of the request; with a path of its own it goes there.',
  permanent: 'true = 308, which browsers remember; false when not given.',
  basicAuth: 'Who may enter, by name and password. Passwords are kept as bcrypt hashes only, and never shown.',
  requestHeaders: 'Set on requests before the application sees them.',
  responseHeaders: 'Set on its answers.',
  headerValue: 'Taken as it is; without one the header is removed.',
  allowedAddresses: 'Addresses or CIDRs that may enter; everybody else gets 403.',
  bodyLimitBytes: 'Most bytes of a request.',
  compression: 'Compresses answers.',
  timeouts: 'How long ingress waits for the application.',
  responseHeaderSeconds: "Until the application's first byte of an answer.",
  readSeconds: 'Between two reads from the application.',
  writeSeconds: 'Between two writes to the application.',
  balancing: 'Which replica gets a request: RANDOM when not given.',
  cookie: 'Name of the cookie, with COOKIE.',
}

@ObjectType({ description: 'A redirect in place of the application.' })
export class DomainRedirect {
  @Field(() => String, { description: domainTold.redirectTo })
  to!: string

  @Field(() => Boolean, { nullable: true, description: 'null = false.' })
  permanent!: boolean | null
}

@ObjectType({ description: 'Somebody who may enter. Neither password nor hash is ever shown.' })
export class BasicAuthUser {
  @Field(() => String, { description: 'Their name.' })
  username!: string
}

@ObjectType({ description: 'A header that ingress sets or removes.' })
export class DomainHeader {
  @Field(() => String, { description: 'Its name.' })
  name!: string

  @Field(() => String, { nullable: true, description: 'null = it is removed.' })
  value!: string | null
}

@ObjectType({ description: 'How long ingress waits for the application, in seconds.' })
export class DomainTimeouts {
  @Field(() => Float, { nullable: true, description: domainTold.responseHeaderSeconds })
  responseHeaderSeconds!: number | null

  @Field(() => Float, { nullable: true, description: domainTold.readSeconds })
  readSeconds!: number | null

  @Field(() => Float, { nullable: true, description: domainTold.writeSeconds })
  writeSeconds!: number | null
}

@ObjectType({ description: 'Which replica gets a request.' })
export class DomainBalancing {
  @Field(() => BalancingPolicy, { description: 'The rule.' })
  policy!: BalancingPolicy

  @Field(() => String, { nullable: true, description: domainTold.cookie })
  cookie!: string | null
}

@ObjectType({
  description: 'A host, or a part of one, that the application asks for, exactly as people said it: null stands for the default.',
})
export class DomainSpec {
  @Field(() => String, { description: domainTold.host })
  host!: string

  @Field(() => String, { nullable: true, description: domainTold.path })
  path!: string | null

  @Field(() => Boolean, { nullable: true, description: domainTold.stripPath })
  stripPath!: boolean | null

  @Field(() => Int, { nullable: true, description: domainTold.port })
  port!: number | null

  @Field(() => TlsMode, { nullable: true, description: domainTold.tls })
  tls!: TlsMode | null

  @Field(() => String, { nullable: true, description: domainTold.certificate })
  certificate!: string | null

  @Field(() => DomainRedirect, { nullable: true, description: domainTold.redirect })
  redirect!: DomainRedirect | null

  @Field(() => [BasicAuthUser], { nullable: true, description: domainTold.basicAuth })
  basicAuth!: BasicAuthUser[] | null

  @Field(() => [DomainHeader], { nullable: true, description: domainTold.requestHeaders })
  requestHeaders!: DomainHeader[] | null

  @Field(() => [DomainHeader], { nullable: true, description: domainTold.responseHeaders })
  responseHeaders!: DomainHeader[] | null

  @Field(() => [String], { nullable: true, description: domainTold.allowedAddresses })
  allowedAddresses!: string[] | null

  @Field(() => Float, { nullable: true, description: domainTold.bodyLimitBytes })
  bodyLimitBytes!: number | null

  @Field(() => Boolean, { nullable: true, description: domainTold.compression })
  compression!: boolean | null

  @Field(() => DomainTimeouts, { nullable: true, description: domainTold.timeouts })
  timeouts!: DomainTimeouts | null

  @Field(() => DomainBalancing, { nullable: true, description: domainTold.balancing })
  balancing!: DomainBalancing | null
}
