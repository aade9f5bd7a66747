import type { Action, Settled } from './action.js'
import type { Failure } from './backoff.js'
import type { ConditionDraft } from './condition.js'
import type { Observation, ObserveRequest } from './observed.js'

/** The part of a resource that every kind has. */
export interface ResourceView {
  id: string
  kind: string
  projectId: string
  /** The project's name, part of DNS names. */
  project: string
  name: string
  generation: number
  deleting: boolean
}

/** An action that was started by an earlier pass and has not settled. */
export interface InFlight {
  key: string
  verb: string
  container: string | null
  supersedable: boolean
  generation: number
}

export interface PlanInput<Desired> {
  /** Id of this Evenkeel instance. */
  instance: string
  resource: ResourceView
  desired: Desired
  observed: Observation[]
  inFlight: InFlight[]
  /** Actions that settled since the last plan; empty when plan is called again within a pass. */
  settled: Settled[]
  /** By key, of the current generation only. */
  failures: Map<string, Failure>
  /** Keys that a person cancelled for the current generation. */
  holds: Set<string>
  /** The control plane's clock, milliseconds since the epoch. */
  now: number
  /** The history is nearly full: only un-routing, stopping and repairing are welcome. */
  quiet: boolean
}

/**
 * What follows from desired and observed. `records` are facts to be written down (a release, an address, a verdict);
 * while there are any, they are applied and plan is called again in the same pass, so that a plan's actions
 * always rest on what is already written.
 */
export interface Plan<Record> {
  records: Record[]
  /** All actions that are wanted now; what may start is decided by `admit`. */
  actions: Action[]
  conditions: ConditionDraft[]
  /** When to look again without being told; null = the resync timer is enough. */
  requeueAfterMs: number | null
  /** Keys of failures that say nothing any more, because what failed is not wanted and will not be. */
  forgets?: string[]
  /** Deleted, and nothing of it was observed anywhere. */
  finalize: boolean
}

/**
 * A kind's pure core. Named as in the re-implemented system: its `name` in logs and look-ups is `<kind>/<name>`.
 * Everything is a pure function: no I/O, clock or randomness.
 */
export interface Controller<Desired, Record> {
  kind: string
  /** What has to be read, node by node, before a plan can be made. */
  observeRequests(resource: ResourceView, desired: Desired): ObserveRequest[]
  plan(input: PlanInput<Desired>): Plan<Record>
  /** Whether the record is news for other resources, which then look at it in passes of their own. Absent = none is. */
  concernsOthers?(record: Record): boolean
  /** `desired` after `record` was written; for a record that asks for an address, the given one is used. */
  applyRecord(desired: Desired, record: Record, allocated: Allocation): Desired
}

/** What only the store can give a record: the next free address of a node's network. */
export interface Allocation {
  address: string | null
  now: number
}

/** Controller.Name: stable over restarts; renames of a resource are refused, so it never changes. */
export function controllerName(kind: string, name: string): string {
  return `${kind}/${name}`
}
