import type { Failure } from '../../src/reconcile/backoff.js'
import type { Condition } from '../../src/reconcile/condition.js'
import type { DomainState } from '../../src/reconcile/ingress/desired.js'
import type { Domain } from '../../src/reconcile/ingress/domain.js'
import type { Endpoint, Release } from '../../src/reconcile/application/desired.js'

/** What people's mutations do to the store, and what they can read of it: one face for memory and PostgreSQL. */
export interface DesiredState {
  addNode(node: { id: string; name: string; subnet: string }, now: number): Promise<void>
  /** A heartbeat of the node's agent arrived. */
  seen(nodeId: string, at: number): Promise<void>
  create(resource: NewResource, now: number): Promise<void>
  /** A new generation. What it claims of hosts is what its spec says; every ingress then has to look, as the API's transaction says. */
  change(id: string, spec: unknown, now: number): Promise<void>
  /** Also of what is being deleted already, with another wish for its volumes. */
  requestDeletion(id: string, now: number, removesVolumes?: boolean): Promise<void>
  setPaused(id: string, paused: boolean): Promise<void>
  /** A person cancels an action for the current generation. */
  hold(id: string, key: string): Promise<void>
  /** What a nudge that failed leaves: the sweep looks after the resource. */
  lookSoon(id: string, now: number): Promise<void>
  read(id: string): Promise<StoredResource | null>
  /** Text of an artifact; null when there is none. */
  artifact(sha256: string): Promise<string | null>
  /** It was deleted, and its tombstone stands. */
  buried(id: string): Promise<boolean>
  /** Containers of a deleted resource turned up: it comes back as one that is being deleted. */
  revive(late: { id: string; kind: string; node: string }, now: number): Promise<void>
  /** A node has something of these: those that do not look there begin to, and are due. Answers which. */
  foundOn(node: string, ids: string[], now: number): Promise<string[]>
  /** Addresses that replicas hold, and those that rest, by node. */
  addresses(nodeId: string): Promise<{ held: string[]; rested: string[] }>
}

export interface NewResource {
  id: string
  kind: string
  project: string
  name: string
  spec: unknown
}

export interface StoredResource {
  generation: number
  observedGeneration: number
  passNumber: number
  nextPassDueAt: number | null
  lastPassAt: number | null
  lastError: string | null
  paused: boolean
  deleting: boolean
  spec: unknown
  releases: Release[]
  endpoints: Endpoint[]
  /** Those that it claims. */
  domains: DomainState[]
  failures: Failure[]
  conditions: Condition[]
  transitions: { type: string; status: string }[]
  events: { severity: string; reason: string; message: string }[]
}

/** What a spec of any kind claims of hosts. */
export function claimedBy(kind: string, spec: unknown): Pick<Domain, 'host' | 'path'>[] {
  if (kind === 'nginxdemo') {
    const { host } = spec as { host?: string }
    return host === undefined ? [] : [{ host }]
  }
  return kind === 'application' ? ((spec as { domains?: Domain[] }).domains ?? []) : []
}

/** A domain as it is when somebody has just claimed it. */
export function newDomain({ host, path }: Pick<Domain, 'host' | 'path'>, resource: string, now: number): DomainState {
  return { host, path: path ?? '/', resource, changedAt: now, routed: false, reason: 'Pending', message: '', certificate: null, refusal: null }
}
