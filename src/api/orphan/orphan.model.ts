import { Field, ID, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({
  description:
    "Containers that carry this instance's label but belong to a resource that this database never knew, e.g. after an older database was restored. Nothing touches them before a person says what shall become of them.",
})
export class Orphan {
  @Field(() => ID, { description: 'The node that they are on.' })
  nodeId!: string

  @Field(() => ID, { description: 'The id in their labels.' })
  resourceId!: string

  @Field(() => String, { description: 'The kind in their labels.' })
  kind!: string

  @Field(() => [String], { description: 'Names of the containers.' })
  containers!: string[]

  @Field(() => Date, { description: 'When they were seen last.' })
  seenAt!: Date
}

export const OrphanConnection = connectionOf(Orphan, 'Orphan')
