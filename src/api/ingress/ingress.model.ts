import { Field, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { ingressDefaults } from '../../reconcile/ingress/spec.js'
import { connectionOf } from '../graphql/connection.js'
import { Reconciled } from '../resource/reconciled.model.js'

/** Names of GraphQL for the spec's words. */
export const DefaultTls = { INTERNAL: 'internal', ACME: 'acme', OFF: 'off' } as const
export type DefaultTls = (typeof DefaultTls)[keyof typeof DefaultTls]
registerEnumType(DefaultTls, {
  name: 'DefaultTls',
  description: 'What a domain gets that says nothing of TLS.',
  valuesMap: {
    INTERNAL: { description: "A certificate of the ingress's own authority, which browsers do not know. The default." },
    ACME: { description: 'A certificate of an ACME authority. Its host must lead to the node.' },
    OFF: { description: 'None: plain HTTP.' },
  },
})

/** One description for what is asked and for what is told. */
export const ingressTold = {
  image: `An image reference of Caddy; ${ingressDefaults.image} when not given.`,
  node: 'Name of its node; the one that joined first when not given. A node has one ingress at most.',
  httpPort: `Port for HTTP on every address of its node; ${ingressDefaults.httpPort} when not given.`,
  httpsPort: `Port for HTTPS, by TCP and UDP; ${ingressDefaults.httpsPort} when not given.`,
  defaultTls: 'What a domain gets that says nothing of TLS; INTERNAL when not given.',
  acme: 'The authority that domains with ACME get their certificates from.',
  directory: "Its https URL; Let's Encrypt when not given.",
  email: 'Whom it writes to.',
  trustedRoots: "PEM of the roots that the directory itself is trusted by; the system's when not given.",
  defaultHost: 'Requests for hosts that nobody has are answered as if they were for this one.',
  trustedProxies: 'Addresses or CIDRs of proxies whose X-Forwarded-* headers are believed.',
  http3: 'Whether it speaks HTTP/3 as well.',
}

@ObjectType({ description: 'The authority that certificates are asked from.' })
export class IngressAcme {
  @Field(() => String, { nullable: true, description: ingressTold.directory })
  directory!: string | null

  @Field(() => String, { nullable: true, description: ingressTold.email })
  email!: string | null

  @Field(() => String, { nullable: true, description: ingressTold.trustedRoots })
  trustedRoots!: string | null
}

@ObjectType({ description: 'What people asked of the ingress: null stands for the default.' })
export class IngressSpec {
  @Field(() => String, { nullable: true, description: ingressTold.image })
  image!: string | null

  @Field(() => String, { nullable: true, description: ingressTold.node })
  node!: string | null

  @Field(() => Int, { nullable: true, description: ingressTold.httpPort })
  httpPort!: number | null

  @Field(() => Int, { nullable: true, description: ingressTold.httpsPort })
  httpsPort!: number | null

  @Field(() => DefaultTls, { nullable: true, description: ingressTold.defaultTls })
  defaultTls!: DefaultTls | null

  @Field(() => IngressAcme, { nullable: true, description: ingressTold.acme })
  acme!: IngressAcme | null

  @Field(() => String, { nullable: true, description: ingressTold.defaultHost })
  defaultHost!: string | null

  @Field(() => [String], { nullable: true, description: ingressTold.trustedProxies })
  trustedProxies!: string[] | null

  @Field(() => Boolean, { nullable: true, description: ingressTold.http3 })
  http3!: boolean | null
}

@ObjectType({
  implements: () => Reconciled,
  description:
    'The door of a node: takes HTTP and HTTPS for the domains of what runs there, and leads each request to a replica that is ready.',
})
export class Ingress extends Reconciled {
  @Field(() => IngressSpec, { description: 'What people asked for.' })
  spec!: IngressSpec
}

export const IngressConnection = connectionOf(Ingress, 'Ingress')
