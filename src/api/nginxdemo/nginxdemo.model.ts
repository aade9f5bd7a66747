import { Field, Int, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'
import { Reconciled } from '../resource/reconciled.model.js'

@ObjectType({ description: 'What people asked of the demo: null stands for the default.' })
export class NginxdemoSpec {
  @Field(() => String, { nullable: true, description: 'The image reference; null = the official nginx.' })
  image!: string | null

  @Field(() => Int, { description: 'Port on 127.0.0.1 of its node.' })
  hostPort!: number

  @Field(() => String, { nullable: true, description: 'Host under which ingress serves it, without TLS; null = none.' })
  host!: string | null
}

@ObjectType({ implements: () => Reconciled, description: 'The smallest kind: keeps one nginx container running.' })
export class Nginxdemo extends Reconciled {
  @Field(() => NginxdemoSpec, { description: 'What people asked for.' })
  spec!: NginxdemoSpec
}

export const NginxdemoConnection = connectionOf(Nginxdemo, 'Nginxdemo')
