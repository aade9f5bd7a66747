import { Inject, Injectable } from '@nestjs/common'
import { GraphQLError } from 'graphql'
import { hashToken, looksLikeToken } from '../../adapters/crypto/token.js'
import { TokenRepository } from '../../persistence/token.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { RateLimiter } from '../limits/rate-limiter.js'
import type { Actor } from './actor.js'

/** Turns `Authorization: Bearer evk_…` into an actor. The token itself goes no further. */
@Injectable()
export class Authenticator {
  private readonly refusals: RateLimiter

  constructor(
    @Inject(TokenRepository) private readonly tokens: TokenRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {
    const { refusalsPerSecond, refusalsBurst } = options.limits
    this.refusals = new RateLimiter(refusalsPerSecond, refusalsBurst, options.clock)
  }

  /** `remoteAddress` is only used to slow down those who guess. */
  async authenticate(authorization: string | undefined, remoteAddress: string): Promise<Actor> {
    const actor = await this.find(authorization)
    if (actor) return actor
    if (!this.refusals.take(remoteAddress))
      throw tooMany('too many requests without a valid token from this address: wait a few seconds')
    throw new GraphQLError(
      authorization
        ? 'this token is unknown, expired or revoked'
        : "a token is needed: send the header «Authorization: Bearer <token>»; the owner's token lies in the state directory, in secrets/owner-token",
      { extensions: { code: 'UNAUTHENTICATED', http: { status: 401 } } },
    )
  }

  async find(authorization: string | undefined): Promise<Actor | null> {
    const token = /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined || !looksLikeToken(token, 'evk')) return null
    const row = await this.tokens.findLiving(hashToken(token), new Date(this.options.clock()))
    return row ? { tokenId: row.id, name: row.name, abilities: row.abilities, expiresAt: row.expiresAt } : null
  }
}

export function tooMany(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'RATE_LIMITED', http: { status: 429 } } })
}
