import type { ClaimedPass, DueResource, PassStep, PassStore } from '../../src/persistence/pass-store.js'
import type { Decision } from '../../src/reconcile/loop.js'
import type { SimProcess } from './sim-process.js'
import type { VirtualClock } from './virtual-clock.js'

export interface DatabaseFaults {
  away(): boolean
  latencyMs(): number
  /** Nothing was done. */
  failsBefore(): boolean
  /** It was done, and the answer is an error. */
  failsAfter(): boolean
}

/** A way to the database that delays, fails before or after the commit, and breaks; for one process. */
export class SimDatabase implements PassStore {
  constructor(
    private readonly store: PassStore,
    private readonly clock: VirtualClock,
    private readonly process: () => SimProcess,
    private readonly faults: DatabaseFaults,
  ) {}

  claim(id: string): Promise<ClaimedPass | null> {
    return this.query(() => this.store.claim(id))
  }

  peek(id: string): Promise<ClaimedPass | null> {
    return this.query(() => this.store.peek(id))
  }

  draft(projectId: string, name: string, spec: unknown): Promise<ClaimedPass | null> {
    return this.query(() => this.store.draft(projectId, name, spec))
  }

  decide(id: string, pass: number, now: number, step: PassStep): Promise<Decision | 'superseded'> {
    return this.query(() => this.store.decide(id, pass, now, step))
  }

  dependants(id: string): Promise<DueResource[]> {
    return this.query(() => this.store.dependants(id))
  }

  due(after: string, limit: number, now: number): Promise<DueResource[]> {
    return this.query(() => this.store.due(after, limit, now))
  }

  keepHouse(now: number): Promise<void> {
    return this.query(() => this.store.keepHouse(now))
  }

  private query<T>(run: () => Promise<T>): Promise<T> {
    const process = this.process()
    const { clock, faults } = this
    const work = async (): Promise<T> => {
      const latency = faults.latencyMs()
      await process.receives(clock.sleep(latency / 2))
      if (faults.away()) throw new Error('the database cannot be reached')
      if (faults.failsBefore()) throw new Error('the database broke the connection')
      const result = await clock.hold(run())
      await process.receives(clock.sleep(latency / 2))
      if (faults.away() || faults.failsAfter()) throw new Error('the database broke the connection after the commit')
      return result
    }
    return process.receives(work())
  }
}
