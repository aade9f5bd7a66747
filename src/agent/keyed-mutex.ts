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
    const release = () => {
      open()
      if (this.tails.get(key) === tail) this.tails.delete(key)
    }
    try {
      await abortable(before, signal)
      return release
    } catch (error) {
      release()
      throw error
    }
  }
}
