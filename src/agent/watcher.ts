import type { EngineEvent } from '../adapters/docker/engine.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { label } from '../reconcile/labels.js'
import type { AgentLog } from './log.js'
import type { OwnEffects } from './own-effects.js'
import type { Clock } from './ports.js'
import type { Prober } from './prober.js'
import type { NudgeQueue } from './nudge-queue.js'
import { systemKind } from './system-kind.js'
import { resourceOf, type ToldStates } from './told-states.js'

const firstRetryMs = 100
const longestRetryMs = 2_000
/** A subscription that lasted this long was a good one, so the next break starts with a short wait again. */
const steadyMs = 5_000
/** Within this time the pass that the end of a container has asked for begins to put another in its place. */
const replacedWithinMs = 200

export interface WatcherPorts {
  instance: string
  engine: Pick<NodeEngine, 'events' | 'inspect'>
  clock: Clock
  prober: Pick<Prober, 'track' | 'ended' | 'forget'>
  effects: Pick<OwnEffects, 'covers' | 'endsAfter'>
  told: ToldStates
  nudges: Pick<NudgeQueue, 'nudge'>
  log: AgentLog
  /** Something happened to a container that the agent itself keeps on this node. */
  onSystemEvent(event: EngineEvent): void
  /** A subscription begins: everything that was missed before it has to be read again. */
  onSubscribe(): void
}

/**
 * Follows the engine's events of our instance for ever. Each subscription begins where the last one ended, and is
 * followed by a full list, so that neither an overflowing event buffer nor a restart of the engine loses anything.
 */
export class Watcher {
  private readonly seen = new SeenEvents()

  constructor(private readonly ports: WatcherPorts) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock, engine, instance, log, onSubscribe } = this.ports
    let since = clock.now() / 1000
    let retryMs = firstRetryMs
    while (!signal.aborted) {
      const beganAt = clock.now()
      // The list comes after the subscription's `since`, so nothing can fall between the two.
      onSubscribe()
      try {
        await engine.events({ [label.instance]: instance }, since, (event) => this.take(event, signal), signal)
      } catch (error) {
        log.debug({ error: String(error) }, 'the event stream could not be opened')
      }
      if (signal.aborted) return
      retryMs = clock.now() - beganAt > steadyMs ? firstRetryMs : Math.min(retryMs * 2, longestRetryMs)
      since = this.seen.resumeAt ?? since
      await clock.sleep(retryMs, signal).catch(() => undefined)
    }
  }

  private take(event: EngineEvent, signal: AbortSignal): void {
    if (!this.seen.add(event)) return
    const at = Number(BigInt(event.timeNano) / 1_000_000n)
    if (event.labels[label.kind] === systemKind) return this.ports.onSystemEvent(event)
    const ended = this.ports.told.hasEnded(event.containerId)
    this.ports.told.byEvent(event, at)
    this.tellProber(event, at)
    // An action's own effects are seen by the pass that follows the action.
    if (this.ports.effects.covers(event.containerName, at)) return
    if (event.action === 'destroy' && ended) void this.nudgeUnlessReplaced(event, at, signal)
    else this.nudge(event)
  }

  private nudge({ action, labels }: EngineEvent): void {
    this.ports.nudges.nudge(resourceOf(labels), `container ${action}`, action === 'die' || action === 'destroy')
  }

  /** Its end was told, so a pass is under way. An action that has begun since sees the removal, and so does the pass after it. */
  private async nudgeUnlessReplaced(event: EngineEvent, at: number, signal: AbortSignal): Promise<void> {
    const { clock, effects } = this.ports
    await clock.sleep(replacedWithinMs, signal).catch(() => undefined)
    if (!signal.aborted && !effects.endsAfter(event.containerName, at)) this.nudge(event)
  }

  private tellProber({ action, containerId }: EngineEvent, at: number): void {
    const { prober } = this.ports
    if (action === 'destroy') prober.forget(containerId)
    else if (action === 'die') prober.ended(containerId, at)
    else if (action === 'start' || action === 'unpause') void this.trackNow(containerId)
  }

  private async trackNow(id: string): Promise<void> {
    const container = await this.ports.engine.inspect(id).catch(() => null)
    if (container) this.ports.prober.track(container)
  }
}

/** More than come within the overlap of two subscriptions. */
const rememberedEvents = 1_024
/** The engine stamps an event before it sends it, so an older stamp may come after a younger one. */
const overlapNano = 1_000_000_000n

/** Tells an event that a new subscription repeats from one that is new. */
class SeenEvents {
  private readonly keys = new Set<string>()
  private newest = 0n

  /** Seconds from which on a new subscription has to begin; null before the first event. */
  get resumeAt(): number | null {
    return this.newest === 0n ? null : Number(this.newest - overlapNano) / 1e9
  }

  /** False for one that was seen before. */
  add({ timeNano, containerId, action }: EngineEvent): boolean {
    const key = `${timeNano} ${containerId} ${action}`
    if (this.keys.has(key)) return false
    this.keys.add(key)
    const [oldest] = this.keys
    if (this.keys.size > rememberedEvents && oldest !== undefined) this.keys.delete(oldest)
    if (BigInt(timeNano) > this.newest) this.newest = BigInt(timeNano)
    return true
  }
}
