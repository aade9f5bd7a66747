import { setTimeout as sleep } from 'node:timers/promises'
import type { CallFailure, OutgoingCall } from '../../agent/peer-calls.js'
import { logChunkSchema, logStreams, type LogStreamName } from '../../agent/protocol.js'
import { nothingRead, sinceOf, type ReplicaPosition, type StreamPosition } from './log-position.js'

export interface Replica {
  release: number
  replica: number
  nodeId: string
}

/** One line, with where its stream stands behind it. */
export interface SourceLine {
  source: LogSource
  stream: LogStreamName
  at: string
  /** Which of the lines of this very time it is, from 1. */
  count: number
  text: string
  arrivedAt: number
}

export interface SourceOptions {
  replica: Replica
  resource: string
  follow: boolean
  /** The last lines only, at the first reading; null = all behind the position. */
  tail: number | null
  streams: LogStreamName[]
  position: ReplicaPosition | null
  wanted(text: string): boolean
  call(params: object, onChunk: (value: unknown) => void): OutgoingCall | null
  /** Something can be read, or its state has changed. */
  changed(): void
  onDropped(lines: number): void
  told(notice: { reason: 'NODE_AWAY' | 'NODE_BACK' | 'READ_FAILED'; message: string }): void
}

/** Chunks that may wait here; with them an agent may be as far ahead of the reader. */
const windowChunks = 16
/** A container that has ended may be started again, and its log goes on. */
const againFirstMs = 200
const againLongestMs = 2_000
const awayPollMs = 250
/** What was written while the log was read is read in the same way, unless it is little or there is no end to it. */
const littleLines = 2_000
const catchUpMost = 5
/** So much may have made the engine put a file aside; who then hears nothing for so long is not sure that nothing is said. */
const muchCharacters = 1024 * 1024
const silenceMs = 2_000
/** When its replica is gone, its log has ended, or ends by then. */
const leaveMs = 10_000

/**
 * The log of one replica, from wherever its node is. First what is there (`catchingUp`, in which others wait for it,
 * so that all lines come in the order of time), then what comes. A break of the channel, or an end of the container, is
 * followed by reading on behind the last line.
 */
export class LogSource {
  state: 'catchingUp' | 'live' | 'away' | 'ended' = 'catchingUp'
  /** Behind the newest line that has arrived. */
  readonly read: ReplicaPosition
  /** Before the first line that is told. */
  readonly start: ReplicaPosition
  /** Lines that were dropped since somebody asked. */
  dropped = 0
  private readonly chunks: { call: OutgoingCall; lines: SourceLine[]; at: number; allowed: boolean }[] = []
  private readonly stopping = new AbortController()
  private call: OutgoingCall | null = null
  private tail: number | null
  private leaving = false
  private shedding = false
  private agentAway = false
  private failing = false
  private fellBack = false
  /** Characters of this reading, and when the last ones came. */
  private heard = { characters: 0, at: 0 }

  constructor(private readonly options: SourceOptions) {
    this.tail = options.position ? null : options.tail
    this.start = options.position ?? nothingRead(null)
    this.read = structuredClone(this.start)
  }

  get replica(): Replica {
    return this.options.replica
  }

  /** There is no such replica any more. */
  get gone(): boolean {
    return this.leaving
  }

  async run(): Promise<void> {
    try {
      await this.readAll()
    } catch (error) {
      this.options.told({ reason: 'READ_FAILED', message: `the log is read no further: ${(error as Error).message}` })
    } finally {
      this.become('ended')
    }
  }

  stop(): void {
    this.stopping.abort()
    this.call?.cancel()
  }

  /** The replica is gone: what it has written is still read. */
  leave(): void {
    if (this.leaving) return
    this.leaving = true
    setTimeout(() => this.stop(), leaveMs).unref()
  }

  /** The oldest line that waits. */
  get head(): SourceLine | undefined {
    const chunk = this.chunks[0]
    return chunk?.lines[chunk.at]
  }

  shift(): void {
    const chunk = this.chunks[0]
    if (!chunk || ++chunk.at < chunk.lines.length) return
    this.chunks.shift()
    this.allow(chunk)
    if (this.chunks.length < windowChunks / 2) this.shedding = false
  }

  /** Whether its reader, who had come up to what is written, has left it half full or more since. */
  get behind(): boolean {
    return (this.state === 'live' || this.fellBack) && this.chunks.length >= windowChunks / 2
  }

  /**
   * It was told much and now is told nothing. A reader that follows may be left behind by Docker 20.10 at the end of a file
   * that was put aside, and hears no more until the next one is.
   */
  get perhapsStuck(): boolean {
    return this.state === 'live' && this.heard.characters >= muchCharacters && Date.now() - this.heard.at >= silenceMs
  }

  /**
   * Docker loses lines for a slow reader that follows: of files that it puts aside meanwhile. For one that reads what is
   * there it does not, so that is how a reader comes up again.
   */
  fallBack(): void {
    if (this.state !== 'live' || this.fellBack) return
    this.fellBack = true
    this.call?.cancel()
  }

  /** The reader does not come after: the oldest lines give way to new ones, until it does. */
  shed(): void {
    if (this.shedding) return
    this.shedding = true
    for (const chunk of this.chunks) this.allow(chunk)
  }

  private async readAll(): Promise<void> {
    const { signal } = this.stopping
    let waitMs = againFirstMs
    while (!signal.aborted) {
      const caughtUp = await this.catchUp()
      if (!this.options.follow) return
      const followed = caughtUp === null ? null : await this.once(true)
      if (this.fellBack && followed !== null) continue
      if (this.leaving && followed !== null) return
      waitMs = (followed ?? 0) + (caughtUp ?? 0) > 0 ? againFirstMs : Math.min(waitMs * 1.5, againLongestMs)
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** How many lines there were; null when it could not be read. */
  private async catchUp(): Promise<number | null> {
    let total = 0
    for (let n = 0; n < catchUpMost; n++) {
      const lines = await this.once(false)
      if (lines === null) return null
      this.tail = null
      total += lines
      if (lines < littleLines) break
    }
    return total
  }

  /** One reading. How many lines it brought; null when it failed, and 0 when there is no such container (yet, or any more). */
  private async once(follow: boolean): Promise<number | null> {
    if (this.stopping.signal.aborted) return 0
    const seen = new Seen(this.read)
    let lines = 0
    const call: OutgoingCall | null = this.options.call(this.params(follow), (value) => {
      if (call) lines += this.take(call, value, seen)
    })
    if (!call) return this.away()
    this.call = call
    this.begun(follow)
    try {
      await call.done
      this.failing = false
    } catch (error) {
      return this.failed(error as CallFailure)
    } finally {
      this.call = null
    }
    return lines
  }

  private begun(follow: boolean): void {
    if (this.agentAway)
      this.options.told({ reason: 'NODE_BACK', message: `the agent of node ${this.replica.nodeId} is connected again` })
    this.agentAway = false
    this.heard = { characters: 0, at: Date.now() }
    if (follow) this.fellBack = false
    if (follow) this.become('live')
    else if (this.state === 'away') this.become('catchingUp')
  }

  private params(follow: boolean): object {
    const { resource, replica, streams } = this.options
    const { release, replica: number } = replica
    const since = sinceOf(this.read)
    return { resource, release, replica: number, follow, tail: this.tail, since, streams, window: windowChunks }
  }

  private async away(): Promise<null> {
    const { options, stopping } = this
    if (!this.agentAway) {
      const later = options.follow ? ': its lines come when it is back' : ''
      options.told({ reason: 'NODE_AWAY', message: `the agent of node ${this.replica.nodeId} is not connected${later}` })
    }
    this.agentAway = true
    this.become('away')
    if (options.follow) await sleep(awayPollMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    return null
  }

  private failed({ reason, message }: CallFailure): number | null {
    if (this.stopping.signal.aborted || reason === 'NotFound') return 0
    if (reason === 'Cancelled' && this.fellBack) return 0
    this.become('away')
    if (reason !== 'AgentUnreachable' && !this.failing) {
      const later = this.options.follow ? '; it is tried again' : ''
      this.options.told({ reason: 'READ_FAILED', message: `the log could not be read: ${message}${later}` })
      this.failing = true
    }
    return null
  }

  /** How many new lines a chunk brought. */
  private take(call: OutgoingCall, value: unknown, seen: Seen): number {
    const parsed = logChunkSchema.safeParse(value)
    if (!parsed.success || this.stopping.signal.aborted) return (call.cancel(), 0)
    const lines: SourceLine[] = []
    const arrivedAt = Date.now()
    this.heard.at = arrivedAt
    let fresh = 0
    for (const [index, at, text] of parsed.data) {
      const stream = logStreams[index]
      if (this.tail !== null) this.leaveOutBefore(at)
      this.heard.characters += text.length
      if (seen.has(stream, at)) continue
      fresh++
      const count = advance(this.read[stream], at)
      if (this.options.wanted(text)) lines.push({ source: this, stream, at, count, text, arrivedAt })
    }
    const chunk = { call, lines, at: 0, allowed: false }
    if (lines.length === 0) this.allow(chunk)
    else this.keep(chunk)
    return fresh
  }

  /** What a tail has cut off is not read later either, whichever stream it is of. */
  private leaveOutBefore(at: string): void {
    for (const stream of logStreams) if (this.read[stream].at === '') this.read[stream].at = this.start[stream].at = at
  }

  private keep(chunk: (typeof this.chunks)[number]): void {
    this.chunks.push(chunk)
    if (this.shedding) {
      this.allow(chunk)
      for (; this.chunks.length > windowChunks; this.chunks.shift()) {
        const oldest = this.chunks[0]
        const lines = (oldest?.lines.length ?? 0) - (oldest?.at ?? 0)
        this.dropped += lines
        this.options.onDropped(lines)
      }
    }
    this.options.changed()
  }

  private allow(chunk: { call: OutgoingCall; allowed: boolean }): void {
    if (chunk.allowed) return
    chunk.allowed = true
    chunk.call.input({ more: 1 })
  }

  private become(state: LogSource['state']): void {
    if (this.state === 'ended' || this.state === state) return
    this.state = state
    this.options.changed()
  }
}

/** Moves a position behind a line of this time; answers which of that time's lines it is. */
function advance(position: StreamPosition, at: string): number {
  position.count = position.at === at ? position.count + 1 : 1
  position.at = at
  return position.count
}

/**
 * Lines that a reading brings once more, because Docker is asked from the last line's time on. And because Docker, when its
 * files were changed under a slow reader, begins them again in the middle of a reading: times that go back tell it. (So
 * lines of a clock that was set back are left out until it has caught up.)
 */
class Seen {
  private readonly marks: Record<LogStreamName, { behind: StreamPosition; met: number; at: string }>

  constructor(private readonly read: ReplicaPosition) {
    const mark = (position: StreamPosition) => ({ behind: { ...position }, met: 0, at: '' })
    this.marks = { stdout: mark(read.stdout), stderr: mark(read.stderr) }
  }

  has(stream: LogStreamName, at: string): boolean {
    const mark = this.marks[stream]
    if (at < mark.at) {
      mark.behind = { ...this.read[stream] }
      mark.met = 0
    }
    mark.at = at
    return at < mark.behind.at || (at === mark.behind.at && ++mark.met <= mark.behind.count)
  }
}
