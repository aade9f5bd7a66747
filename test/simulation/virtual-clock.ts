/** Runs everything that is ready: promises only, for nothing in a simulated world waits for the real one. */
export function drained(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export interface Timer {
  readonly at: number
  cancelled: boolean
}

interface Due extends Timer {
  readonly order: number
  readonly run: () => void | Promise<void>
}

/** The one clock of a simulated world: time passes only from event to event. */
export class VirtualClock {
  private readonly queue: Due[] = []
  private order = 0
  private time: number
  /** Events that have run. */
  events = 0
  /** Real work that must end before time may go on: empty unless a real database takes part. */
  private readonly real = new Set<Promise<unknown>>()

  constructor(startAt: number) {
    this.time = startAt
  }

  readonly now = (): number => this.time

  /** Runs `run` after `ms`; among equal times the earlier call is first. */
  after(ms: number, run: () => void | Promise<void>): Timer {
    const due: Due = { at: this.time + Math.max(0, ms), order: this.order++, run, cancelled: false }
    this.push(due)
    return due
  }

  /** Resolves after `ms`; rejects with the signal's reason when it is aborted before. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const onAbort = () => {
        timer.cancelled = true
        reject(signal?.reason as Error)
      }
      const timer = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Time stands still until `work` has settled. */
  async hold<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    )
    this.real.add(settled)
    void settled.then(() => this.real.delete(settled))
    return work
  }

  /** Runs events up to `until`, `check` after each; stops when `check` answers true. */
  async run(until: number, check: () => boolean | void): Promise<void> {
    for (;;) {
      const due = this.pop(until)
      if (!due) break
      this.time = Math.max(this.time, due.at)
      this.events++
      await due.run()
      await this.settle()
      if (check() === true) return
    }
    this.time = Math.max(this.time, until)
  }

  private async settle(): Promise<void> {
    await drained()
    while (this.real.size > 0) {
      await Promise.race(this.real)
      await drained()
    }
  }

  private push(due: Due): void {
    const heap = this.queue
    heap.push(due)
    let i = heap.length - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(heap[i]!, heap[parent]!)) break
      ;[heap[i], heap[parent]] = [heap[parent]!, heap[i]!]
      i = parent
    }
  }

  private pop(until: number): Due | null {
    const heap = this.queue
    for (;;) {
      const first = heap[0]
      if (!first || (!first.cancelled && first.at > until)) return null
      const last = heap.pop()!
      if (heap.length > 0) {
        heap[0] = last
        this.sink()
      }
      if (!first.cancelled) return first
    }
  }

  private sink(): void {
    const heap = this.queue
    let i = 0
    for (;;) {
      const left = 2 * i + 1
      const right = left + 1
      let least = i
      if (left < heap.length && before(heap[left]!, heap[least]!)) least = left
      if (right < heap.length && before(heap[right]!, heap[least]!)) least = right
      if (least === i) return
      ;[heap[i], heap[least]] = [heap[least]!, heap[i]!]
      i = least
    }
  }
}

function before(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
