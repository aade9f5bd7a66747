import { Inject, Injectable } from '@nestjs/common'
import { randomBytes } from 'node:crypto'
import { generateToken, hashToken, looksLikeToken } from '../../adapters/crypto/token.js'
import { AuditRepository } from '../../persistence/audit.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'

/** What runs where, and who asked. */
export interface ExecOrder {
  session: string
  actor: Actor
  resource: string
  release: number
  replica: number
  nodeId: string
  command: string[]
  tty: boolean
  user: string | null
  workingDir: string | null
}

interface Waiting {
  order: ExecOrder
  tokenHash: string
  timer: NodeJS.Timeout
}

const operation = 'applicationExec'
const ability = 'admin'

/** Commands that wait for their client, and their audit. In the memory of this process: whoever asked attaches here. */
@Injectable()
export class ExecSessions {
  private readonly waiting = new Map<string, Waiting>()
  private readonly running = new Map<string, ExecOrder>()

  constructor(
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  /** Written down before anything can run: nobody has the token until then. Null when the caller has as many as one may have. */
  async create(wanted: Omit<ExecOrder, 'session'>): Promise<{ session: string; token: string; expiresAt: Date } | null> {
    if (this.isFull(wanted.actor)) return null
    const session = `exc_${randomBytes(12).toString('hex')}`
    const order = { ...wanted, session }
    const token = generateToken('evx')
    const { execAttachMs } = this.options.limits
    const timer = setTimeout(() => this.waiting.delete(session), execAttachMs)
    timer.unref()
    // Before the first await, so that many at once are counted.
    this.waiting.set(session, { order, tokenHash: hashToken(token), timer })
    const { actor: _, resource: _resource, ...what } = order
    await this.write(order, 'ok', what)
    return { session, token, expiresAt: new Date(this.options.clock() + execAttachMs) }
  }

  private isFull({ tokenId }: Actor): boolean {
    const orders = [...[...this.waiting.values()].map((w) => w.order), ...this.running.values()]
    return orders.filter((o) => o.actor.tokenId === tokenId).length >= this.options.limits.execsPerToken
  }

  /** The order behind a token. A try with a wrong token uses it up, too. */
  take(session: string, token: string): ExecOrder | null {
    const found = this.waiting.get(session)
    if (!found) return null
    clearTimeout(found.timer)
    this.waiting.delete(session)
    if (!looksLikeToken(token, 'evx') || hashToken(token) !== found.tokenHash) return null
    this.running.set(session, found.order)
    return found.order
  }

  async ended(order: ExecOrder, exitCode: number | null, reason: string, durationMs: number): Promise<void> {
    this.running.delete(order.session)
    const { session, release, replica, command } = order
    const outcome = `ended: ${reason} after ${(durationMs / 1_000).toFixed(1)} s`
    await this.write(order, outcome, { session, release, replica, command, exitCode, durationMs })
  }

  private write({ actor, resource }: ExecOrder, outcome: string, after: object): Promise<void> {
    const at = new Date(this.options.clock())
    return this.audit.record({
      actor: actor.tokenId,
      ability,
      operation,
      resourceId: resource,
      workflowId: null,
      outcome,
      at,
      after,
    })
  }
}
