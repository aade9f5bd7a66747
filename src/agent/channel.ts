import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { AgentLog } from './log.js'
import { PeerCalls, type ServeCall } from './peer-calls.js'
import type { ResourceRef } from './ports.js'
import {
  apiFrameSchema,
  heartbeatIntervalMs,
  type AgentFrame,
  type ApiFrame,
  type ApiMethod,
  type ApiParams,
} from './protocol.js'

const firstRetryMs = 200
const longestRetryMs = 5_000
const handshakeTimeoutMs = 5_000
/** An API that has answered no heartbeat for this long is not there, whatever TCP believes. */
const silentMs = 3 * heartbeatIntervalMs
/** A reader who is this far behind is cut off, rather than let a chatty container fill our memory. */
const mostBufferedBytes = 16 * 1024 * 1024

type Hello = Extract<AgentFrame, { type: 'hello' }>
type Heartbeat = Extract<AgentFrame, { type: 'heartbeat' }>
type Inventory = Extract<AgentFrame, { type: 'inventory' }>
type Welcome = Extract<ApiFrame, { type: 'welcome' }>
type HeartbeatAnswer = Extract<ApiFrame, { type: 'heartbeatAnswer' }>

export interface ChannelOptions {
  apiUrl: string
  token: string
  log: AgentLog
  hello(): Promise<Hello>
  heartbeat(): Promise<Heartbeat>
  /** `sentAt`: our clock when the hello left. */
  onWelcome(welcome: Welcome, sentAt: number): void
  onHeartbeatAnswer(answer: HeartbeatAnswer): void
  serve: ServeCall
}

/**
 * The agent's one connection to the API. It is dialled for ever; while it is away nudges and the last inventory wait,
 * once per resource, because only the newest of each matters.
 */
export class Channel {
  private socket: WebSocket | null = null
  private readonly calls: PeerCalls
  /** Those that the API may not have taken: it answers no heartbeat before it has taken the nudges that came before it. */
  private readonly nudges = new Map<string, { resource: ResourceRef; why: string; sentAt: number | null }>()
  private waitingInventory: Inventory | null = null
  private welcomed = false
  private lastHeardAt = 0
  private helloAt = 0

  constructor(private readonly options: ChannelOptions) {
    this.calls = new PeerCalls((frame) => this.write(frame), options.serve)
  }

  async run(signal: AbortSignal): Promise<void> {
    let retryMs = firstRetryMs
    while (!signal.aborted) {
      const { why, welcomed } = await this.connectOnce(signal)
      if (signal.aborted) return
      retryMs = welcomed ? firstRetryMs : Math.min(retryMs * 2, longestRetryMs)
      this.options.log.debug({ why }, 'the channel to the API is closed')
      // Jitter, so that a fleet does not come back in one moment.
      await sleep(retryMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
  }

  get connected(): boolean {
    return this.welcomed
  }

  /** For news that should not wait for the next beat; nothing while the API is away. */
  heartbeatNow(): void {
    if (this.welcomed) void this.options.heartbeat().then((frame) => this.write(frame))
  }

  nudge(resources: ResourceRef[], why: string): void {
    const sentAt = this.welcomed ? Date.now() : null
    for (const resource of resources) this.nudges.set(`${resource.kind}:${resource.resource}`, { resource, why, sentAt })
    if (this.welcomed) this.write({ type: 'nudges', resources, why })
  }

  sendInventory(resources: Inventory['resources']): void {
    const frame: Inventory = { type: 'inventory', resources }
    if (this.welcomed) this.write(frame)
    else this.waitingInventory = frame
  }

  /** Asks the API; fails with CallFailure. */
  call<M extends ApiMethod>(method: M, params: ApiParams<M>): Promise<unknown> {
    return this.calls.call(method, params).done
  }

  /** Bytes of an artifact by its SHA-256, from the API. */
  async artifact(sha256: string): Promise<Buffer> {
    return Buffer.from((await this.call('artifact', { sha256 })) as string, 'base64')
  }

  private connectOnce(signal: AbortSignal): Promise<{ why: string; welcomed: boolean }> {
    return new Promise((resolve) => {
      const socket = new WebSocket(`${this.options.apiUrl.replace(/^http/, 'ws')}/agent`, {
        headers: { authorization: `Bearer ${this.options.token}` },
        handshakeTimeout: handshakeTimeoutMs,
      })
      this.socket = socket
      let beat: NodeJS.Timeout | null = null
      let why = 'closed'
      const close = () => socket.terminate()
      signal.addEventListener('abort', close, { once: true })
      socket.on('open', () => {
        this.lastHeardAt = Date.now()
        void this.greet()
        beat = setInterval(() => this.beat(socket), heartbeatIntervalMs)
      })
      socket.on('message', (data) => this.take(String(data)))
      socket.on('error', (error) => (why = error.message))
      socket.on('close', () => {
        if (beat) clearInterval(beat)
        signal.removeEventListener('abort', close)
        this.socket = null
        this.calls.broken('the channel to the API was closed')
        const { welcomed } = this
        this.welcomed = false
        for (const nudge of this.nudges.values()) nudge.sentAt = null
        resolve({ why, welcomed })
      })
    })
  }

  private async greet(): Promise<void> {
    const hello = await this.options.hello()
    this.helloAt = Date.now()
    this.write(hello)
  }

  private beat(socket: WebSocket): void {
    if (Date.now() - this.lastHeardAt > silentMs) return socket.terminate()
    this.heartbeatNow()
  }

  private take(text: string): void {
    this.lastHeardAt = Date.now()
    const parsed = apiFrameSchema.safeParse(parseJson(text))
    if (!parsed.success)
      return this.options.log.warn({ error: parsed.error.message }, 'the API sent a frame that this agent does not know')
    const frame = parsed.data
    if (frame.type === 'welcome') this.onWelcome(frame)
    else if (frame.type === 'heartbeatAnswer') this.onHeartbeatAnswer(frame)
    else this.calls.take(frame)
  }

  private onWelcome(welcome: Welcome): void {
    this.welcomed = true
    this.options.onWelcome(welcome, this.helloAt)
    this.heartbeatNow()
    this.sendWaiting()
  }

  private onHeartbeatAnswer(answer: HeartbeatAnswer): void {
    for (const [key, { sentAt }] of this.nudges) if (sentAt !== null && sentAt < answer.sentAt) this.nudges.delete(key)
    this.options.onHeartbeatAnswer(answer)
  }

  private sendWaiting(): void {
    const byWhy = new Map<string, ResourceRef[]>()
    for (const nudge of this.nudges.values()) {
      byWhy.set(nudge.why, [...(byWhy.get(nudge.why) ?? []), nudge.resource])
      nudge.sentAt = Date.now()
    }
    for (const [why, resources] of byWhy) this.write({ type: 'nudges', resources, why })
    if (this.waitingInventory) this.write(this.waitingInventory)
    this.waitingInventory = null
  }

  /** False when there is no connection, or when a stream outruns it. */
  private write(frame: AgentFrame): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false
    if (frame.type === 'chunk' && this.socket.bufferedAmount > mostBufferedBytes) return false
    this.socket.send(JSON.stringify(frame))
    return true
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
