import { randomUUID } from 'node:crypto'
import type { ApiFrame } from './protocol.js'

export type CallFrame = Extract<ApiFrame, { type: 'call' | 'input' | 'cancel' | 'chunk' | 'end' | 'error' }>

/** A call of the other side while it is served. */
export interface ServedCall {
  chunk(value: unknown): void
  /** Hears what the caller sends while the call runs, also what came before. */
  onInput(listener: (value: unknown) => void): void
  /** Aborts when the caller cancels, reads too slowly, or the channel breaks. */
  signal: AbortSignal
}

/** Serves one call of the other side: chunks while it runs, an optional value at its end. */
export type ServeCall = (method: string, params: unknown, call: ServedCall) => Promise<unknown>

/** A call to the other side. */
export interface OutgoingCall {
  /** Its value; fails with CallFailure. */
  readonly done: Promise<unknown>
  input(value: unknown): void
  cancel(): void
}

/** The other side refused a call, or could not be asked (`unreachable`): then it may come back, and be asked again. */
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
  onChunk(value: unknown): void
}

/** Input that came before its method listened; a caller that sends more is ended. */
const earlyInputMost = 256

/** Both directions of calls over one channel. A broken channel ends all of them: the caller asks again. */
export class PeerCalls {
  private readonly outgoing = new Map<string, Outgoing>()
  private readonly incoming = new Map<string, Incoming>()

  constructor(
    /** False: it cannot be written, because the channel is closed or the other side reads too slowly. */
    private readonly write: (frame: CallFrame) => boolean,
    private readonly serve: ServeCall,
    /** The reason of a call that could not be asked, or whose answer was cut off. */
    private readonly unreachable = 'ApiUnreachable',
  ) {}

  call(method: string, params: unknown, onChunk: (value: unknown) => void = () => undefined): OutgoingCall {
    const id = randomUUID()
    const done = new Promise<unknown>((resolve, reject) => {
      if (!this.write({ type: 'call', id, method, params }))
        return reject(new CallFailure(this.unreachable, 'there is no channel to the other side now'))
      this.outgoing.set(id, { resolve, reject, onChunk })
    })
    return {
      done,
      input: (value) => {
        if (this.outgoing.has(id)) this.write({ type: 'input', id, value })
      },
      cancel: () => this.cancel(id),
    }
  }

  take(frame: CallFrame): void {
    if (frame.type === 'chunk') this.hear(frame.id, frame.value)
    else if (frame.type === 'call') void this.answer(frame.id, frame.method, frame.params)
    else if (frame.type === 'input') this.incoming.get(frame.id)?.take(frame.value)
    else if (frame.type === 'cancel') this.incoming.get(frame.id)?.end('the call was cancelled')
    else this.settle(frame)
  }

  broken(why: string): void {
    for (const { reject } of this.outgoing.values()) reject(new CallFailure(this.unreachable, why))
    this.outgoing.clear()
    for (const incoming of this.incoming.values()) incoming.end(why)
    this.incoming.clear()
  }

  /** A reader that fails ends its own call, and not the channel with all others. */
  private hear(id: string, value: unknown): void {
    try {
      this.outgoing.get(id)?.onChunk(value)
    } catch (error) {
      this.cancel(id, error as Error)
    }
  }

  /** What the other side still sends for it is left aside. */
  private cancel(id: string, why: Error = new CallFailure('Cancelled', 'the call was cancelled')): void {
    const waiting = this.outgoing.get(id)
    if (!waiting) return
    this.outgoing.delete(id)
    this.write({ type: 'cancel', id })
    waiting.reject(why)
  }

  private settle(frame: Extract<CallFrame, { type: 'end' | 'error' }>): void {
    const waiting = this.outgoing.get(frame.id)
    this.outgoing.delete(frame.id)
    if (frame.type === 'end') waiting?.resolve(frame.value)
    else waiting?.reject(new CallFailure(frame.reason, frame.message))
  }

  private async answer(id: string, method: string, params: unknown): Promise<void> {
    const incoming = new Incoming((value) => this.write({ type: 'chunk', id, value }))
    this.incoming.set(id, incoming)
    try {
      const value = await this.serve(method, params, incoming)
      // What was served broke off then: its end must not look like the end of all.
      incoming.signal.throwIfAborted()
      this.write({ type: 'end', id, ...(value === undefined ? {} : { value }) })
    } catch (error) {
      const { reason, message } = error as Error & { reason?: string }
      this.write({ type: 'error', id, reason: reason ?? 'CallFailed', message })
    } finally {
      this.incoming.delete(id)
    }
  }
}

class Incoming implements ServedCall {
  private readonly controller = new AbortController()
  readonly signal = this.controller.signal
  private early: unknown[] = []
  private listener: ((value: unknown) => void) | null = null

  constructor(private readonly write: (value: unknown) => boolean) {}

  readonly chunk = (value: unknown): void => {
    if (!this.signal.aborted && !this.write(value)) this.end('its reader is too slow')
  }

  readonly onInput = (listener: (value: unknown) => void): void => {
    this.listener = listener
    for (const value of this.early.splice(0)) listener(value)
  }

  end(why: string): void {
    this.controller.abort(new CallFailure('CutOff', why))
  }

  take(value: unknown): void {
    if (this.listener) this.listener(value)
    else if (this.early.push(value) > earlyInputMost) this.end('too much was sent before it began')
  }
}
