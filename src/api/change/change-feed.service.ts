import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common'
import { ChangeListener } from '../../persistence/change-listener.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'

/** What one follower has not seen yet. */
export interface Told {
  /** Resources that changed, each once however often it did. */
  ids: string[]
  /** Changes since then may have gone by unheard; null = none has. */
  missedSince: Date | null
}

/** Tells the subscriptions of this process which resources changed, over one connection to PostgreSQL. */
@Injectable()
export class ChangeFeed implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly followers = new Set<Follower>()
  private readonly listener: ChangeListener

  constructor(@Inject(API_OPTIONS) options: ApiOptions) {
    this.listener = new ChangeListener(options.databaseUrl, {
      changed: (id) => this.followers.forEach((f) => f.tell(id)),
      resumed: (brokenAt) => this.followers.forEach((f) => f.missed(brokenAt)),
      log: (message, error) => options.log.warn({ err: error }, message),
    })
  }

  onApplicationBootstrap(): void {
    this.listener.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const follower of this.followers) await follower.return()
    await this.listener.stop()
  }

  /** False while the connection that hears changes is being made; they are read again when it is there. */
  get listening(): boolean {
    return this.listener.listening
  }

  /** Everything that changes from now on, until the iterator is returned. */
  follow(): AsyncIterableIterator<Told> {
    const follower = new Follower(() => this.followers.delete(follower))
    this.followers.add(follower)
    return follower
  }
}

/** Gathers what changes while its reader is busy; holds each id once, so that it cannot grow beyond the resources. */
class Follower implements AsyncIterableIterator<Told> {
  private ids = new Set<string>()
  private missedSince: Date | null = null
  private waiting: (() => void) | null = null
  private ended = false

  constructor(private readonly onEnd: () => void) {}

  tell(id: string): void {
    this.ids.add(id)
    this.wake()
  }

  missed(since: Date): void {
    this.missedSince ??= since
    this.wake()
  }

  async next(): Promise<IteratorResult<Told>> {
    while (!this.ended && this.ids.size === 0 && this.missedSince === null)
      await new Promise<void>((resolve) => (this.waiting = resolve))
    if (this.ended) return { done: true, value: undefined }
    const value = { ids: [...this.ids], missedSince: this.missedSince }
    this.ids = new Set()
    this.missedSince = null
    return { done: false, value }
  }

  async return(): Promise<IteratorResult<Told>> {
    this.ended = true
    this.onEnd()
    this.wake()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  private wake(): void {
    this.waiting?.()
    this.waiting = null
  }
}

/**
 * Each item of `source` as none, one or many, behind the `first` ones. No generator: returning it must end a source that
 * waits for a change which may never come. A reading that fails ends the source: nobody returns an iterator that failed.
 */
export function expanded<In, Out>(
  source: AsyncIterableIterator<In>,
  expand: (item: In) => Promise<Out[]>,
  first: Out[] = [],
): AsyncIterableIterator<Out> {
  const ready = [...first]
  return {
    async next() {
      for (;;) {
        const item = ready.shift()
        if (item !== undefined) return { done: false, value: item }
        const read = await source.next()
        if (read.done) return { done: true, value: undefined }
        ready.push(...(await orEnd(source, expand(read.value))))
      }
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** What is read for the reader of `source`; if it cannot be read, `source` ends with it. */
export async function orEnd<T>(source: AsyncIterableIterator<unknown>, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    await source.return?.()
    throw error
  }
}
