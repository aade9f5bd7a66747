import { signPayload, type SigningKey } from '../src/adapters/crypto/signing.js'
import type { EventDraft, OpenPass, PassOutcome, PassStore } from '../src/persistence/pass-store.js'
import type { Action, Settled } from '../src/reconcile/action.js'
import { admit } from '../src/reconcile/admission.js'
import { currentFailures, nextFailure, type Failure } from '../src/reconcile/backoff.js'
import { mergeCondition, type ConditionChange, type ConditionDraft } from '../src/reconcile/condition.js'
import type { Plan } from '../src/reconcile/controller.js'
import { controllerOf } from '../src/reconcile/controllers.js'
import type { DecideInput, Decision, StartedAction } from '../src/reconcile/loop.js'
import type { Observation } from '../src/reconcile/observed.js'

export interface DecideContext {
  instance: string
  store: PassStore
  signingKey: SigningKey
  /** The control plane's clock, milliseconds since the epoch. */
  clock(): number
}

/** An action may begin this long after its time-out ran out, and no later (design §3.8). */
const signedGraceMs = 30_000
/** A plan that still asks for records after this many rounds contradicts itself. */
const roundsMost = 64
/** The sweep looks after a resource whose own timer should have fired this long ago. */
const overdueMs = 15_000
/** Longer than the loop's resync timer with its jitter. */
const resyncDueMs = 4_200_000
/**
 * While actions run, the sweep looks after a resource this often: their end may have nobody to report to, because the
 * run was cancelled or Temporal was lost, and the row does not tell that its work was left half done.
 */
const busyDueMs = 60_000

/** `observed` null = nobody was asked, because the resource was paused when the pass was claimed. */
export type PassToDecide = Omit<DecideInput, 'observed'> & { observed: Observation[] | null }

/** One pass's decision: plan until no record is asked for, then admit, sign and describe. */
export async function decidePass(context: DecideContext, id: string, input: PassToDecide): Promise<Decision> {
  const now = context.clock()
  const decided = await context.store.decide(id, input.pass, now, (open) => outcomeOf(context, open, input, now))
  return decided === 'superseded' ? supersededDecision : decided
}

const supersededDecision: Decision = {
  superseded: true,
  generation: 0,
  start: [],
  cancel: [],
  requeueAfterMs: null,
  finalized: false,
  paused: false,
  ready: 'Unknown',
  reason: 'Superseded',
  summary: [],
}

async function outcomeOf(
  context: DecideContext,
  open: OpenPass,
  input: PassToDecide,
  now: number,
): Promise<PassOutcome | 'superseded'> {
  const { resource } = open
  const failures = failuresAfter(open.failures, input.settled, resource.generation, now)
  const events = failureEvents(input.settled)
  if (open.paused) return pausedOutcome(open, failures, events, now)
  const { observed } = input
  if (observed === null) return 'superseded' // resumed in this moment: a plan without a look would take what runs for gone

  const planned = await planUntilWritten(context, open, { ...input, observed }, failures.all, now)
  events.push(...planned.events)
  const { plan } = planned
  forget(failures, plan.forgets ?? [])
  const admission = admit({
    wanted: plan.actions,
    inFlight: input.inFlight,
    failures: currentFailures(failures.all, resource.generation),
    holds: open.holds,
    generation: resource.generation,
    now,
  })
  const conditions = plan.conditions.map((draft) => merged(open, draft, now))
  const requeueAfterMs = earliest(plan.requeueAfterMs, admission.retryAfterMs)
  const busy = admission.start.length > 0 || input.inFlight.length > 0
  events.push(...transitionEvents(conditions))
  return {
    decision: {
      superseded: false,
      generation: resource.generation,
      start: admission.start.map((action) => signed(context, open, input.pass, action, now)),
      cancel: admission.cancel,
      requeueAfterMs,
      finalized: plan.finalize,
      paused: false,
      ...(planned.concernsOthers || conditions.some((c) => isNewsOfReady(open, c)) ? { wakes: true } : {}),
      ...described(plan.conditions),
    },
    conditions,
    droppedConditions: open.conditions.map((c) => c.type).filter((t) => !plan.conditions.some((c) => c.type === t)),
    failures: failures.changes,
    events,
    lastError: lastErrorOf(failures.all),
    nextPassDueAt: now + Math.min(requeueAfterMs ?? resyncDueMs, busy ? busyDueMs : Infinity) + overdueMs,
    observedGeneration: resource.generation,
    concernsOthers: planned.concernsOthers,
    finalize: plan.finalize,
  }
}

async function planUntilWritten(
  context: DecideContext,
  open: OpenPass,
  input: DecideInput,
  failures: Failure[],
  now: number,
): Promise<{ plan: Plan<unknown>; events: EventDraft[]; concernsOthers: boolean }> {
  const controller = controllerOf(open.resource.kind)
  if (!controller) throw new Error(`no controller for kind ${open.resource.kind}`)
  const events: EventDraft[] = []
  let concernsOthers = false
  let desired = open.desired
  for (let round = 0; round < roundsMost; round++) {
    const plan = controller.plan({
      instance: context.instance,
      resource: open.resource,
      desired,
      observed: input.observed,
      inFlight: input.inFlight,
      settled: input.settled,
      failures: currentFailures(failures, open.resource.generation),
      holds: open.holds,
      now,
      quiet: input.quiet,
    })
    if (plan.records.length === 0) return { plan, events, concernsOthers }
    concernsOthers ||= plan.records.some((record) => controller.concernsOthers?.(record))
    events.push(...plan.records.flatMap(recordEvents))
    desired = await open.write(plan.records)
  }
  throw new Error(`the plan of ${open.resource.id} asked for new records ${roundsMost} times in one pass: its rules contradict each other`)
}

/** Failure records after what has just settled: success clears a key, failure counts on; what an older generation started does not count. */
function failuresAfter(previous: Failure[], settled: Settled[], generation: number, now: number) {
  const byKey = new Map(previous.map((f) => [f.key, f]))
  const set = new Map<string, Failure>()
  const cleared = new Set(previous.filter((f) => f.generation !== generation).map((f) => f.key))
  for (const key of cleared) byKey.delete(key)
  for (const outcome of settled) {
    if (outcome.ok) {
      if (byKey.delete(outcome.key)) cleared.add(outcome.key)
      set.delete(outcome.key)
    } else if (!outcome.cancelled && outcome.generation === generation) {
      const { key, reason, message, retryable } = outcome
      const failure = nextFailure(byKey.get(key), { key, reason, message, retryable }, generation, now)
      byKey.set(key, failure)
      set.set(key, failure)
      cleared.delete(key)
    }
  }
  return { all: [...byKey.values()], changes: { set: [...set.values()], cleared: [...cleared] } }
}

function forget(failures: ReturnType<typeof failuresAfter>, keys: string[]): void {
  const gone = new Set(keys)
  failures.all = failures.all.filter((f) => !gone.has(f.key))
  failures.changes.set = failures.changes.set.filter((f) => !gone.has(f.key))
  failures.changes.cleared.push(...gone)
}

function pausedOutcome(open: OpenPass, failures: ReturnType<typeof failuresAfter>, events: EventDraft[], now: number): PassOutcome {
  return {
    decision: {
      superseded: false,
      generation: open.resource.generation,
      start: [],
      cancel: [],
      requeueAfterMs: null,
      finalized: false,
      paused: true,
      ...described(open.conditions),
    },
    conditions: [],
    droppedConditions: [],
    failures: failures.changes,
    events,
    lastError: lastErrorOf(failures.all),
    nextPassDueAt: now + resyncDueMs,
    observedGeneration: null,
    finalize: false,
  }
}

function signed(context: DecideContext, open: OpenPass, pass: number, action: Action, now: number): StartedAction {
  const { args, ...header } = action
  const payload = {
    instance: context.instance,
    node: action.node,
    kind: open.resource.kind,
    resource: open.resource.id,
    key: action.key,
    generation: open.resource.generation,
    pass,
    verb: action.verb,
    args,
    container: action.container,
    signedAt: now,
    notAfter: now + action.timeoutSeconds * 1_000 + signedGraceMs,
  }
  return { header, signed: signPayload(payload, context.signingKey) }
}

function merged(open: OpenPass, draft: ConditionDraft, now: number): ConditionChange {
  return mergeCondition(open.conditions.find((c) => c.type === draft.type), draft, open.resource.generation, now)
}

/** Who waits may begin, or has another reason to tell why it waits: most of all that there is nothing more to wait for. */
function isNewsOfReady(open: OpenPass, { changed, condition }: ConditionChange): boolean {
  if (!changed || condition.type !== 'Ready') return false
  return condition.status === 'True' || condition.reason !== open.conditions.find((c) => c.type === 'Ready')?.reason
}

function described(conditions: ConditionDraft[]): Pick<Decision, 'ready' | 'reason' | 'summary'> {
  const ready = conditions.find((c) => c.type === 'Ready')
  return {
    ready: ready?.status ?? 'Unknown',
    reason: ready?.reason ?? 'NotLookedYet',
    summary: conditions.map((c) => `${c.type} ${c.status} (${c.reason})${c.message ? `: ${c.message}` : ''}`),
  }
}

function failureEvents(settled: Settled[]): EventDraft[] {
  return settled.flatMap((s): EventDraft[] =>
    s.ok ? [] : [{ severity: s.cancelled ? 'Normal' : 'Warning', reason: s.reason, message: `${s.key}: ${s.message}` }],
  )
}

/** A change of Ready is news for people; the other conditions have their transitions. */
function transitionEvents(changes: ConditionChange[]): EventDraft[] {
  return changes
    .filter((c) => c.transitioned && c.condition.type === 'Ready')
    .map(({ condition }): EventDraft => ({
      severity: condition.status === 'True' ? 'Normal' : 'Warning',
      reason: condition.reason,
      message: `Ready is ${condition.status}: ${condition.message}`,
    }))
}

function recordEvents(record: unknown): EventDraft[] {
  const r = record as { type: string; release?: unknown; host?: unknown; reason?: string; message?: string }
  if (r.type === 'release') {
    const { number, resolvedImage } = r.release as { number: number; resolvedImage: string }
    return [{ severity: 'Normal', reason: 'ReleaseCreated', message: `release ${number} runs ${resolvedImage}` }]
  }
  if (r.type === 'verdict') return [{ severity: 'Warning', reason: r.reason ?? 'ReleaseFailed', message: `release ${String(r.release)} was given up: ${r.message}` }]
  if (r.type === 'refused') return [{ severity: 'Warning', reason: 'Refused', message: `${String(r.host)}: ${r.message}` }]
  if (r.type === 'serving') return [{ severity: 'Normal', reason: 'ReleaseServing', message: `release ${String(r.release)} serves` }]
  return []
}

function lastErrorOf(failures: Failure[]): string | null {
  const worst = failures.toSorted((a, b) => b.nextTryAt - a.nextTryAt || (a.key < b.key ? -1 : 1))[0]
  return worst ? `${worst.key}: ${worst.reason}: ${worst.message}` : null
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}
