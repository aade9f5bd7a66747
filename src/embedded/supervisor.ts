import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf } from './reason.js'
import type { Ending } from './service.js'
import type { SetupLog } from './setup-log.js'

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 10_000
/** A part that ran for so long is healthy: its next death is answered at once again. */
const HEALTHY_AFTER_MS = 30_000

/** A part that runs: PostgreSQL, Temporal, or a process of Evenkeel. */
export interface RunningPart {
  readonly pid: number
  /** Settles when the part is gone, with the reason. */
  readonly ended: Promise<Ending>
  stop(): Promise<void>
}

/** How to start a part; resolves when it is ready for those that are started after it. */
export interface Part {
  readonly name: string
  start(): Promise<RunningPart>
}

/**
 * Keeps parts running: one that dies, for whatever reason, is started again, after pauses that grow while it keeps
 * dying. The parts find each other by fixed addresses and reconnect by themselves, so only the dead one is started.
 */
export class Supervisor {
  private readonly kept: Keeper[] = []
  private stopping = false

  constructor(private readonly log: SetupLog) {}

  /** Starts a part and keeps it from then on. A failing first start is an error: nobody waits for a wrong setting. */
  async start(part: Part): Promise<void> {
    if (this.stopping) throw new Error('Evenkeel is stopping')
    const keeper = new Keeper(part, this.log)
    this.kept.push(keeper)
    await keeper.start()
  }

  pidOf(name: string): number | undefined {
    return this.kept.find((keeper) => keeper.part.name === name)?.pid
  }

  /** Ends all parts, the last one first, so that each still finds what it needs for its last words. */
  async stop(): Promise<void> {
    this.stopping = true
    for (const keeper of this.kept) keeper.release()
    for (const keeper of [...this.kept].reverse()) await keeper.stop()
  }
}

class Keeper {
  private running: RunningPart | undefined
  private released = false
  private readonly giveUp = new AbortController()
  private starting: Promise<RunningPart> | undefined
  private keeping: Promise<void> = Promise.resolve()

  constructor(
    readonly part: Part,
    private readonly log: SetupLog,
  ) {}

  get pid(): number | undefined {
    return this.running?.pid
  }

  async start(): Promise<void> {
    this.starting = this.part.start()
    this.running = await this.starting
    this.keeping = this.keep(this.running)
  }

  /** From now on a death is not answered. */
  release(): void {
    this.released = true
    this.giveUp.abort()
  }

  async stop(): Promise<void> {
    // Interrupted in its first start: what comes out of that has to be ended as well.
    const started = this.running ?? (await this.starting?.catch(() => undefined))
    await started?.stop()
    await this.keeping
  }

  private async keep(running: RunningPart): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    for (;;) {
      const startedAt = Date.now()
      const ending = await running.ended
      if (this.released) return
      if (Date.now() - startedAt > HEALTHY_AFTER_MS) pauseMs = FIRST_PAUSE_MS
      this.log(`${this.part.name} ended (${ending}), starting it again`)
      const next = await this.startAgain(pauseMs)
      if (!next) return
      running = next.running
      pauseMs = Math.min(next.pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  private async startAgain(pauseMs: number): Promise<{ running: RunningPart; pauseMs: number } | undefined> {
    for (; !this.released; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { signal: this.giveUp.signal }).catch(() => {})
      if (this.released) return undefined
      try {
        this.running = await this.part.start()
        this.log(`${this.part.name} runs again`)
        // Released while it was starting: nobody else would end it.
        if (this.released) await this.running.stop()
        return { running: this.running, pauseMs }
      } catch (error) {
        this.log(`${this.part.name} does not start: ${reasonOf(error)}`)
      }
    }
    return undefined
  }
}
