import type { LogLine } from '../adapters/docker/engine.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { ChunkWindow } from './chunk-window.js'
import type { ServeCall, ServedCall } from './peer-calls.js'
import { agentMethods, logChunkMost, moreSchema, type LogChunk } from './protocol.js'
import { replicaContainer } from './served-replica.js'

/** The engine may write a container's last lines a moment after it has ended. */
const marginSeconds = 5

/** Serves `logs`. Only of containers of this instance, whoever asks. */
export function serveLogs(instance: string, engine: Pick<NodeEngine, 'inspect' | 'logBatches'>): ServeCall {
  return async (_method, params, call) => {
    const { follow, tail, since, streams, window, ...replica } = agentMethods.logs.parse(params)
    const { id, state, finishedAt } = await replicaContainer(instance, engine, replica)
    // The engine would read all of its log to find that nothing is new.
    const over = state === 'exited' && finishedAt !== null && since !== null && finishedAt / 1_000 + marginSeconds < Number(since)
    if (over) return undefined
    const chunks = new LogChunks(call, window)
    await engine.logBatches(id, { follow, tail, since, streams, sinceMs: null }, (lines) => chunks.add(lines), call.signal)
    await chunks.flush()
    return undefined
  }
}

/** Gathers lines into chunks. While its reader has no room for more, `add` makes Docker's stream wait. */
class LogChunks {
  private lines: LogChunk = []
  private bytes = 0
  private timer: NodeJS.Timeout | null = null
  private readonly window: ChunkWindow
  /** Resolves when the newest chunk that waits for room has found it. */
  private room: void | Promise<void> = undefined

  constructor(
    private readonly call: ServedCall,
    width: number,
  ) {
    this.window = new ChunkWindow(width, call.signal)
    call.onInput((value) => this.window.more(moreSchema.safeParse(value).data?.more ?? 0))
    call.signal.addEventListener('abort', () => this.stopTimer(), { once: true })
  }

  async add(lines: LogLine[]): Promise<void> {
    for (const { stream, at, text } of lines) {
      this.lines.push([stream === 'stdout' ? 0 : 1, normalTime(at), text])
      this.bytes += text.length
      if (this.lines.length >= logChunkMost.lines || this.bytes >= logChunkMost.bytes) await this.flush()
    }
    if (this.lines.length > 0) this.timer ??= setTimeout(() => void this.flush(), logChunkMost.ms)
    await this.room
  }

  /** A chunk is taken off before it waits for room, so that chunks leave in their order. Resolves when all have left. */
  async flush(): Promise<void> {
    this.stopTimer()
    if (this.lines.length === 0) return this.room
    const chunk = this.lines
    this.lines = []
    this.bytes = 0
    this.room = this.window.take()
    await this.room
    this.call.chunk(chunk)
  }

  private stopTimer(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
  }
}

/** Docker's own times have nine digits and a Z; another engine's may not, and times are compared as texts. */
export function normalTime(at: string): string {
  if (at.length === 30 || at === '') return at
  const [, seconds = at, fraction = ''] = /^(.{19})(?:\.(\d+))?/.exec(at) ?? []
  const offset = at.slice(19 + (fraction === '' ? 0 : fraction.length + 1)) || 'Z'
  const whole = new Date(`${seconds}${offset}`)
  return Number.isNaN(whole.getTime()) ? at : `${whole.toISOString().slice(0, 19)}.${fraction.slice(0, 9).padEnd(9, '0')}Z`
}
