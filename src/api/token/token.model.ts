import { Field, ID, ObjectType, registerEnumType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

export const AbilityName = { READ: 'read', DEPLOY: 'deploy', WRITE: 'write', ADMIN: 'admin' } as const
registerEnumType(AbilityName, {
  name: 'Ability',
  description: 'What a token may do; each ability includes those before it.',
  valuesMap: {
    READ: { description: 'Look at everything but tokens and audit.' },
    DEPLOY: { description: 'Bring new images, pause, resume and resync.' },
    WRITE: { description: 'Create, change and delete.' },
    ADMIN: { description: 'Tokens, audit, orphans, nodes.' },
  },
})

@ObjectType({ description: 'A bearer token. The token itself is shown once, when it is made; only its hash is kept.' })
export class ApiToken {
  @Field(() => ID, { description: 'Names it in audit entries; not the token itself.' })
  id!: string

  @Field(() => String, { description: 'What it is for.' })
  name!: string

  @Field(() => [AbilityName], { description: 'What it may do.' })
  abilities!: string[]

  @Field(() => ID, { description: 'Id of the token that made it.' })
  createdBy!: string

  @Field(() => Date, { description: 'When it was made.' })
  createdAt!: Date

  @Field(() => Date, { nullable: true, description: 'When it ends by itself; null = never.' })
  expiresAt!: Date | null

  @Field(() => Date, { nullable: true, description: 'When it was used last, to the minute; null = never.' })
  lastUsedAt!: Date | null

  @Field(() => Date, { nullable: true, description: 'When it was revoked; null = it is not.' })
  revokedAt!: Date | null
}

export const ApiTokenConnection = connectionOf(ApiToken, 'ApiToken')

@ObjectType({ description: 'Who is asking.' })
export class Viewer {
  @Field(() => ID, { description: 'Id of the token.' })
  tokenId!: string

  @Field(() => String, { description: 'Name of the token.' })
  name!: string

  @Field(() => [AbilityName], { description: 'What it may do.' })
  abilities!: readonly string[]

  @Field(() => Date, { nullable: true, description: 'When the token ends by itself; null = never.' })
  expiresAt!: Date | null
}
