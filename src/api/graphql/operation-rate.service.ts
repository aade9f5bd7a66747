import { Inject, Injectable } from '@nestjs/common'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'
import { tooMany } from '../auth/authenticator.service.js'
import { RateLimiter } from '../limits/rate-limiter.js'

/** How often a token may ask, over HTTP and WebSocket together. */
@Injectable()
export class OperationRate {
  private readonly limiter: RateLimiter

  constructor(@Inject(API_OPTIONS) private readonly options: ApiOptions) {
    const { operationsPerSecond, operationsBurst } = options.limits
    this.limiter = new RateLimiter(operationsPerSecond, operationsBurst, options.clock)
  }

  take(actor: Actor): void {
    if (this.limiter.take(actor.tokenId)) return
    throw tooMany(`more than ${this.options.limits.operationsPerSecond} operations a second with this token: slow down`)
  }
}
