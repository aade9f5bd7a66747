import type { Action, ResultOf, Settled, Verb } from './action.js'
import { admit } from './admission.js'
import { nextFailure } from './backoff.js'
import type { Controller, InFlight, Plan, PlanInput } from './controller.js'
import { effect } from './effect.js'
import { withTag } from './name.js'
import type { Observation } from './observed.js'

/** One action of a predicted way to the desired state. */
export interface Step {
  key: string
  verb: Verb
  node: string
  container: string | null
  summary: string
  /** Steps of one pass start together. */
  pass: number
  /** Predicted time from now to its start: what drains has to be waited for. */
  afterMs: number
}

/** How a predicted action ends. `healthy` says whether a container that it starts turns ready at once. */
export type Ending =
  | { ok: true; result: ResultOf[Verb]; healthy: boolean }
  | { ok: false; reason: string; message: string; retryable: boolean }

/** What a running action does in one round: nothing, change the world without an answer yet, or end. */
export type Progress = 'waits' | 'lands' | 'settles'

export interface ConvergeOptions<Desired, Record> {
  endingOf(action: Action, observed: Observation[]): Ending
  /** Address for a record that asks for one; null = the network is exhausted. */
  allocate(number: number): string | null
  /** How the world and people's wishes change by themselves until `now`, and when they next will; null = not at all. */
  evolve(input: PlanInput<Desired>): { input: PlanInput<Desired>; nextAt: number | null }
  progressOf(action: Action): Progress
  /** Sees every plan together with what it was made from, and what it lets start. */
  inspect(input: PlanInput<Desired>, plan: Plan<Record>, started: Action[]): void
  roundsMost: number
}

export interface Convergence<Desired, Record> {
  steps: Step[]
  /** The world at the end. */
  input: PlanInput<Desired>
  plan: Plan<Record>
  /** Nothing is planned, in flight or waited for. */
  complete: boolean
}

/** A plan that still asks for records after this many rounds contradicts itself. */
const recordRoundsMost = 64
/** Longer than any bound that a plan may wait for (an hour of draining or starting). */
const idleMostMs = 2 * 3_600_000
/** Time that a round of actions is taken to last. */
const roundMs = 10

interface Running {
  action: Action
  landed: boolean
  generation: number
}

/**
 * Follows plans through `effect` until nothing is planned: writes records, starts what admission lets start, ends it,
 * and moves a virtual clock to the next time that a plan waits for. What `start` says is in flight is taken to have been
 * lost. Pure; serves the preview and the property tests.
 */
export function converge<Desired, Record>(
  controller: Controller<Desired, Record>,
  start: PlanInput<Desired>,
  options: Partial<ConvergeOptions<Desired, Record>> = {},
): Convergence<Desired, Record> {
  const {
    endingOf = succeeds,
    allocate = fakeAddress,
    evolve = (unchanged) => ({ input: unchanged, nextAt: null }),
    progressOf = () => 'settles',
    inspect,
    roundsMost = 5_000,
  } = options
  const steps: Step[] = []
  const running: Running[] = []
  let input = start
  let allocated = 0
  let idleMs = 0
  let plan: Plan<Record> | undefined

  for (let round = 0; round < roundsMost; round++) {
    const evolved = evolve({ ...input, inFlight: running.map(asInFlight) })
    input = evolved.input
    const decided = planWithRecords(controller, input, () => allocate(allocated++))
    const wrote = decided.input !== input
    input = { ...decided.input, settled: [] }
    plan = decided.plan
    const admission = admit({ ...input, wanted: plan.actions, generation: input.resource.generation })
    inspect?.(input, plan, admission.start)
    if (plan.finalize) return { steps, input, plan, complete: true }

    for (const action of admission.start) {
      running.push({ action, landed: false, generation: input.resource.generation })
      const { key, verb, node, container, summary } = action
      steps.push({ key, verb, node, container, summary, pass: round, afterMs: input.now - start.now })
    }
    for (const key of admission.cancel) remove(running, (r) => r.action.key === key && !r.landed)

    const progress = running.map((r) => progressOf(r.action))
    const waits = [plan.requeueAfterMs, admission.retryAfterMs, evolved.nextAt === null ? null : evolved.nextAt - input.now]
    const waitMs = waits.reduce<number>((least, w) => (w === null ? least : Math.min(least, w)), Infinity)
    const stuck = progress.every((p) => p === 'waits') && waitMs === Infinity
    if (stuck && running.length === 0) return { steps, input, plan, complete: true }
    if (running.length > 0 && (stuck || progress.some((p) => p !== 'waits'))) {
      input = advance(input, running, progress, stuck, endingOf)
      idleMs = 0
    } else {
      idleMs = wrote ? 0 : idleMs + waitMs
      if (idleMs > idleMostMs) break
      input = { ...input, now: input.now + Math.max(waitMs, 1) }
    }
  }
  return { steps, input, plan: plan ?? controller.plan(input), complete: false }
}

/**
 * The steps that would follow now. Taken for granted: every action succeeds, what runs turns ready, open
 * connections end, and actions that are already running start over.
 */
export function preview<Desired, Record>(
  controller: Controller<Desired, Record>,
  input: PlanInput<Desired>,
): Pick<Convergence<Desired, Record>, 'steps' | 'complete' | 'plan'> {
  const { steps, complete, plan } = converge(controller, { ...input, observed: input.observed.map(hopeful) })
  return { steps, complete, plan }
}

function hopeful(observation: Observation): Observation {
  if (observation.unreachable !== null) return observation
  const containers = observation.containers.map((c) =>
    c.state === 'running' && c.probe.ready === false ? { ...c, probe: { ready: true, message: '' } } : c,
  )
  const { observedAt: _, ...timeless } = observation
  return { ...timeless, containers, connections: {} }
}

/** A pass: records are written and plan is asked again until it only wants actions. */
export function planWithRecords<Desired, Record>(
  controller: Controller<Desired, Record>,
  input: PlanInput<Desired>,
  allocate: () => string | null,
): { input: PlanInput<Desired>; plan: Plan<Record> } {
  let decided = input
  for (let round = 0; round < recordRoundsMost; round++) {
    const plan = controller.plan(decided)
    if (plan.records.length === 0) return { input: decided, plan }
    const { now } = decided
    const desired = plan.records.reduce((d, r) => controller.applyRecord(d, r, { address: allocate(), now }), decided.desired)
    decided = { ...decided, desired }
  }
  throw new Error(`the plan of ${input.resource.id} asks for records without end`)
}

function advance<Desired>(
  input: PlanInput<Desired>,
  running: Running[],
  progress: Progress[],
  stuck: boolean,
  endingOf: (action: Action, observed: Observation[]) => Ending,
): PlanInput<Desired> {
  const now = input.now + roundMs
  const settled: Settled[] = []
  const failures = new Map(input.failures)
  let observed = input.observed
  const ended = new Set<Running>()
  running.forEach((r, index) => {
    const step = stuck ? 'settles' : progress[index]
    if (step === 'waits') return
    const { action } = r
    const outcome = endingOf(action, observed)
    if (outcome.ok && !r.landed) {
      observed = effect(observed, action, now, outcome.healthy)
      r.landed = true
    }
    if (step !== 'settles') return
    ended.add(r)
    const { key, verb } = action
    if (outcome.ok) {
      failures.delete(key)
      observed = lookedAfter(observed, action, outcome.result)
      settled.push({ key, verb, ok: true, result: outcome.result, generation: r.generation })
    } else {
      const { reason, message, retryable } = outcome
      const { generation } = r
      if (generation === input.resource.generation)
        failures.set(key, nextFailure(failures.get(key), { key, reason, message, retryable }, generation, now))
      settled.push({ key, verb, ok: false, reason, message, retryable, cancelled: false, generation })
    }
  })
  remove(running, (r) => ended.has(r))
  return { ...input, now, observed, settled: [...input.settled, ...settled], failures }
}

/** An agent that resolved an image also looks whether it is here; until then nobody knows. */
function lookedAfter(observed: Observation[], action: Action, result: ResultOf[Verb]): Observation[] {
  if (action.verb !== 'resolveImage' || !('resolved' in result)) return observed
  const { image } = action.args
  return observed.map((o) =>
    o.unreachable === null && o.node === action.node && !(result.resolved in o.images)
      ? { ...o, images: { ...o.images, [result.resolved]: o.images[image] ?? null } }
      : o,
  )
}

function remove<T>(list: T[], when: (item: T) => boolean): void {
  for (let i = list.length - 1; i >= 0; i--) if (when(list[i] as T)) list.splice(i, 1)
}

function asInFlight({ action, generation }: Running): InFlight {
  const { key, verb, container, supersedable } = action
  return { key, verb, container, supersedable, generation }
}

/** 198.18.0.0/15 is set apart for benchmarks, so a predicted address is never a real one. */
function fakeAddress(number: number): string {
  return `198.18.${Math.floor(number / 256) % 256}.${number % 256}`
}

function succeeds(action: Action): Ending {
  return { ok: true, healthy: true, result: resultOfSuccess(action) }
}

/** What a verb answers when all goes well. A tag is taken for what it resolves to: only its registry knows more. */
export function resultOfSuccess(action: Action): ResultOf[Verb] {
  switch (action.verb) {
    case 'resolveImage':
      return { resolved: withTag(action.args.image), from: 'registry', note: '' }
    case 'pullImage':
      return { imageId: `sha256:${action.args.image}` }
    case 'ensureContainer':
      return { containerId: `id-${action.args.container.name}`, created: true, ready: true }
    case 'retireContainer':
    case 'removeVolume':
      return { removed: true }
    case 'publishEndpoints':
      return { revision: action.args.revision }
    case 'loadIngressConfig':
      return { loaded: action.args.config }
    case 'runToEnd':
      return { exitCode: 0 }
    case 'keepLog':
      return { sha256: null }
    case 'setResources':
    case 'restartContainer':
    case 'setRestartPolicy':
      return {}
  }
}
