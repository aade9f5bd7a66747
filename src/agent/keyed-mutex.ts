import { abortable } from './abortable.js'

/** One holder a key, first come first served. */
export class KeyedMutex {
  private readonly tails = new Map<string, Promise<void>>()

  /** Resolves with the release function. A waiter whose signal aborts leaves the line and rejects with its reason. */
  async acquire(key: string, signal: AbortSignal): Promise<() => void> {
    const before = this.tails.get(key) ?? Promise.resolve()
    let open!: () => void
    const mine = new Promise<void>((resolve) => (open = resolve))
    const tail = before.then(() => mine)
    this.tails.set(key, tail)
    // Only when the line is empty: who left it has not made its holder leave.
    void tail.then(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key)
    })
    try {
      await abortable(before, signal)
      return open
    } catch (error) {
      open()
      throw error
    }
  }
}
