import type { EngineContainer } from '../adapters/docker/engine.js'
import { probeSchema, type Probe } from '../reconcile/action.js'
import { label } from '../reconcile/labels.js'
import { abortable } from './abortable.js'
import type { Clock, ProbeState, Readiness, ResourceRef } from './ports.js'
import type { RunProbe } from './probe.js'
import { Pulse } from './pulse.js'
import { staleAfterMs } from './staleness.js'
import { Turns } from './turns.js'

/** A container that is not ready is asked again after this, then half as long again each time, up to its interval. */
const firstRetryMs = 25
/** Starting a command in a container costs the engine far more than a connection costs the node. */
const firstExecRetryMs = 500
const retryGrowth = 1.5
/** The same as Docker's start interval: who asks seldom wants that of a container that serves, and its start-up budget runs meanwhile. */
const startRetryMostMs = 5_000
/** Probes on the way at once; more wait for a place. */
const mostAtOnce = 64
const endsKept = 1_024

export interface ProberOptions {
  run: RunProbe
  clock: Pick<Clock, 'now'>
  /** Readiness or liveness of one of the resource's containers changed, and nobody who waits for it will tell. */
  onChange(resource: ResourceRef, why: string): void
}

/** One run of one container: a restart begins a new one. */
interface Target {
  id: string
  name: string
  startedAt: number
  address: string
  /** null: nobody asks whether it is ready. */
  probe: Probe | null
  /** null: nobody asks whether it lives. */
  pulse: Pulse | null
  resource: ResourceRef
  ready: boolean | null
  /** At any time of this run. */
  wasReady: boolean
  message: string
  /** When the newest probe that has ended began: what it says is as old as that. */
  askedAt: number | null
  failures: number
  retryMs: number
  timer: NodeJS.Timeout | null
  waiters: Set<(ready: boolean) => void>
  /** Its run is over; kept so that an older report of the same run does not revive it. */
  ended: boolean
}

/**
 * Knows for each container with a probe label whether it is ready, and for each with a liveness label whether it lives.
 * Readiness only routes, liveness only restarts. Everything is rebuilt from labels, so the prober keeps nothing on disk.
 */
export class Prober implements Readiness {
  private readonly targets = new Map<string, Target>()
  /** Names of containers of which somebody else tells that they turned ready. */
  private readonly expected = new Set<string>()
  /** When containers ended lately: a report that was read before an end may come after it. */
  private readonly ends = new Map<string, number>()
  private readonly bornAt: number
  private readonly turns = new Turns(mostAtOnce)

  constructor(private readonly options: ProberOptions) {
    this.bornAt = options.clock.now()
  }

  track(container: EngineContainer): void {
    const { id, state, startedAt, address } = container
    const known = this.targets.get(id)
    if (state !== 'running' || startedAt === null || address === null) {
      // A paused one may go on any moment, and nothing of its run would tell that it did.
      if (known && state !== 'running' && state !== 'paused' && (startedAt ?? 0) >= known.startedAt) this.end(known)
      return
    }
    if (known && known.startedAt >= startedAt) return
    if ((this.ends.get(id) ?? 0) >= startedAt) return
    const probe = probeOf(container, label.probe)
    const liveness = probeOf(container, label.liveness)
    if (probe || liveness) this.begin(container, { probe, liveness }, startedAt, address)
  }

  stateOf(container: EngineContainer): ProbeState {
    return { ...this.readinessOf(container), ...this.livenessOf(container) }
  }

  private livenessOf({ id, labels, state, startedAt }: EngineContainer): Pick<ProbeState, 'live' | 'liveMessage'> {
    if (labels[label.liveness] === undefined) return {}
    const known = this.targets.get(id)
    const present = state === 'running' && known && !known.ended && known.startedAt === startedAt
    return (present && known.pulse?.state) || { live: null, liveMessage: 'not probed yet' }
  }

  private readinessOf(container: EngineContainer): ProbeState {
    if (container.labels[label.probe] === undefined) return { ready: null, message: 'it has no probe' }
    const known = this.targets.get(container.id)
    if (container.state !== 'running') return { ready: false, message: `it is ${container.state}` }
    if (known && known.startedAt === container.startedAt)
      return { ready: known.ready, message: known.message, ...(this.fresh(known) ? {} : { asked: false }) }
    return { ready: this.firstVerdict(container.startedAt), message: 'not probed yet', asked: false }
  }

  /** An agent that was stopped for a while (frozen, or a machine that slept) has a verdict, but an old one: nobody may be given up for it. */
  private fresh({ askedAt, probe }: Target): boolean {
    return probe === null || (askedAt !== null && this.options.clock.now() - askedAt <= staleAfterMs(probe))
  }

  expectReady(name: string): () => void {
    this.expected.add(name)
    return () => void this.expected.delete(name)
  }

  async awaitReady(container: EngineContainer, ms: number, signal: AbortSignal): Promise<boolean> {
    this.track(container)
    const target = this.targets.get(container.id)
    if (!target?.probe || target.ended || target.startedAt !== container.startedAt) return false
    if (target.ready === true) return true
    let tell!: (ready: boolean) => void
    const told = new Promise<boolean>((resolve) => (tell = resolve))
    const timer = setTimeout(() => tell(false), ms)
    target.waiters.add(tell)
    try {
      return await abortable(told, signal)
    } finally {
      clearTimeout(timer)
      target.waiters.delete(tell)
    }
  }

  /** The container's main process ended at `at` (the node's clock). */
  ended(id: string, at: number): void {
    this.ends.delete(id)
    this.ends.set(id, at)
    const [oldest] = this.ends.keys()
    if (this.ends.size > endsKept && oldest !== undefined) this.ends.delete(oldest)
    const known = this.targets.get(id)
    if (known && at >= known.startedAt) this.end(known)
  }

  forget(id: string): void {
    const known = this.targets.get(id)
    if (!known) return
    this.end(known)
    this.targets.delete(id)
  }

  /** Forgets what is not among `ids`: all containers that existed at `asOf`. What started later is not judged. */
  keepOnly(ids: Set<string>, asOf: number): void {
    for (const { id, startedAt } of this.targets.values()) if (!ids.has(id) && startedAt < asOf) this.forget(id)
  }

  knows(id: string): boolean {
    return this.targets.has(id)
  }

  stop(): void {
    for (const id of this.targets.keys()) this.forget(id)
  }

  private begin(
    container: EngineContainer,
    { probe, liveness }: { probe: Probe | null; liveness: Probe | null },
    startedAt: number,
    address: string,
  ): void {
    const known = this.targets.get(container.id)
    if (known) this.end(known)
    const target: Target = {
      id: container.id,
      name: container.name,
      startedAt,
      address,
      probe,
      pulse: null,
      resource: { kind: container.labels[label.kind] ?? '', resource: container.labels[label.resource] ?? '' },
      ready: this.firstVerdict(startedAt),
      wasReady: false,
      message: 'not probed yet',
      askedAt: null,
      failures: 0,
      retryMs: firstRetryOf(probe),
      timer: null,
      waiters: new Set(),
      ended: false,
    }
    target.pulse = liveness && this.pulseOf(target, liveness)
    this.targets.set(container.id, target)
    if (probe) this.due(target, probe)
    if (!probe || this.readyBefore(container, startedAt)) target.pulse?.begin()
  }

  private pulseOf(target: Target, probe: Probe): Pulse {
    const { run, clock, onChange } = this.options
    return new Pulse({
      probe,
      clock,
      turns: this.turns,
      ask: () => run(target, probe),
      onChange: (live) => onChange(target.resource, live ? 'a container lives after all' : 'a container hangs'),
    })
  }

  /**
   * A container gets its restart policy at its first Ready, so that one of a run which is older than this agent was ready
   * once, as far as anybody can tell; hanging since, it would never be ready again for us to see.
   */
  private readyBefore({ restartPolicy }: EngineContainer, startedAt: number): boolean {
    return startedAt < this.bornAt && restartPolicy === 'unless-stopped'
  }

  /** Whether an older container was ready before this agent started, nobody knows; a younger one has to prove it first. */
  private firstVerdict(startedAt: number | null): boolean | null {
    return startedAt !== null && startedAt < this.bornAt ? null : false
  }

  /** Needs no nudge: whoever saw the end tells it. */
  private end(target: Target): void {
    if (target.ended) return
    target.ended = true
    target.pulse?.end()
    if (target.timer) clearTimeout(target.timer)
    for (const tell of target.waiters) tell(false)
    target.ready = false
    target.message = 'it ended'
  }

  private due(target: Target, probe: Probe): void {
    target.timer = null
    this.turns.take(() => this.round(target, probe))
  }

  private async round(target: Target, probe: Probe): Promise<void> {
    if (target.ended) return
    const beganAt = this.options.clock.now()
    const result = await this.options.run(target, probe).catch((error: Error) => ({ ok: false, message: error.message }))
    if (target.ended) return
    target.askedAt = beganAt
    this.settle(target, probe, result.ok, result.message)
    this.schedule(target, probe)
  }

  private settle(target: Target, { failureThreshold }: Probe, ok: boolean, message: string): void {
    target.message = message
    target.failures = ok ? 0 : target.failures + 1
    if (ok) this.turn(target, true)
    else if (target.ready !== false && target.failures >= failureThreshold) this.turn(target, false)
  }

  private turn(target: Target, ready: boolean): void {
    if (target.ready === ready) return
    target.ready = ready
    target.wasReady ||= ready
    target.retryMs = firstRetryOf(target.probe)
    if (ready) target.pulse?.begin()
    const waited = ready && (target.waiters.size > 0 || this.expected.has(target.name))
    for (const tell of target.waiters) if (ready) tell(true)
    if (!waited) this.options.onChange(target.resource, ready ? 'a container turned ready' : 'a container turned unready')
  }

  private schedule(target: Target, probe: Probe): void {
    const { intervalMs } = probe
    let delay = intervalMs
    if (target.ready === false) {
      const most = target.wasReady ? intervalMs : Math.min(intervalMs, startRetryMostMs)
      delay = Math.min(target.retryMs, most)
      target.retryMs = Math.min(target.retryMs * retryGrowth, most)
    }
    target.timer = setTimeout(() => this.due(target, probe), delay)
    target.timer.unref()
  }
}

function firstRetryOf(probe: Probe | null): number {
  return probe?.kind === 'exec' ? firstExecRetryMs : firstRetryMs
}

/** The probe that a container's label asks for; a label that cannot be read is as good as none. */
function probeOf({ labels }: EngineContainer, name: string): Probe | null {
  const text = labels[name]
  if (text === undefined) return null
  try {
    return probeSchema.parse(JSON.parse(text))
  } catch {
    return null
  }
}
