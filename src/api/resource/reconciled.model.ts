import { Field, ID, Int, InterfaceType, ObjectType } from '@nestjs/graphql'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import { Condition } from './condition.model.js'

@ObjectType({ description: 'The last pass of the loop that keeps a resource as it is desired.' })
export class Pass {
  @Field(() => Int, { description: 'Passes are counted from 1 for each resource.' })
  number!: number

  @Field(() => Date, { description: 'When it was decided.' })
  at!: Date

  @Field(() => String, { nullable: true, description: 'The failure that keeps the resource back now; null when there is none.' })
  error!: string | null
}

@ObjectType({ description: 'The durable workflow that owns a resource.' })
export class Reconciler {
  @Field(() => String, { description: 'Id of the workflow in Temporal.' })
  workflowId!: string

  @Field(() => String, { description: "The workflow's page in the Temporal UI: what was done last, and what it waits for." })
  temporalUrl!: string
}

@InterfaceType({
  description: 'Anything that people declare and Evenkeel keeps so.',
  resolveType: (row: ResourceRow) => graphqlTypeOf(row.kind),
})
export abstract class Reconciled {
  @Field(() => ID, { description: 'Never changes; its first part tells the kind.' })
  id!: string

  @Field(() => String, { description: 'application, ingress, nginxdemo or node.' })
  kind!: string

  @Field(() => String, { description: 'Unique in its project over all kinds; part of its DNS name; never changes.' })
  name!: string

  @Field(() => Int, { description: 'Counts the changes of what is desired, from 1. Give it back as expectedGeneration.' })
  generation!: number

  @Field(() => Int, {
    description: 'The generation that was looked at last; lower than generation while a change is on its way.',
  })
  observedGeneration!: number

  @Field(() => Boolean, { description: 'A person stopped the loop: nothing is repaired or changed until it is resumed.' })
  paused!: boolean

  @Field(() => String, { nullable: true, description: 'Why it is paused, as the person said it.' })
  pausedReason!: string | null

  @Field(() => Date, { nullable: true, description: 'Since when it is being deleted; null for what stays.' })
  deletionRequestedAt!: Date | null

  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date

  @Field(() => Date, { description: 'When what is desired changed last.' })
  updatedAt!: Date

  /** Resolved by reconciled.resolver.ts. */
  @Field(() => [Condition], { description: 'What was observed, by type. Empty before the first pass.' })
  conditions!: Condition[]
}

/** The GraphQL type of a kind. */
export function graphqlTypeOf(kind: string): string {
  return { application: 'Application', ingress: 'Ingress', nginxdemo: 'Nginxdemo', node: 'Node' }[kind] ?? 'Application'
}
