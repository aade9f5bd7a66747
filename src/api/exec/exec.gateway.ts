import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { TokenRepository } from '../../persistence/token.repository.js'
import { AgentsGateway } from '../agents/agents.gateway.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { onUpgrade, refuseUpgrade } from '../upgrade.js'
import { ExecConnection } from './exec-connection.js'
import { execProtocol } from './exec-frames.js'
import { ExecSessions, type ExecOrder } from './exec.service.js'

const path = /^\/exec\/([^/?]+)$/
const frameBytesMost = 1024 * 1024
/** Chunks of output that may be on their way to a client. */
const windowChunks = 32

/** Where a client attaches to its command: `/exec/<session>`, with the session's token as second subprotocol. */
@Injectable()
export class ExecGateway implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly sockets = new WebSocketServer({
    noServer: true,
    maxPayload: frameBytesMost,
    handleProtocols: (protocols) => (protocols.has(execProtocol) ? execProtocol : false),
  })
  private readonly connections = new Set<ExecConnection>()
  /** Ends that are being audited. */
  private readonly ending = new Set<Promise<void>>()

  constructor(
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(ExecSessions) private readonly sessions: ExecSessions,
    @Inject(AgentsGateway) private readonly agents: AgentsGateway,
    @Inject(TokenRepository) private readonly tokens: TokenRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  onApplicationBootstrap(): void {
    onUpgrade(this.http, {
      matches: (url) => url.startsWith('/exec'),
      admit: (request, socket, head) => this.admit(request, socket, head),
      failed: (error) => this.options.log.warn({ err: error }, 'a client could not attach to its command'),
    })
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const connection of this.connections) connection.end(null, 'the API is shutting down')
    this.sockets.close()
    await Promise.all(this.ending)
  }

  /** The token is a subprotocol, because a browser can set nothing else and an address is written into logs. */
  private async admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const session = path.exec(request.url ?? '')?.[1]
    const [protocol, token] = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((p) => p.trim())
    if (session === undefined || protocol !== execProtocol) return refuseUpgrade(socket, 404, 'Not Found')
    const order = this.sessions.take(session, token ?? '')
    if (!order) return refuseUpgrade(socket, 401, 'Unauthorized')
    let unopened: string | null = 'its client did not attach'
    try {
      if (!(await this.allowed(order))) {
        unopened = 'the token is revoked or expired'
        return refuseUpgrade(socket, 401, 'Unauthorized')
      }
      // Calls back at once or, for a client that has gone or shakes hands wrongly, never.
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => {
        unopened = null
        this.open(order, webSocket)
      })
    } finally {
      if (unopened !== null) await this.ended(order, null, unopened, 0)
    }
  }

  private open(order: ExecOrder, socket: WebSocket): void {
    const began = Date.now()
    const { resource, release, replica, command, tty, user, workingDir } = order
    const params = { resource, release, replica, command, tty, user, workingDir, window: windowChunks }
    const connection: ExecConnection = new ExecConnection(socket, {
      limits: this.options.limits,
      start: (onChunk) => this.agents.call(order.nodeId, 'exec', params, onChunk),
      allowed: () => this.allowed(order),
      ended: (exitCode, reason) => {
        queueMicrotask(() => this.connections.delete(connection))
        return this.ended(order, exitCode, reason, Date.now() - began)
      },
    })
    this.connections.add(connection)
  }

  /** Resolves when it is audited, or cannot be. */
  private ended(order: ExecOrder, exitCode: number | null, reason: string, durationMs: number): Promise<void> {
    const told = this.sessions
      .ended(order, exitCode, reason, durationMs)
      .catch((error: unknown) =>
        this.options.log.error({ err: error, session: order.session }, 'the end of a command was not audited'),
      )
      .finally(() => this.ending.delete(told))
    this.ending.add(told)
    return told
  }

  private async allowed({ actor }: ExecOrder): Promise<boolean> {
    const [token] = await this.tokens.getMany([actor.tokenId])
    const now = this.options.clock()
    return token !== undefined && token.revokedAt === null && (token.expiresAt === null || token.expiresAt.getTime() > now)
  }
}
