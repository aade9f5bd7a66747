import { WebSocket } from 'ws'
import { apiFrameSchema, type ApiFrame } from '../../src/agent/protocol.js'

/** The agent's end of the channel, as a test speaks it. */
export class FakeAgent {
  readonly frames: ApiFrame[] = []
  closed: { code: number; reason: string } | null = null
  private readonly socket: WebSocket
  private readonly waiting = new Set<() => void>()
  private calls = 0

  constructor(apiUrl: string, token: string) {
    this.socket = new WebSocket(`${apiUrl.replace(/^http/, 'ws')}/agent`, { headers: { authorization: `Bearer ${token}` } })
    this.socket.on('message', (data) => {
      this.frames.push(apiFrameSchema.parse(JSON.parse(String(data))))
      this.waiting.forEach((wake) => wake())
    })
    this.socket.on('close', (code, reason) => (this.closed = { code, reason: String(reason) }))
    this.socket.on('error', () => {})
  }

  opened(): Promise<string> {
    return new Promise((resolve) => {
      this.socket.once('open', () => resolve('open'))
      this.socket.once('error', (error) => resolve(error.message))
    })
  }

  send(frame: object | string): void {
    this.socket.send(JSON.stringify(frame))
  }

  async next<T extends ApiFrame['type']>(type: T): Promise<Extract<ApiFrame, { type: T }>> {
    for (;;) {
      const at = this.frames.findIndex((f) => f.type === type)
      if (at >= 0) return this.frames.splice(at, 1)[0] as Extract<ApiFrame, { type: T }>
      if (this.closed) throw new Error(`closed: ${this.closed.code} ${this.closed.reason}`)
      await this.news()
    }
  }

  /** One call, and what it is answered with. */
  async call(method: string, params: object): Promise<unknown> {
    const id = String(this.calls++)
    this.send({ type: 'call', id, method, params })
    for (;;) {
      const at = this.frames.findIndex((f) => (f.type === 'end' || f.type === 'error') && f.id === id)
      const [frame] = at < 0 ? [] : this.frames.splice(at, 1)
      if (frame?.type === 'end') return frame.value
      if (frame?.type === 'error') return { refused: frame.reason, message: frame.message }
      await this.news()
    }
  }

  close(): void {
    this.socket.terminate()
  }

  private news(): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake)
        resolve()
      }
      this.waiting.add(wake)
      setTimeout(wake, 100)
    })
  }

  pause(): void {
    this.socket.pause()
  }
}
