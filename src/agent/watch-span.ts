import type { NodeEngine } from '../adapters/docker/node-engine.js'

/**
 * Since when every end of a container was under our eyes. A program that ended while the engine or this agent was away
 * may have been ended by a reboot: such an end says nothing about the program itself.
 */
export class WatchSpan {
  private since: number | null = null

  /** `engine` for the one who follows its events: the span ends with each subscription. */
  watching<E extends Pick<NodeEngine, 'events'>>(engine: E): Pick<NodeEngine, 'events'> {
    return {
      events: async (...args) => {
        this.since = null
        try {
          await engine.events(...args)
        } finally {
          this.since = null
        }
      },
    }
  }

  /** The engine answered at `at`, the node's clock, so all that a restart of it ends has ended before. */
  answered(at: number): void {
    this.since ??= at
  }

  missed(finishedAt: number | null): boolean {
    return finishedAt !== null && (this.since === null || finishedAt < this.since)
  }
}
