import { Field, ID, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({ description: 'Who asked for what, and what came of it. Refused operations are here as well.' })
export class AuditEntry {
  @Field(() => ID, { description: 'Its number; later ones are higher.' })
  id!: string

  @Field(() => String, { description: 'Id of the token that asked, or the name of the part of the platform that did.' })
  actor!: string

  @Field(() => String, { nullable: true, description: "The token's name; null when no token asked." })
  actorName!: string | null

  @Field(() => String, { description: 'The ability that the operation needed.' })
  ability!: string

  @Field(() => String, { description: 'The mutation.' })
  operation!: string

  @Field(() => ID, { nullable: true, description: 'What it was about: a resource, a project or a token.' })
  resourceId!: string | null

  @Field(() => String, { nullable: true, description: 'The workflow that carries it out.' })
  workflowId!: string | null

  @Field(() => String, { nullable: true, description: 'What was desired before, as JSON.' })
  before!: string | null

  @Field(() => String, { nullable: true, description: 'What is desired since, as JSON.' })
  after!: string | null

  @Field(() => String, { description: 'ok, unchanged, repeated, or «refused: » with the codes.' })
  outcome!: string

  @Field(() => Date, { description: 'When.' })
  at!: Date
}

export const AuditEntryConnection = connectionOf(AuditEntry, 'AuditEntry')
