import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql'
import { generateToken, hashToken } from '../../adapters/crypto/token.js'
import { TokenRepository } from '../../persistence/token.repository.js'
import { isPlainText } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { may, type Actor } from '../auth/actor.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor } from '../graphql/cursor.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { goneSinceError, keyErrors, keyReusedError, writeContext } from '../graphql/write-context.js'
import { TokenCreateInput } from './token.input.js'
import { ApiToken, ApiTokenConnection } from './token.model.js'
import { TokenCreatePayload, TokenRevokePayload, type tokenCodes } from './token.payload.js'

type TokenError = UserErrorValue<keyof typeof tokenCodes>
const nameMost = 100

@Resolver(() => ApiToken)
export class TokenResolver {
  constructor(
    @Inject(TokenRepository) private readonly repository: TokenRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => ApiTokenConnection, { description: 'All tokens, by name, also revoked and expired ones.' })
  async tokens(@Args() args: PageArgs) {
    const page = await this.repository.list({ first: pageSize(args), after: decodeCursor(nameCursor, args.after) })
    return toConnection(page, args, (t) => ({ name: t.name, id: t.id }))
  }

  @Mutation(() => TokenCreatePayload, { description: 'Makes a token, which is shown in this answer and never again.' })
  async tokenCreate(
    @Args('input', { type: () => TokenCreateInput, description: 'What is wanted.' }) input: TokenCreateInput,
    @Args('idempotencyKey', {
      type: () => String,
      nullable: true,
      description: 'A repeated call with the same key and input makes no second token, for a day.',
    })
    key: string | null | undefined,
    @Context() { actor }: GraphqlContext,
  ): Promise<TokenCreatePayload> {
    const now = this.options.clock()
    const errors = [...keyErrors(key), ...inputErrors(input, actor, now)]
    if (errors.length > 0) return { token: null, secret: null, userErrors: errors }
    const secret = generateToken('evk')
    const { name, abilities } = input
    const expiresAt = input.expiresAt ?? actor.expiresAt
    const made = await this.repository.create(
      { name, abilities: [...new Set(abilities)], expiresAt, hash: hashToken(secret) },
      writeContext('tokenCreate', actor, now, {
        key,
        input: { name, abilities, expiresAt: input.expiresAt?.toISOString() ?? null },
      }),
    )
    switch (made.outcome) {
      case 'created':
        return { token: made.token, secret, userErrors: [] }
      case 'repeated':
        return { token: made.token, secret: null, userErrors: [] }
      case 'keyReused':
        return { token: null, secret: null, userErrors: [keyReusedError(made.operation)] }
      case 'goneSince':
        return { token: null, secret: null, userErrors: [goneSinceError(made.id)] }
    }
  }

  @Mutation(() => TokenRevokePayload, { description: 'Ends a token at once. Tokens that it made live on.' })
  async tokenRevoke(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { actor }: GraphqlContext,
  ): Promise<TokenRevokePayload> {
    const result = await this.repository.revoke(id, writeContext('tokenRevoke', actor, this.options.clock()))
    switch (result.outcome) {
      case 'revoked':
      case 'unchanged':
        return { token: result.token, userErrors: [] }
      case 'notFound':
        return { token: null, userErrors: [{ field: ['id'], message: `there is no token ${id}`, code: 'NOT_FOUND' }] }
      case 'owner':
        return {
          token: null,
          userErrors: [
            {
              field: ['id'],
              message:
                "the owner's token is not revoked but replaced: remove secrets/owner-token in the state directory and start Evenkeel again",
              code: 'OWNER',
            },
          ],
        }
    }
  }
}

function inputErrors({ name, abilities, expiresAt }: TokenCreateInput, actor: Actor, now: number): TokenError[] {
  const errors: TokenError[] = []
  if (name.trim().length === 0 || name.length > nameMost || !isPlainText(name))
    errors.push({
      field: ['input', 'name'],
      message: `must have 1 to ${nameMost} characters of Unicode text without NUL`,
      code: 'INVALID',
    })
  if (abilities.length === 0)
    errors.push({ field: ['input', 'abilities'], message: 'must name at least one ability', code: 'INVALID' })
  for (const ability of abilities) {
    if (!may(actor, ability))
      errors.push({
        field: ['input', 'abilities'],
        message: `the token that asks has not ${ability} itself`,
        code: 'STRONGER_THAN_MAKER',
      })
  }
  if (expiresAt && expiresAt.getTime() <= now)
    errors.push({ field: ['input', 'expiresAt'], message: 'must lie in the future', code: 'INVALID' })
  if (expiresAt && actor.expiresAt && expiresAt > actor.expiresAt)
    errors.push({
      field: ['input', 'expiresAt'],
      message: `the token that asks ends at ${actor.expiresAt.toISOString()} itself`,
      code: 'STRONGER_THAN_MAKER',
    })
  return errors
}
