import type { Told } from '../change/change-feed.service.js'
import { LogMerge, keyOf, type LogEvent, type Notice, type NoticeReason } from './log-merge.js'
import { nothingRead, type LogPosition, type ReplicaPosition } from './log-position.js'
import { LogSource, type Replica, type SourceOptions } from './log-source.js'

export interface LogReaderOptions extends Pick<SourceOptions, 'resource' | 'follow' | 'streams' | 'wanted' | 'onDropped'> {
  /** The last lines of what is there, then what comes; null = all behind the position. */
  tail: number | null
  /** Whether lines are left out, so that a replica's last lines are not the last wanted ones. */
  filtered: boolean
  position: LogPosition
  call(nodeId: string, ...args: Parameters<SourceOptions['call']>): ReturnType<SourceOptions['call']>
  /** The replicas that there are now; null = the application is gone. */
  replicas(): Promise<Replica[] | null>
  /** What has changed in the database; null for a reader that does not follow. */
  changes: AsyncIterableIterator<Told> | null
  onEnd(): void
}

/** How often the replicas are read again, whatever was told. */
const lookMs = 5_000
/** A reader that has been behind for this long loses its oldest lines instead of holding up the node. */
const patienceMs = 5_000
const patienceLookMs = 250
/** One that has been behind for this long reads on in another way. */
const fallBackMs = 500

/** Reads an application's log: each `next` waits until there is something to tell. */
export class LogReader implements AsyncIterableIterator<LogEvent> {
  private readonly merge: LogMerge
  private readonly sources = new Map<string, LogSource>()
  private readonly behindSince = new Map<LogSource, number>()
  private readonly timers: NodeJS.Timeout[] = []
  private waiting: (() => void) | null = null
  private begun = false
  private ended = false
  private gone = false
  private looking: Promise<void> = Promise.resolve()

  constructor(private readonly options: LogReaderOptions) {
    this.merge = new LogMerge({ ...options, now: Date.now })
  }

  /** Finds the replicas that there are; fails when the database does. */
  async start(): Promise<void> {
    await this.look()
    this.begun = true
    if (!this.options.follow) return
    void this.hear()
    this.timers.push(
      setInterval(() => void this.lookAgain(), lookMs),
      setInterval(() => this.shedForSlow(), patienceLookMs),
    )
  }

  async next(): Promise<IteratorResult<LogEvent>> {
    while (!this.ended) {
      const found = this.merge.next()
      if ('event' in found) return { done: false, value: found.event }
      if ((!this.options.follow || this.gone) && this.sources.size === 0 && this.merge.empty) break
      await this.wake(found.waitMs)
    }
    await this.return()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<LogEvent>> {
    if (!this.ended) {
      this.ended = true
      this.timers.forEach(clearInterval)
      for (const source of this.sources.values()) source.stop()
      await this.options.changes?.return?.()
      this.options.onEnd()
      this.changed()
    }
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  private async hear(): Promise<void> {
    for await (const { ids, missedSince } of this.options.changes ?? [])
      if (missedSince || ids.includes(this.options.resource)) await this.lookAgain()
  }

  /** A database that is away changes nothing for those who read already. */
  private lookAgain(): Promise<void> {
    this.looking = this.looking.then(() => this.look()).catch(() => undefined)
    return this.looking
  }

  private async look(): Promise<void> {
    const found = await this.options.replicas()
    if (this.ended) return
    const replicas = found ?? []
    if (found === null) this.gone = true
    const keys = new Set(replicas.map(keyOf))
    for (const [key, source] of this.sources) if (!keys.has(key)) source.leave()
    for (const replica of replicas) if (!this.sources.has(keyOf(replica))) this.join(replica)
    if (this.gone) this.changed()
  }

  private join(replica: Replica): void {
    const { options, begun } = this
    const { filtered } = options
    const source = new LogSource({
      ...options,
      replica,
      // All lines are looked through when only some are wanted, and one is read to know where "from now on" begins.
      tail: begun || options.tail === null || filtered ? null : Math.max(1, options.tail),
      position: this.positionOf(replica),
      call: (...args) => options.call(replica.nodeId, ...args),
      changed: () => this.changed(),
      told: ({ reason, message }) => this.tell(reason, message, replica),
    })
    this.sources.set(keyOf(replica), source)
    this.merge.sources.add(source)
    if (begun) this.tell('REPLICA_JOINED', `replica ${replica.replica} of release ${replica.release} begins`, replica)
    void source.run().finally(() => this.over(source))
  }

  private positionOf(replica: Replica): ReplicaPosition | null {
    const { from, replicas } = this.options.position
    return replicas.get(keyOf(replica)) ?? (from === null ? null : nothingRead(from))
  }

  /** Its lines that wait are still told. */
  private over(source: LogSource): void {
    const { replica } = source
    this.sources.delete(keyOf(replica))
    this.behindSince.delete(source)
    if (this.options.follow && !this.ended)
      this.merge.noticeBehind(source, noticeOf('REPLICA_ENDED', `replica ${replica.replica} of release ${replica.release} has ended`, replica))
    this.changed()
  }

  private tell(reason: NoticeReason, message: string, replica: Replica): void {
    this.merge.notice(noticeOf(reason, message, replica))
    this.changed()
  }

  private shedForSlow(): void {
    const now = Date.now()
    for (const source of this.sources.values()) {
      if (source.perhapsStuck) source.fallBack()
      if (!source.behind) {
        this.behindSince.delete(source)
        continue
      }
      const since = this.behindSince.get(source) ?? now
      this.behindSince.set(source, since)
      if (now - since > fallBackMs) source.fallBack()
      if (now - since > patienceMs) source.shed()
    }
  }

  private changed(): void {
    this.waiting?.()
    this.waiting = null
  }

  private async wake(waitMs: number | null): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.waiting = resolve
      if (waitMs !== null) timer = setTimeout(resolve, waitMs)
    })
    clearTimeout(timer)
  }
}

function noticeOf(reason: NoticeReason, message: string, { release, replica, nodeId }: Replica): Notice {
  return { reason, message, release, replica, nodeId }
}
