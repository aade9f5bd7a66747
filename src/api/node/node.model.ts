import { Field, Float, Int, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'
import { Reconciled } from '../resource/reconciled.model.js'

@ObjectType({ description: 'What a node told of itself, and when it was heard last.' })
export class NodeStatus {
  @Field(() => String, { nullable: true, description: "The node's own network, given once and never changed." })
  subnet!: string | null

  @Field(() => Date, {
    nullable: true,
    description: "When its agent was heard last, by the control plane's clock; null = never.",
  })
  lastSeenAt!: Date | null

  @Field(() => Int, { nullable: true, description: "Version of the agent's protocol." })
  protocolVersion!: number | null

  @Field(() => String, { nullable: true, description: "The agent's version." })
  agentVersion!: string | null

  @Field(() => String, { nullable: true, description: 'E.g. x86_64.' })
  architecture!: string | null

  @Field(() => String, { nullable: true, description: "The container engine's version; null while it does not answer." })
  engineVersion!: string | null

  @Field(() => Int, { nullable: true, description: 'Processors.' })
  cpuCount!: number | null

  @Field(() => Float, { nullable: true, description: 'Memory in bytes.' })
  memoryBytes!: number | null

  @Field(() => Float, { nullable: true, description: 'Size of the disk that the engine uses, in bytes.' })
  diskTotalBytes!: number | null

  @Field(() => Float, { nullable: true, description: 'What is free of it, in bytes.' })
  diskFreeBytes!: number | null

  @Field(() => Int, { nullable: true, description: "The control plane's clock minus the node's, in milliseconds." })
  clockOffsetMs!: number | null
}

@ObjectType({ implements: () => Reconciled, description: 'A machine that runs containers for Evenkeel.' })
export class Node extends Reconciled {}

export const NodeConnection = connectionOf(Node, 'Node')
