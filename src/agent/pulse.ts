import type { Probe } from '../reconcile/action.js'
import type { Clock } from './ports.js'
import type { ProbeResult } from './probe.js'
import type { Turns } from './turns.js'
import { staleAfterMs } from './staleness.js'

export interface PulseOptions {
  probe: Probe
  ask(): Promise<ProbeResult>
  clock: Pick<Clock, 'now'>
  turns: Turns
  /** It was found hanging, or to live after all. */
  onChange(live: boolean): void
}

/**
 * Asks one run of one container again and again whether it lives, from `begin` on. A verdict needs as many failures in a
 * row as the probe says: being asked once at a bad moment restarts nobody.
 */
export class Pulse {
  private live: boolean | null = null
  private message = 'not probed yet'
  private failures = 0
  private askedAt: number | null = null
  private begun = false
  private ended = false
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly options: PulseOptions) {}

  begin(): void {
    if (this.begun || this.ended) return
    this.begun = true
    this.due()
  }

  end(): void {
    this.ended = true
    if (this.timer) clearTimeout(this.timer)
  }

  /** An old verdict, of an agent that was frozen for a while, is none. */
  get state(): { live: boolean | null; liveMessage: string } {
    const { probe, clock } = this.options
    const fresh = this.askedAt !== null && clock.now() - this.askedAt <= staleAfterMs(probe)
    return { live: fresh ? this.live : null, liveMessage: this.message }
  }

  private due(): void {
    this.timer = null
    this.options.turns.take(() => this.round())
  }

  private async round(): Promise<void> {
    if (this.ended) return
    const beganAt = this.options.clock.now()
    const result = await this.options.ask().catch((error: Error) => ({ ok: false, message: error.message }))
    if (this.ended) return
    this.askedAt = beganAt
    this.settle(result)
    this.timer = setTimeout(() => this.due(), this.options.probe.intervalMs)
    this.timer.unref()
  }

  private settle({ ok, message }: ProbeResult): void {
    this.message = message
    this.failures = ok ? 0 : this.failures + 1
    const before = this.live
    if (ok) this.live = true
    else if (this.failures >= this.options.probe.failureThreshold) this.live = false
    if (before !== this.live && (before === false || this.live === false)) this.options.onChange(this.live === true)
  }
}
