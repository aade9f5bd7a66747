import type { WebSocket } from 'ws'
import type { CallFailure, OutgoingCall } from '../../agent/peer-calls.js'
import { execEndSchema, execOutputSchema, type ExecInput } from '../../agent/protocol.js'
import type { Limits } from '../limits/limits.js'
import { fromServer, toClientFrame, type ClientFrame } from './exec-frames.js'

export interface ExecConnectionOptions {
  limits: Pick<Limits, 'execIdleMs' | 'execTotalMs'>
  /** Starts the command; null when its node is away. */
  start(onChunk: (value: unknown) => void): OutgoingCall | null
  /** Whether who asked may still do it. */
  allowed(): Promise<boolean>
  ended(exitCode: number | null, reason: string): Promise<void>
}

/** Input that the process has not taken; a client that sends faster waits. */
const inputMost = 256 * 1024
const pingMs = 15_000
const recheckMs = 30_000
const closeCode = { ended: 1000, badFrame: 4400 } as const

/** One client and its command: whichever ends first, ends the other. */
export class ExecConnection {
  private readonly call: OutgoingCall | null
  private readonly timers: NodeJS.Timeout[] = []
  private idle: NodeJS.Timeout | undefined
  private untaken = 0
  private answered = true
  private over = false

  constructor(
    private readonly socket: WebSocket,
    private readonly options: ExecConnectionOptions,
  ) {
    this.call = options.start((value) => this.output(value))
    socket.on('message', (data: Buffer, binary) => this.input(binary ? toClientFrame(data) : null))
    socket.on('pong', () => (this.answered = true))
    socket.on('close', () => this.end(null, 'the client went'))
    socket.on('error', () => undefined)
    if (this.call) this.watch(this.call)
    else this.end(null, "the node's agent is not connected")
  }

  end(exitCode: number | null, reason: string): void {
    if (this.over) return
    this.over = true
    this.timers.forEach(clearInterval)
    clearTimeout(this.idle)
    this.call?.cancel()
    if (this.socket.readyState === this.socket.OPEN) {
      this.socket.send(fromServer('exit', Buffer.from(JSON.stringify({ exitCode, reason }))))
      this.socket.close(closeCode.ended)
    }
    void this.options.ended(exitCode, reason)
  }

  private watch(call: OutgoingCall): void {
    const { execTotalMs } = this.options.limits
    this.active()
    this.timers.push(
      setTimeout(() => this.end(null, `it ran for ${execTotalMs / 1_000} s, the most that is allowed`), execTotalMs),
      setInterval(() => this.ping(), pingMs),
      setInterval(() => void this.recheck(), recheckMs),
    )
    call.done.then(
      (value) => {
        const { exitCode } = execEndSchema.catch({ exitCode: null }).parse(value)
        this.end(exitCode, exitCode === null ? 'it ended' : `exit code ${exitCode}`)
      },
      ({ message }: CallFailure) => this.end(null, message),
    )
  }

  /** The next chunk is allowed when this one has left for the client. */
  private output(value: unknown): void {
    const parsed = execOutputSchema.safeParse(value)
    if (!parsed.success || this.over) return
    if ('taken' in parsed.data) return this.taken(parsed.data.taken)
    this.active()
    const [stream, text] =
      'stdout' in parsed.data ? (['stdout', parsed.data.stdout] as const) : (['stderr', parsed.data.stderr] as const)
    this.socket.send(fromServer(stream, Buffer.from(text, 'base64')), () => this.send({ more: 1 }))
  }

  private input(frame: ClientFrame | null): void {
    if (this.over) return
    if (frame === null) return this.socket.close(closeCode.badFrame, 'no frame of evenkeel.exec.v1')
    this.active()
    if (!('stdin' in frame)) return this.send(frame)
    this.untaken += frame.stdin.length
    if (this.untaken > inputMost) this.socket.pause()
    this.send({ stdin: frame.stdin.toString('base64') })
  }

  private taken(bytes: number): void {
    this.untaken -= bytes
    if (this.untaken <= inputMost && this.socket.isPaused) this.socket.resume()
  }

  private send(input: ExecInput): void {
    this.call?.input(input)
  }

  private active(): void {
    const { execIdleMs } = this.options.limits
    clearTimeout(this.idle)
    this.idle = setTimeout(() => this.end(null, `it was silent for ${execIdleMs / 1_000} s`), execIdleMs)
  }

  /** A client that holds back its input cannot answer; the other limits are for it. */
  private ping(): void {
    if (!this.answered && !this.socket.isPaused) return this.socket.terminate()
    this.answered = false
    this.socket.ping()
  }

  private async recheck(): Promise<void> {
    // A database that is away ends nothing.
    if (!(await this.options.allowed().catch(() => true))) this.end(null, 'the token is revoked or expired')
  }
}
