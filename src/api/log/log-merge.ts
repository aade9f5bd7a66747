import type { LogStreamName } from '../../agent/protocol.js'
import { encodePosition, type LogPosition, type ReplicaPosition } from './log-position.js'
import type { LogSource, Replica, SourceLine } from './log-source.js'

export type NoticeReason = 'NODE_AWAY' | 'NODE_BACK' | 'READ_FAILED' | 'DROPPED' | 'REPLICA_JOINED' | 'REPLICA_ENDED'

export interface Notice {
  reason: NoticeReason
  message: string
  release: number | null
  replica: number | null
  nodeId: string | null
}

/** A line as GraphQL tells it; its cursor is made only for those who ask. */
export interface TextLine extends Replica {
  stream: LogStreamName
  at: string
  text: string
  readonly cursor: string
}

/** Lines, or a notice without any. */
export interface LogEvent {
  lines: TextLine[]
  notice: Notice | null
  /** Behind all that was told so far. */
  readonly cursor: string
}

export interface MergeOptions {
  resource: string
  /** The last so many lines of what is there at first; null = all behind the position. */
  tail: number | null
  position: LogPosition
  now(): number
}

/** Lines of one event: large enough to be cheap, small enough not to hold up anybody. */
const linesMost = 512
/** While a replica is silent a line of another one waits so long, in case that an older one is on its way. */
const reorderMs = 250
/** What a tail may hold in characters. */
const tailCharactersMost = 16 * 1024 * 1024
const noticesMost = 100

/** The lines of several replicas in the order of their time, as far as they have arrived. */
export class LogMerge {
  readonly sources = new Set<LogSource>()
  private readonly notices: Notice[] = []
  /** What is to be told behind the last line of a source. */
  private readonly ends = new Map<LogSource, Notice>()
  private tail: { lines: SourceLine[]; characters: number; cut: boolean } | null
  private ready: SourceLine[] = []
  private readonly position: LogPosition

  constructor(private readonly options: MergeOptions) {
    this.tail = options.tail === null ? null : { lines: [], characters: 0, cut: false }
    this.position = options.position
  }

  notice(notice: Notice): void {
    this.notices.push(notice)
    if (this.notices.length > noticesMost) this.notices.shift()
  }

  noticeBehind(source: LogSource, notice: Notice): void {
    this.ends.set(source, notice)
  }

  /** What can be told now; else after how many milliseconds to look again (null = when something changes). */
  next(): { event: LogEvent } | { waitMs: number | null } {
    this.tellDropped()
    this.tellEnds()
    const notice = this.notices.shift()
    if (notice) return { event: new TellableEvent([], notice, this.cursorBehind()) }
    const { lines, waitMs } = this.tail ? this.tailed() : this.gathered()
    if (lines.length > 0) return { event: this.eventOf(lines) }
    if (!this.tail && this.ready.length === 0) this.forgetEnded()
    return { waitMs }
  }

  get empty(): boolean {
    return this.tail === null && this.ready.length === 0 && this.notices.length === 0 && this.ends.size === 0 && ![...this.sources].some((s) => s.head)
  }

  private tellDropped(): void {
    for (const source of this.sources) {
      if (source.dropped === 0) continue
      const { release, replica, nodeId } = source.replica
      const message = `dropped ${source.dropped} lines, because they were not read fast enough`
      this.notice({ reason: 'DROPPED', message, release, replica, nodeId })
      source.dropped = 0
    }
  }

  private tellEnds(): void {
    if (this.tail) return
    for (const [source, notice] of this.ends) {
      if (source.head || this.ready.some((line) => line.source === source)) continue
      this.ends.delete(source)
      this.notice(notice)
    }
  }

  /** Everything that is there is read, and the end of it kept. */
  private tailed(): { lines: SourceLine[]; waitMs: number | null } {
    const { tail } = this
    if (!tail) return this.gathered()
    for (;;) {
      const line = this.oldest(true)
      if (line === null || typeof line === 'number') break
      tail.lines.push(line)
      tail.characters += line.text.length
      line.source.shift()
      this.cut(tail)
    }
    if ([...this.sources].some((s) => s.state === 'catchingUp')) return { lines: [], waitMs: null }
    this.ready = tail.lines.slice(tail.lines.length - (this.options.tail ?? 0))
    this.passOver(tail.lines.slice(0, tail.lines.length - this.ready.length))
    this.tail = null
    return this.gathered()
  }

  private cut(tail: { lines: SourceLine[]; characters: number }): void {
    const most = this.options.tail ?? 0
    if (tail.lines.length < 2 * most + 1_000 && tail.characters < tailCharactersMost) return
    let from = Math.max(0, tail.lines.length - most)
    let characters = tail.lines.slice(from).reduce((sum, line) => sum + line.text.length, 0)
    for (; characters > tailCharactersMost; from++) characters -= tail.lines[from]?.text.length ?? 0
    this.passOver(tail.lines.splice(0, from))
    tail.characters = characters
  }

  private gathered(): { lines: SourceLine[]; waitMs: number | null } {
    if (this.ready.length > 0) return { lines: this.ready.splice(0, linesMost), waitMs: null }
    const lines: SourceLine[] = []
    while (lines.length < linesMost) {
      const line = this.oldest(false)
      if (typeof line !== 'object' || line === null) return { lines, waitMs: line }
      lines.push(line)
      line.source.shift()
    }
    return { lines, waitMs: null }
  }

  /** The oldest line that waits, when no older one can come; else how long it has to wait for one (null = for a change). */
  private oldest(settled: boolean): SourceLine | number | null {
    let oldest: SourceLine | undefined
    let silent = false
    for (const source of this.sources) {
      const { head } = source
      if (!head && source.state === 'catchingUp') return null
      if (!head && source.state === 'live') silent = true
      if (head && (!oldest || head.at < oldest.at)) oldest = head
    }
    if (!oldest) return null
    const waitMs = silent && !settled ? reorderMs - (this.options.now() - oldest.arrivedAt) : 0
    return waitMs > 0 ? waitMs : oldest
  }

  private eventOf(lines: SourceLine[]): LogEvent {
    const before = this.snapshot()
    this.passOver(lines)
    let cursors: string[] | null = null
    const cursorOf = (n: number): string => (cursors ??= this.cursorsFrom(before, lines))[n] ?? ''
    return new TellableEvent(
      lines.map((line, n) => new TellableLine(line, n, cursorOf)),
      null,
      this.cursorBehind(),
    )
  }

  private passOver(lines: SourceLine[]): void {
    for (const line of lines) pass(this.position, line)
  }

  private cursorsFrom(position: LogPosition, lines: SourceLine[]): string[] {
    return lines.map((line) => {
      pass(position, line)
      return encodePosition(this.options.resource, position)
    })
  }

  /** A source of which nothing waits was read to where it stands, also over lines that nobody wanted. */
  private cursorBehind(): () => string {
    if (this.tail === null && this.ready.length === 0)
      for (const source of this.sources) if (!source.head) this.position.replicas.set(keyOf(source.replica), copyOf(source.read))
    const snapshot = this.snapshot()
    return () => encodePosition(this.options.resource, snapshot)
  }

  /** A replica that is gone is in no later cursor, so that cursors do not grow with every release. */
  private forgetEnded(): void {
    for (const source of this.sources) {
      if (source.state !== 'ended' || source.head) continue
      this.sources.delete(source)
      if (source.gone) this.position.replicas.delete(keyOf(source.replica))
    }
  }

  private snapshot(): LogPosition {
    return { from: this.position.from, replicas: new Map([...this.position.replicas].map(([k, p]) => [k, copyOf(p)])) }
  }
}

/** Cursors are getters, so that nobody pays for those that nobody asks for. */
class TellableLine implements TextLine {
  readonly release: number
  readonly replica: number
  readonly nodeId: string
  readonly stream: LogStreamName
  readonly at: string
  readonly text: string

  constructor(
    { source, stream, at, text }: SourceLine,
    private readonly number: number,
    private readonly cursorOf: (n: number) => string,
  ) {
    const { release, replica, nodeId } = source.replica
    this.release = release
    this.replica = replica
    this.nodeId = nodeId
    this.stream = stream
    this.at = at
    this.text = text
  }

  get cursor(): string {
    return this.cursorOf(this.number)
  }
}

class TellableEvent implements LogEvent {
  constructor(
    readonly lines: TextLine[],
    readonly notice: Notice | null,
    private readonly cursorBehind: () => string,
  ) {}

  get cursor(): string {
    return this.cursorBehind()
  }
}

export function keyOf({ release, replica }: Pick<Replica, 'release' | 'replica'>): string {
  return `${release}.${replica}`
}

function pass({ replicas }: LogPosition, { source, stream, at, count }: SourceLine): void {
  const key = keyOf(source.replica)
  const position = replicas.get(key) ?? copyOf(source.start)
  position[stream] = { at, count }
  replicas.set(key, position)
}

function copyOf({ stdout, stderr }: ReplicaPosition): ReplicaPosition {
  return { stdout: { ...stdout }, stderr: { ...stderr } }
}
