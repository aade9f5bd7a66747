import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import { PeerCalls, type OutgoingCall } from '../../agent/peer-calls.js'
import { agentFrameSchema, heartbeatStaleMs, type AgentFrame, type ApiFrame } from '../../agent/protocol.js'
import { CallRefused } from './agent-calls.service.js'

/** What a session does with what its agent says; made by the gateway. */
export interface SessionHandlers {
  hello(frame: FrameOf<'hello'>): Promise<ApiFrame | Refusal>
  heartbeat(frame: FrameOf<'heartbeat'>): Promise<ApiFrame>
  nudges(frame: FrameOf<'nudges'>): Promise<void>
  inventory(frame: FrameOf<'inventory'>): Promise<void>
  /** A call of the agent: answers its value, or throws. */
  call(method: string, params: unknown): Promise<unknown>
}

export type FrameOf<T extends AgentFrame['type']> = Extract<AgentFrame, { type: T }>

export interface Refusal {
  refused: string
}

/** WebSocket close codes of the channel, from the range that is free for applications. */
export const closeCode = { refused: 4409, replaced: 4408, badFrame: 4400, shuttingDown: 1001 } as const
/** Between two tries to take an agent's news, while the database is away. */
const againMs = 500
/** A close reason holds at most 123 bytes. */
const reasonBytesMost = 120

/**
 * One connection of one agent. Frames are taken one after another, so that a hello is written before the heartbeat that
 * follows it. What an agent does not send (because it is frozen while TCP lives on) is not made up: a node's last sign
 * of life is its own frames.
 */
export class AgentSession {
  private queue: Promise<void> = Promise.resolve()
  private greeted = false
  private silence: NodeJS.Timeout | undefined
  private readonly calls: PeerCalls

  constructor(
    readonly node: { id: string; name: string },
    private readonly socket: WebSocket,
    private readonly handlers: SessionHandlers,
    private readonly log: Logger,
  ) {
    this.calls = new PeerCalls(
      (frame) => this.send(frame),
      () => Promise.reject(new Error('calls of agents are served one after another')),
      'AgentUnreachable',
    )
    socket.on('message', (data) => this.take(String(data)))
    socket.on('close', () => {
      clearTimeout(this.silence)
      this.calls.broken("the channel to the node's agent was closed")
    })
    socket.on('error', (error) => log.debug({ err: error, node: node.id }, "an agent's channel broke"))
    this.heard()
  }

  close(code: number, reason: string): void {
    clearTimeout(this.silence)
    this.socket.close(
      code,
      Buffer.from(reason)
        .subarray(0, reasonBytesMost)
        .toString()
        .replace(/\uFFFD$/, ''),
    )
  }

  /** Whether the agent has said who it is, so that it may be called. */
  get ready(): boolean {
    return this.greeted && this.socket.readyState === this.socket.OPEN
  }

  /** Calls a method of the agent. Fails with CallFailure. */
  call(method: string, params: unknown, onChunk: (value: unknown) => void): OutgoingCall {
    return this.calls.call(method, params, onChunk)
  }

  private send(frame: ApiFrame): boolean {
    if (this.socket.readyState !== this.socket.OPEN) return false
    this.socket.send(JSON.stringify(frame))
    return true
  }

  private take(text: string): void {
    this.heard()
    const frame = frameOf(text)
    if (!frame) {
      this.log.warn({ node: this.node.id }, 'an agent sent a frame that this API does not know')
      return
    }
    // Parts of an answer come by the hundred a second and concern nobody else.
    if (this.greeted && isAnswer(frame)) return this.calls.take(frame)
    this.queue = this.queue
      .then(() => this.answer(frame))
      .catch((error: unknown) =>
        this.log.warn({ err: error, node: this.node.id, frame: frame.type }, 'an agent was not answered'),
      )
  }

  private async answer(frame: AgentFrame): Promise<void> {
    if (frame.type === 'hello') return this.greet(frame)
    if (!this.greeted) return this.log.debug({ node: this.node.id, frame: frame.type }, 'an agent spoke before its hello')
    switch (frame.type) {
      case 'heartbeat':
        return void this.send(await this.handlers.heartbeat(frame))
      case 'nudges':
        return this.insist(() => this.handlers.nudges(frame))
      case 'inventory':
        return this.handlers.inventory(frame)
      case 'call':
        return this.serve(frame)
      default:
        return // of a call from before its hello
    }
  }

  /**
   * What is not taken is missed for as long as a resource rests. Nothing that came after it is answered before it, so that the
   * agent keeps what was not taken, and says it again over its next channel.
   */
  private async insist(take: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await take()
      } catch (error) {
        if (this.socket.readyState !== this.socket.OPEN) throw error
        if (tries === 1) this.log.warn({ err: error, node: this.node.id }, "an agent's news could not be taken; tried again")
      }
      await sleep(againMs)
    }
  }

  private async greet(frame: FrameOf<'hello'>): Promise<void> {
    const answer = await this.handlers.hello(frame)
    if ('refused' in answer) return this.close(closeCode.refused, answer.refused)
    this.greeted = true
    this.send(answer)
  }

  private async serve({ id, method, params }: FrameOf<'call'>): Promise<void> {
    try {
      this.send({ type: 'end', id, value: await this.handlers.call(method, params) })
    } catch (error) {
      if (error instanceof CallRefused) return void this.send({ type: 'error', id, reason: error.reason, message: error.message })
      // What failed by itself may name hosts, statements or values: only our own log is to have that.
      this.log.error({ err: error, node: this.node.id, method }, "an agent's call failed")
      this.send({ type: 'error', id, reason: 'CallFailed', message: `${method} failed inside the API; its log has the reason` })
    }
  }

  /** A connection over which nothing comes is not kept: its agent has long dialled another one. */
  private heard(): void {
    clearTimeout(this.silence)
    this.silence = setTimeout(() => this.socket.terminate(), heartbeatStaleMs)
    this.silence.unref()
  }
}

function isAnswer(frame: AgentFrame): frame is FrameOf<'chunk' | 'end' | 'error'> {
  return frame.type === 'chunk' || frame.type === 'end' || frame.type === 'error'
}

function frameOf(text: string): AgentFrame | null {
  try {
    return agentFrameSchema.parse(JSON.parse(text))
  } catch {
    return null
  }
}
