import { AsyncLocalStorage } from 'node:async_hooks'
import type { SignedPayload } from '../../src/adapters/crypto/signing.js'

/** What the code that runs now belongs to: a process that can die or freeze, and the action that it is doing. */
export interface Running {
  process: SimProcess
  action?: SignedPayload
}

export const running = new AsyncLocalStorage<Running>()

/**
 * A process of the simulated world. Killing one means that none of its calls ever comes back and none of its timers
 * fires: what it had asked of others still happens.
 */
export class SimProcess {
  dead = false
  private frozen = false
  private readonly thawed: (() => void)[] = []

  constructor(readonly name: string) {}

  kill(): void {
    this.dead = true
    this.thawed.splice(0)
  }

  freeze(): void {
    this.frozen = true
  }

  thaw(): void {
    this.frozen = false
    for (const run of this.thawed.splice(0)) run()
  }

  get beats(): boolean {
    return !this.dead && !this.frozen
  }

  /** Runs code as this process does: timers and calls made in it are this process's. */
  enter<T>(run: () => T, action?: SignedPayload): T {
    return running.run({ process: this, ...(action ? { action } : {}) }, run)
  }

  /** Now, or when it thaws; never when it is dead. */
  whenAwake(run: () => void): void {
    if (this.dead) return
    if (this.frozen) this.thawed.push(() => this.whenAwake(run))
    else run()
  }

  /** An answer from outside, as this process gets it. */
  receives<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.whenAwake(() => resolve(value)),
        (error: unknown) => this.whenAwake(() => reject(error as Error)),
      )
    })
  }

  /** `target` whose every method's promise arrives as `receives` says. */
  facing<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const value = Reflect.get(object, name) as unknown
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const result = (value as (...args: unknown[]) => unknown).apply(object, args)
          return result instanceof Promise ? this.receives(result) : result
        }
      },
    })
  }
}
