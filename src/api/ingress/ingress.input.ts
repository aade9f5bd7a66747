import { Field, ID, InputType, Int } from '@nestjs/graphql'
import { DefaultTls, ingressTold } from './ingress.model.js'

@InputType({ description: 'The authority that certificates are asked from.' })
export class IngressAcmeInput {
  @Field(() => String, { nullable: true, description: ingressTold.directory })
  directory?: string | null

  @Field(() => String, { nullable: true, description: ingressTold.email })
  email?: string | null

  @Field(() => String, { nullable: true, description: ingressTold.trustedRoots })
  trustedRoots?: string | null
}

/** What create and update share: all of the spec. */
@InputType({ isAbstract: true })
export abstract class IngressSpecInput {
  @Field(() => String, { nullable: true, description: ingressTold.image })
  image?: string | null

  @Field(() => String, { nullable: true, description: ingressTold.node })
  node?: string | null

  @Field(() => Int, { nullable: true, description: ingressTold.httpPort })
  httpPort?: number | null

  @Field(() => Int, { nullable: true, description: ingressTold.httpsPort })
  httpsPort?: number | null

  @Field(() => DefaultTls, { nullable: true, description: ingressTold.defaultTls })
  defaultTls?: DefaultTls | null

  @Field(() => IngressAcmeInput, { nullable: true, description: ingressTold.acme })
  acme?: IngressAcmeInput | null

  @Field(() => String, { nullable: true, description: ingressTold.defaultHost })
  defaultHost?: string | null

  @Field(() => [String], { nullable: true, description: ingressTold.trustedProxies })
  trustedProxies?: string[] | null

  @Field(() => Boolean, { nullable: true, description: ingressTold.http3 })
  http3?: boolean | null
}

@InputType({ description: 'A new ingress.' })
export class IngressCreateInput extends IngressSpecInput {
  @Field(() => ID, { description: 'The project that it goes into. It serves the applications of all projects.' })
  projectId!: string

  @Field(() => String, { description: 'A DNS label, unique in the project over all kinds. Cannot be changed later.' })
  name!: string
}

@InputType({
  description: 'A change: what is absent stays as it is, null goes back to the default, lists are replaced as a whole.',
})
export class IngressUpdateInput extends IngressSpecInput {
  @Field(() => String, { nullable: true, description: 'A name does not change: only the present one is accepted.' })
  name?: string | null
}
