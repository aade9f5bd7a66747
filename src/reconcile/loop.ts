import type { Action, Outcome, Settled } from './action.js'
import { backoffMs } from './backoff.js'
import type { InFlight } from './controller.js'
import type { Observation, ObserveRequest } from './observed.js'

/**
 * The one loop that every resource has, as a function over injected ports: the workflow and the simulator run exactly
 * this code. It keeps no truth: what it holds in memory are the actions that are running and those that have just
 * ended; everything else is read again in each pass.
 */

/** A snapshot of what is desired, with the number of the pass that claimed it. */
export interface LoadedResource {
  pass: number
  generation: number
  observe: ObserveRequest[]
  /** Nodes whose heartbeat is stale: they are not asked. */
  away: { node: string; message: string }[]
}

/** An action as the control plane signed it: exact bytes, so that the agent parses only what it verified. */
export interface SignedAction {
  /** JSON text of the signed payload. */
  payload: string
  keyId: string
  /** Base64 of the Ed25519 signature over the payload's bytes. */
  signature: string
}

/** What a started action is known by to the loop; the signed text says the same to the agent. */
export type ActionHeader = Pick<
  Action,
  'key' | 'verb' | 'node' | 'queue' | 'container' | 'timeoutSeconds' | 'supersedable' | 'summary'
>

export interface StartedAction {
  header: ActionHeader
  signed: SignedAction
}

export interface DecideInput {
  pass: number
  observed: Observation[]
  inFlight: InFlight[]
  settled: Settled[]
  quiet: boolean
}

/** Small enough for a history, complete enough for an operator's glance. */
export interface Decision {
  /** Another pass was claimed meanwhile: nothing was written, look again. */
  superseded: boolean
  generation: number
  start: StartedAction[]
  cancel: string[]
  requeueAfterMs: number | null
  /** The row is gone; the loop ends when nothing is in flight. */
  finalized: boolean
  paused: boolean
  /** For the Temporal UI: `Ready`'s status and reason, and one line a condition. */
  ready: string
  reason: string
  summary: string[]
}

/** A running action: `settled` never rejects. */
export interface RunningAction {
  settled: Promise<Outcome>
  cancel(): void
}

export interface LoopPorts {
  /** null: the resource does not exist any more. */
  loadDesired(): Promise<LoadedResource | null>
  observe(request: ObserveRequest): Promise<Observation>
  decide(input: DecideInput): Promise<Decision>
  start(action: StartedAction): RunningAction
  /** Clears the nudge flag; called before observing, so that a nudge during a pass costs one more pass. */
  clearDirty(): void
  /** Returns when `woken()` holds, a nudge came, or after `ms`. */
  wait(woken: () => boolean, ms: number, why: string): Promise<void>
  /** Tells operators that a pass failed; the loop backs off and goes on. */
  failed(message: string): void
  /** Tells operators what was decided. */
  report(decision: Decision, inFlight: InFlight[]): void
  /** Resync interval with its jitter, in milliseconds. */
  resyncMs(): number
  /** `idle`: end this run when nothing is in flight. `quiet`: also plan nothing new. `none`: go on. */
  pressure(): 'none' | 'idle' | 'quiet'
  /** A person cancelled the run: let what is in flight settle, then stop. */
  stopping(): boolean
}

/** Why a run of the loop ended. `again` = continue as new. */
export type LoopEnd = 'finalized' | 'again' | 'stopped'

interface Running extends RunningAction {
  state: InFlight
}

/** Runs passes until the resource is gone, the run has grown old, or it is stopped. `failures` = failed passes in a row before this run. */
export async function reconcileLoop(ports: LoopPorts, failures: { count: number }): Promise<LoopEnd> {
  const running = new Map<string, Running>()
  let ended: Settled[] = []

  for (;;) {
    if (ports.stopping()) return await settleAll(running, 'stopped')
    ports.clearDirty()
    let waitMs: number
    let why: string
    try {
      const loaded = await ports.loadDesired()
      if (loaded === null) return await settleAll(running, 'finalized')
      const told = ended
      const decision = await pass(ports, loaded, running, told)
      ended = ended.slice(told.length)
      failures.count = 0
      if (decision.superseded) continue
      for (const key of decision.cancel) running.get(key)?.cancel()
      for (const action of decision.start) {
        running.set(action.header.key, track(ports, action, decision.generation, running, (s) => (ended = [...ended, s])))
      }
      ports.report(decision, inFlightOf(running))
      if (decision.finalized) return await settleAll(running, 'finalized')
      waitMs = Math.min(decision.requeueAfterMs ?? Infinity, ports.resyncMs())
      why = running.size > 0 ? [...running.values()].map((r) => r.state.key).join(', ') : 'a change, or the resync'
    } catch (error) {
      failures.count++
      const message = error instanceof Error ? error.message : String(error)
      ports.failed(message)
      waitMs = backoffMs(failures.count)
      why = `the next try after: ${message}`
    }
    if (ports.pressure() !== 'none' && running.size === 0 && ended.length === 0) return 'again'
    await ports.wait(() => ended.length > 0 || ports.stopping(), waitMs, why)
  }
}

async function pass(
  ports: LoopPorts,
  loaded: LoadedResource,
  running: Map<string, Running>,
  settled: Settled[],
): Promise<Decision> {
  const away = new Map(loaded.away.map((a) => [a.node, a.message]))
  const observed = await Promise.all(
    loaded.observe.map((request): Promise<Observation> => {
      const message = away.get(request.node)
      return message === undefined
        ? ports.observe(request)
        : Promise.resolve({ node: request.node, unreachable: 'NodeAway', message })
    }),
  )
  return ports.decide({
    pass: loaded.pass,
    observed,
    inFlight: inFlightOf(running),
    settled,
    quiet: ports.pressure() === 'quiet',
  })
}

function track(
  ports: LoopPorts,
  action: StartedAction,
  generation: number,
  running: Map<string, Running>,
  onSettled: (settled: Settled) => void,
): Running {
  const { key, verb, container, supersedable } = action.header
  const started = ports.start(action)
  const settled = started.settled.then((result) => {
    running.delete(key)
    onSettled({ ...result, generation })
    return result
  })
  return { settled, cancel: () => started.cancel(), state: { key, verb, container, supersedable, generation } }
}

function inFlightOf(running: Map<string, Running>): InFlight[] {
  return [...running.values()].map((r) => r.state)
}

/** Nothing may end with actions in flight: their effects would race the next run's. */
async function settleAll(running: Map<string, Running>, end: LoopEnd): Promise<LoopEnd> {
  await Promise.all([...running.values()].map((r) => r.settled))
  return end
}
