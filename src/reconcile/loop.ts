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

/** What the loop knows when a pass begins. */
export interface PassInput {
  inFlight: InFlight[]
  settled: Settled[]
  quiet: boolean
}

export interface BeginInput extends PassInput {
  /** What actions saw when they had ended, if nothing was told to have changed since. */
  seen: Observation[]
}

export interface DecideInput extends PassInput {
  pass: number
  observed: Observation[]
}

/** A claimed pass; decided already when what was seen covered all that has to be observed. */
export interface Begun {
  loaded: LoadedResource
  decision: Decision | null
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
  /** It has become Ready, or is not for another reason: whoever waits for it looks again. Absent = no. */
  wakes?: boolean
  /** For the Temporal UI: `Ready`'s status and reason, and one line a condition. */
  ready: string
  reason: string
  summary: string[]
}

/** How an action ended, and what its agent saw for the resource right after it; null when it saw nothing. */
export interface ActionEnd {
  outcome: Outcome
  seen: Observation | null
}

/** A running action: `ended` never rejects. */
export interface RunningAction {
  ended: Promise<ActionEnd>
  cancel(): void
}

export interface LoopPorts {
  /** Claims a pass, and decides it at once when `seen` covers what has to be observed. null: the resource does not exist any more. */
  begin(input: BeginInput): Promise<Begun | null>
  observe(request: ObserveRequest): Promise<Observation>
  decide(input: DecideInput): Promise<Decision>
  /** `look` is what the agent reads when the action has ended; null when its node was not among those observed. */
  start(action: StartedAction, look: ObserveRequest | null): RunningAction
  /** Clears the nudge flag and answers whether it was set; called before observing, so that a nudge during a pass costs one more pass. */
  takeDirty(): boolean
  /** Returns when `woken()` holds, a nudge came, or after `ms`; null = no timer, something that runs will wake the loop. */
  wait(woken: () => boolean, ms: number | null, why: string): Promise<void>
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

interface Running {
  state: InFlight
  ended: Promise<void>
  cancel(): void
}

/** What the loop holds in memory between passes. */
interface Memory {
  running: Map<string, Running>
  settled: Settled[]
  /** By node: what the action that ended last there saw, or null when it saw nothing. */
  seen: Map<string, Observation | null>
  /** By node: how often something new became known of it. What an action saw is the newest word only if nothing else did while it ran. */
  news: Map<string, number>
}

/** Runs passes until the resource is gone, the run has grown old, or it is stopped. `failures` = failed passes in a row before this run. */
export async function reconcileLoop(ports: LoopPorts, failures: { count: number }): Promise<LoopEnd> {
  const memory: Memory = { running: new Map(), settled: [], seen: new Map(), news: new Map() }
  const { running } = memory

  for (;;) {
    if (ports.stopping()) return await settleAll(running, 'stopped')
    let waitMs: number | null
    let why: string
    let told = 0
    try {
      const passed = await pass(ports, memory)
      if (passed === null) return await settleAll(running, 'finalized')
      const { loaded, decision } = passed
      failures.count = 0
      if (decision.superseded) continue
      for (const key of decision.cancel) running.get(key)?.cancel()
      for (const action of decision.start) start(ports, memory, action, loaded, decision.generation)
      ports.report(decision, inFlightOf(running))
      if (decision.finalized) return await settleAll(running, 'finalized')
      waitMs = waitAfter(ports, decision, running)
      why = whyWaiting(decision, [...running.keys()])
    } catch (error) {
      failures.count++
      const message = error instanceof Error ? error.message : String(error)
      ports.failed(message)
      waitMs = backoffMs(failures.count)
      // What could not be told now is told by the next try, and does not bring it forward; what ends from now on does.
      told = memory.settled.length
      why = `the next try after: ${message}`
    }
    if (ports.pressure() !== 'none' && running.size === 0 && memory.settled.length === 0) return 'again'
    await ports.wait(() => memory.settled.length > told || ports.stopping(), waitMs, why)
  }
}

/** For the operator who looks at the run. */
function whyWaiting({ requeueAfterMs }: Decision, running: string[]): string {
  if (running.length > 0) return running.join(', ')
  return requeueAfterMs === null ? 'a change, or the resync' : `the next look in ${Math.ceil(requeueAfterMs / 1000)} s, or a change`
}

/** Every running action has a time-out of its own, so a wait for one needs a timer only when the plan asks for an earlier look. */
function waitAfter(ports: LoopPorts, decision: Decision, running: Map<string, Running>): number | null {
  if (running.size > 0) return decision.requeueAfterMs
  return Math.min(decision.requeueAfterMs ?? Infinity, ports.resyncMs())
}

async function pass(ports: LoopPorts, memory: Memory): Promise<{ loaded: LoadedResource; decision: Decision } | null> {
  const seen = ports.takeDirty() ? [] : [...memory.seen.values()].filter((o) => o !== null)
  memory.seen.clear()
  const told = memory.settled
  // What ends while this pass observes still counts as running for it: what was seen may be older than its effect.
  const input: PassInput = { inFlight: inFlightOf(memory.running), settled: told, quiet: ports.pressure() === 'quiet' }
  const begun = await ports.begin({ ...input, seen })
  if (begun === null) return null
  const { loaded } = begun
  const observed = begun.decision ? seen : await observe(ports, memory, loaded)
  const decision = begun.decision ?? (await ports.decide({ ...input, pass: loaded.pass, observed }))
  // A superseded pass wrote nothing, so what ended has still to be told.
  if (!decision.superseded) memory.settled = memory.settled.slice(told.length)
  return { loaded: nextLook(loaded, observed), decision }
}

/**
 * What an action's agent looks at when it has ended. A release that this pass has made names an image that its row did not
 * when the pass began: it goes on being looked at. What its tag means is not asked again.
 */
function nextLook(loaded: LoadedResource, seen: Observation[]): LoadedResource {
  const observe = loaded.observe.map(({ resolve: _, ...request }) => {
    const images = seen.flatMap((o) => (o.unreachable === null && o.node === request.node ? Object.keys(o.images) : []))
    return { ...request, images: [...new Set([...request.images, ...images])] }
  })
  return { ...loaded, observe }
}

function observe(ports: LoopPorts, memory: Memory, loaded: LoadedResource): Promise<Observation[]> {
  for (const { node } of loaded.observe) learned(memory, node)
  return observeAll(loaded, (request) => ports.observe(request))
}

/** Looks at all nodes at once; those that are away are not asked. */
export function observeAll(
  { observe, away }: Pick<LoadedResource, 'observe' | 'away'>,
  look: (request: ObserveRequest) => Promise<Observation>,
): Promise<Observation[]> {
  const awayMessages = new Map(away.map((a) => [a.node, a.message]))
  return Promise.all(
    observe.map((request): Promise<Observation> => {
      const message = awayMessages.get(request.node)
      return message === undefined ? look(request) : Promise.resolve({ node: request.node, unreachable: 'NodeAway', message })
    }),
  )
}

function start(ports: LoopPorts, memory: Memory, action: StartedAction, loaded: LoadedResource, generation: number): void {
  const { key, verb, container, supersedable, node } = action.header
  const look = loaded.observe.find((request) => request.node === node) ?? null
  const newsAtStart = memory.news.get(node)
  const started = ports.start(action, look)
  const ended = started.ended.then(({ outcome, seen }) => {
    memory.running.delete(key)
    memory.settled = [...memory.settled, { ...outcome, generation }]
    memory.seen.set(node, memory.news.get(node) === newsAtStart ? seen : null)
    learned(memory, node)
  })
  memory.running.set(key, { ended, cancel: () => started.cancel(), state: { key, verb, container, supersedable, generation } })
}

function learned({ news }: Memory, node: string): void {
  news.set(node, (news.get(node) ?? 0) + 1)
}

function inFlightOf(running: Map<string, Running>): InFlight[] {
  return [...running.values()].map((r) => r.state)
}

/** Nothing may end with actions in flight: their effects would race the next run's. */
async function settleAll(running: Map<string, Running>, end: LoopEnd): Promise<LoopEnd> {
  await Promise.all([...running.values()].map((r) => r.ended))
  return end
}
