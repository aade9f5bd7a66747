import { Field, ID, InputType, Int } from '@nestjs/graphql'

@InputType({ description: 'A new demo.' })
export class NginxdemoCreateInput {
  @Field(() => ID, { description: 'The project that it goes into.' })
  projectId!: string

  @Field(() => String, { description: 'A DNS label, unique in the project over all kinds. Cannot be changed later.' })
  name!: string

  @Field(() => String, { nullable: true, description: 'An image reference; the official nginx when not given.' })
  image?: string | null

  @Field(() => Int, { description: 'Port on 127.0.0.1 of its node, 1 to 65535.' })
  hostPort!: number

  @Field(() => String, { nullable: true, description: 'Host under which ingress serves it, without TLS; none when not given.' })
  host?: string | null
}

@InputType({ description: 'A change: what is absent stays as it is, null goes back to the default.' })
export class NginxdemoUpdateInput {
  @Field(() => String, { nullable: true, description: 'A name does not change: only the present one is accepted.' })
  name?: string | null

  @Field(() => String, { nullable: true, description: 'An image reference; null = the official nginx.' })
  image?: string | null

  @Field(() => Int, { nullable: true, description: 'Port on 127.0.0.1 of its node. Has no default, so null is refused.' })
  hostPort?: number | null

  @Field(() => String, { nullable: true, description: 'Host under which ingress serves it, without TLS; null = none.' })
  host?: string | null
}
