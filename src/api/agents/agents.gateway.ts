import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { hashToken, looksLikeToken } from '../../adapters/crypto/token.js'
import type { OutgoingCall } from '../../agent/peer-calls.js'
import { protocolVersion, type agentMethods } from '../../agent/protocol.js'
import { NodeRepository } from '../../persistence/node.repository.js'
import { ResourceRepository } from '../../persistence/resource.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { Nudger } from '../nudge/nudger.service.js'
import { onUpgrade, refuseUpgrade } from '../upgrade.js'
import { AgentCalls } from './agent-calls.service.js'
import { AgentSession, closeCode, type FrameOf, type Refusal, type SessionHandlers } from './agent-session.js'
import { Inventory } from './inventory.service.js'
import { KeepImages } from './keep-images.service.js'
import type { ApiFrame } from '../../agent/protocol.js'

const path = '/agent'
/** An inventory of a thousand resources fits well. */
const frameBytesMost = 4 * 1024 * 1024
/** Agents of the version before are served, too. */
const oldestProtocol = Math.max(1, protocolVersion - 1)

/** The agents' channel: each node's agent dials in here, over one WebSocket with its channel token. */
@Injectable()
export class AgentsGateway implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: frameBytesMost })
  /** The newest session of each node. */
  private readonly sessions = new Map<string, AgentSession>()

  constructor(
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(NodeRepository) private readonly nodes: NodeRepository,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(AgentCalls) private readonly calls: AgentCalls,
    @Inject(Inventory) private readonly inventory: Inventory,
    @Inject(KeepImages) private readonly keepImages: KeepImages,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  onApplicationBootstrap(): void {
    onUpgrade(this.http, {
      matches: (url) => url.split('?')[0] === path,
      admit: (request, socket, head) => this.admit(request, socket, head),
      failed: (error) => this.options.log.warn({ err: error }, 'an agent could not be admitted'),
    })
  }

  beforeApplicationShutdown(): void {
    for (const session of this.sessions.values()) session.close(closeCode.shuttingDown, 'the API is shutting down')
    this.sockets.close()
  }

  /** Ids of the nodes whose agent is connected to this process. */
  connectedNodes(): string[] {
    return [...this.sessions.keys()]
  }

  /** Whether the node's agent is connected to this process and may be called. */
  reaches(node: string): boolean {
    return this.sessions.get(node)?.ready === true
  }

  /** Calls a method of the node's agent; null when it is not connected to this process. */
  call(node: string, method: keyof typeof agentMethods, params: unknown, onChunk: (value: unknown) => void): OutgoingCall | null {
    const session = this.sessions.get(node)
    return session?.ready ? session.call(method, params, onChunk) : null
  }

  private async admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const token = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const node =
      token !== undefined && looksLikeToken(token, 'evn') ? await this.nodes.findByChannelToken(hashToken(token)) : null
    if (!node) return refuseUpgrade(socket, 401, 'Unauthorized')
    this.sockets.handleUpgrade(request, socket, head, (webSocket) => this.open(node, webSocket))
  }

  private open(node: { id: string; name: string }, socket: WebSocket): void {
    const session = new AgentSession(node, socket, this.handlersOf(node.id), this.options.log)
    // Only the newest session of a node counts; an older one that ends late takes nothing with it.
    this.sessions.get(node.id)?.close(closeCode.replaced, 'a newer connection of this node has taken over')
    this.sessions.set(node.id, session)
    this.options.log.info({ node: node.id, name: node.name }, "a node's agent connected")
    socket.on('close', (code) => {
      if (this.sessions.get(node.id) !== session) return
      this.sessions.delete(node.id)
      this.options.log.info({ node: node.id, name: node.name, code }, "a node's agent disconnected")
    })
  }

  private handlersOf(node: string): SessionHandlers {
    return {
      hello: (frame) => this.hello(node, frame),
      heartbeat: (frame) => this.heartbeat(node, frame),
      nudges: (frame) => this.nudges(frame),
      inventory: (frame) => this.inventory.record(node, frame.resources),
      call: (method, params) => this.calls.serve(node, method, params),
    }
  }

  private async hello(node: string, frame: FrameOf<'hello'>): Promise<ApiFrame | Refusal> {
    if (frame.protocolVersion < oldestProtocol)
      return { refused: `protocol ${frame.protocolVersion} is too old: this API speaks ${oldestProtocol} to ${protocolVersion}` }
    const { type: _, currentSubnet = null, conditions = [], ...facts } = frame
    const { networkPool, dnsTtlSeconds } = this.options.settings
    const now = this.options.clock()
    const result = await this.nodes.hello(node, { ...facts, currentSubnet, conditions }, networkPool, new Date(now))
    switch (result.outcome) {
      case 'unknownNode':
        return { refused: 'this node is not known any more: join it again' }
      case 'poolExhausted':
        this.options.log.error({ node, networkPool, hostRoutes: frame.hostRoutes }, 'no network is left for a node')
        return { refused: `every /20 of ${networkPool} overlaps a route of the host or another node: set EVENKEEL_NETWORK_POOL` }
      case 'welcome':
        return { type: 'welcome', node, subnet: result.subnet, dnsTtlSeconds, now, keepImages: await this.keepImages.current() }
    }
  }

  private async heartbeat(node: string, { sentAt, ...beat }: FrameOf<'heartbeat'>): Promise<ApiFrame> {
    const now = this.options.clock()
    await this.nodes.heartbeat(node, beat, new Date(now))
    return { type: 'heartbeatAnswer', sentAt, now: this.options.clock(), keepImages: await this.keepImages.current() }
  }

  /** Unknown ids are the inventory's business: a nudge starts nothing for them. */
  private async nudges({ resources, why }: FrameOf<'nudges'>): Promise<void> {
    const known = await this.resources.addressesOf([...new Set(resources.map((r) => r.resource))])
    this.options.log.debug({ why, resources: known.map((k) => k.id) }, 'an agent nudges')
    this.nudger.allSoon(known)
  }
}
