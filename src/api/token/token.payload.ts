import { Field, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { ApiToken } from './token.model.js'

export const tokenCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  STRONGER_THAN_MAKER: 'A token cannot make one that may do more, or lives longer, than itself.',
  OWNER: "The owner's token is replaced by removing its file in the state directory and starting again.",
  IDEMPOTENCY_KEY_REUSED: sharedCodes.IDEMPOTENCY_KEY_REUSED,
  IDEMPOTENCY_RESULT_GONE: sharedCodes.IDEMPOTENCY_RESULT_GONE,
} as const
export const TokenUserError = userErrorOf('Token', tokenCodes)

@ObjectType({ description: 'The answer of tokenCreate.' })
export class TokenCreatePayload {
  @Field(() => ApiToken, { nullable: true, description: 'The new token; null when there are userErrors.' })
  token!: ApiToken | null

  @Field(() => String, {
    nullable: true,
    description: 'The token itself, shown this once; null when an idempotency key repeats an earlier call.',
  })
  secret!: string | null

  @Field(() => [TokenUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof TokenUserError>[]
}

@ObjectType({ description: 'The answer of tokenRevoke.' })
export class TokenRevokePayload {
  @Field(() => ApiToken, { nullable: true, description: 'The revoked token; null when there are userErrors.' })
  token!: ApiToken | null

  @Field(() => [TokenUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof TokenUserError>[]
}
