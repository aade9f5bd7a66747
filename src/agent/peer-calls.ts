import { randomUUID } from 'node:crypto'
import type { AgentFrame, ApiFrame } from './protocol.js'

export type CallFrame = Extract<ApiFrame, { type: 'call' | 'cancel' | 'chunk' | 'end' | 'error' }>

/** Serves one call of the other side: chunks while it runs, an optional value at its end. */
export type ServeCall = (
  method: string,
  params: unknown,
  onChunk: (value: unknown) => void,
  signal: AbortSignal,
) => Promise<unknown>

/** The other side refused a call, or could not be asked (`ApiUnreachable`). */
export class CallFailure extends Error {
  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message)
    this.name = 'CallFailure'
  }
}

interface Outgoing {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Both directions of calls over one channel. A broken channel ends all of them: the caller asks again. */
export class PeerCalls {
  private readonly outgoing = new Map<string, Outgoing>()
  private readonly incoming = new Map<string, AbortController>()

  constructor(
    /** False: it cannot be written, because the channel is closed or the other side reads too slowly. */
    private readonly write: (frame: AgentFrame) => boolean,
    private readonly serve: ServeCall,
  ) {}

  call(method: string, params: unknown): Promise<unknown> {
    const id = randomUUID()
    return new Promise((resolve, reject) => {
      if (!this.write({ type: 'call', id, method, params }))
        return reject(new CallFailure('ApiUnreachable', 'there is no channel to the API now'))
      this.outgoing.set(id, { resolve, reject })
    })
  }

  take(frame: CallFrame): void {
    if (frame.type === 'call') void this.answer(frame.id, frame.method, frame.params)
    else if (frame.type === 'cancel') this.incoming.get(frame.id)?.abort()
    else if (frame.type !== 'chunk') this.settle(frame)
  }

  broken(why: string): void {
    for (const { reject } of this.outgoing.values()) reject(new CallFailure('ApiUnreachable', why))
    this.outgoing.clear()
    for (const controller of this.incoming.values()) controller.abort()
    this.incoming.clear()
  }

  private settle(frame: Extract<CallFrame, { type: 'end' | 'error' }>): void {
    const waiting = this.outgoing.get(frame.id)
    this.outgoing.delete(frame.id)
    if (frame.type === 'end') waiting?.resolve(frame.value)
    else waiting?.reject(new CallFailure(frame.reason, frame.message))
  }

  private async answer(id: string, method: string, params: unknown): Promise<void> {
    const controller = new AbortController()
    this.incoming.set(id, controller)
    try {
      const onChunk = (chunk: unknown) => {
        if (!this.write({ type: 'chunk', id, value: chunk })) controller.abort()
      }
      const value = await this.serve(method, params, onChunk, controller.signal)
      this.write({ type: 'end', id, ...(value === undefined ? {} : { value }) })
    } catch (error) {
      const { reason, message } = error as Error & { reason?: string }
      this.write({ type: 'error', id, reason: reason ?? 'AgentError', message })
    } finally {
      this.incoming.delete(id)
    }
  }
}
