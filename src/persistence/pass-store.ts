import type { Failure } from '../reconcile/backoff.js'
import type { Condition, ConditionChange } from '../reconcile/condition.js'
import type { ResourceView } from '../reconcile/controller.js'
import type { Decision } from '../reconcile/loop.js'

/**
 * Where passes are claimed and their results written. Two implementations, PostgreSQL and the simulation's memory;
 * one contract suite runs against both.
 */
export interface PassStore {
  /** Claims the next pass of a resource and returns what is desired; null when the resource does not exist. */
  claim(id: string): Promise<ClaimedPass | null>
  /** The same without claiming anything, for a preview. */
  peek(id: string): Promise<ClaimedPass | null>
  /** What would be desired of an application that does not exist; null when the project does not exist. */
  draft(projectId: string, name: string, spec: unknown): Promise<ClaimedPass | null>
  /**
   * Runs `step` in one transaction that holds the resource's row. Where the row no longer says `pass`, nothing is run and
   * 'superseded' is the answer; where this pass was decided already, its stored decision is. A step that answers
   * 'superseded' itself must have written nothing.
   */
  decide(id: string, pass: number, now: number, step: PassStep): Promise<Decision | 'superseded'>
  /** Who has to look when this one has news: what depends on it, the ingresses of its domains, and owners of domains that an ingress told of. */
  dependants(id: string): Promise<DueResource[]>
  /** Resources that should be nudged: out of step, being deleted, or past their due time; ascending by id, after `after`. */
  due(after: string, limit: number, now: number): Promise<DueResource[]>
  /** Removes what has been kept long enough: tombstones, events, idempotency keys, configurations. */
  keepHouse(now: number): Promise<void>
}

export type PassStep = (open: OpenPass) => Promise<PassOutcome | 'superseded'>

export interface DueResource {
  id: string
  kind: string
  project: string
  name: string
}

export interface NodeState {
  id: string
  name: string
  /** The control plane's clock; null = never seen. */
  lastSeenAt: number | null
}

export interface ClaimedPass {
  pass: number
  resource: ResourceView
  desired: unknown
  paused: boolean
  nodes: NodeState[]
}

export interface OpenPass {
  resource: ResourceView
  desired: unknown
  paused: boolean
  failures: Failure[]
  /** Keys that a person cancelled for the current generation. */
  holds: Set<string>
  conditions: Condition[]
  /** Writes records of the kind and returns what is desired after them. */
  write(records: unknown[]): Promise<unknown>
}

export interface EventDraft {
  severity: 'Normal' | 'Warning'
  reason: string
  message: string
}

/** What one pass leaves behind. */
export interface PassOutcome {
  decision: Decision
  conditions: ConditionChange[]
  /** Types that were recorded and are reported no longer. */
  droppedConditions: string[]
  failures: { set: Failure[]; cleared: string[] }
  events: EventDraft[]
  lastError: string | null
  nextPassDueAt: number
  /** null: the generation was not looked at, e.g. because the resource is paused. */
  observedGeneration: number | null
  /** What was written is news for resources of other kinds, too. Absent = no. */
  concernsOthers?: boolean
  /** Deletes the row and leaves a tombstone. */
  finalize: boolean
}
