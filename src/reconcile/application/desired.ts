import type { DomainState } from '../ingress/desired.js'
import type { Allocation } from '../controller.js'
import type { ApplicationSpec, ReleaseTemplate, TemplateContext } from './spec.js'

/** One immutable revision of the application: its template and what the image was resolved to. */
export interface Release {
  number: number
  generation: number
  templateHash: string
  /** Of template and resolved image; containers carry it in a label and it is compared as text. */
  hash: string
  template: ReleaseTemplate
  /** What a container is created from: an image id, or name@digest. */
  resolvedImage: string
  resolvedFrom: string
  /** Why this release was given up. Durable: nothing retries it until the generation changes. */
  verdict: { reason: string; message: string } | null
  /** When all its replicas were ready for the first time. */
  servingAt: number | null
  /** When its pre-deploy command had ended well; null before, and for a release without one. */
  preDeployedAt: number | null
  /** Artifact with the last lines of what failed; null = none was kept (yet). */
  verdictLog: string | null
}

export type EndpointState = 'starting' | 'ready' | 'draining'

/** A replica's fixed address. It exists before the container does. */
export interface Endpoint {
  release: number
  replica: number
  node: string
  address: string
  state: EndpointState
  /** Since when it is in this state. */
  stateAt: number
  /** First time that it was ready. */
  readyAt: number | null
  /** When DNS and ingress were seen to name it no longer, on every node that was waited for. */
  unroutedAt: number | null
}

/** Another application of the project that has to be Ready before a new release starts. */
export interface Dependency {
  name: string
  /** null: there is no such application. */
  ready: { status: string; reason: string; message: string; current: boolean } | null
}

/** Everything that the application's planner knows beside what it sees. */
export interface ApplicationDesired {
  spec: ApplicationSpec
  /** What its template takes from the project. */
  context: TemplateContext
  /** In the order of `spec.dependsOn`. */
  dependencies: Dependency[]
  /** Where its replicas live. */
  node: string
  /** Ascending by number; at least the serving one and all newer. */
  releases: Release[]
  endpoints: Endpoint[]
  /** Nodes on which something of it may be published, also late by an action that nobody waits for any more. */
  publishedOn: string[]
  /** Its domains, and what ingress told of them last. */
  domains: DomainState[]
  /** Nodes on which volumes of it may be, also where it lives no more. */
  volumesOn: string[]
  /** Its deletion takes its volumes with it. */
  removesVolumes: boolean
  /** TTL of DNS answers: how long a client may go on using an address. */
  dnsTtlSeconds: number
  /** The node's network had no address left when this pass asked for one. */
  addressesExhausted: boolean
}

/** Facts that a plan wants written before it goes on. */
export type ApplicationRecord =
  | { type: 'release'; release: Omit<Release, 'verdict' | 'servingAt' | 'preDeployedAt' | 'verdictLog'> }
  | { type: 'preDeployed'; release: number }
  | { type: 'verdictLog'; release: number; sha256: string }
  | { type: 'verdict'; release: number; reason: string; message: string }
  | { type: 'serving'; release: number }
  | { type: 'endpoint'; release: number; replica: number; node: string }
  | { type: 'endpointState'; release: number; replica: number; state: EndpointState }
  | { type: 'unrouted'; release: number; replica: number }
  | { type: 'endpointGone'; release: number; replica: number }
  | { type: 'published'; node: string }
  | { type: 'unpublished'; node: string }
  | { type: 'volumesMade'; node: string }
  | { type: 'volumesGone'; node: string }

export function applyApplicationRecord(
  desired: ApplicationDesired,
  record: ApplicationRecord,
  { address, now }: Allocation,
): ApplicationDesired {
  const onRelease = (number: number, change: Partial<Release>): ApplicationDesired => ({
    ...desired,
    releases: desired.releases.map((r) => (r.number === number ? { ...r, ...change } : r)),
  })
  const onEndpoint = (at: { release: number; replica: number }, change: (e: Endpoint) => Endpoint) => ({
    ...desired,
    endpoints: desired.endpoints.map((e) => (sameReplica(e, at) ? change(e) : e)),
  })

  switch (record.type) {
    case 'release':
      return { ...desired, releases: [...desired.releases, { ...record.release, verdict: null, servingAt: null, preDeployedAt: null, verdictLog: null }] }
    case 'verdict':
      return onRelease(record.release, { verdict: { reason: record.reason, message: record.message } })
    case 'preDeployed':
      return onRelease(record.release, { preDeployedAt: now })
    case 'verdictLog':
      return onRelease(record.release, { verdictLog: record.sha256 })
    case 'serving':
      return onRelease(record.release, { servingAt: now })
    case 'endpoint': {
      if (address === null) return { ...desired, addressesExhausted: true }
      const { release, replica, node } = record
      const endpoint: Endpoint = { release, replica, node, address, state: 'starting', stateAt: now, readyAt: null, unroutedAt: null }
      return { ...desired, endpoints: [...desired.endpoints, endpoint] }
    }
    case 'endpointState':
      return onEndpoint(record, (e) => ({
        ...e,
        state: record.state,
        stateAt: record.state === e.state ? e.stateAt : now,
        readyAt: record.state === 'ready' ? (e.readyAt ?? now) : e.readyAt,
        unroutedAt: null,
      }))
    case 'unrouted':
      return onEndpoint(record, (e) => ({ ...e, unroutedAt: now }))
    case 'endpointGone':
      return { ...desired, endpoints: desired.endpoints.filter((e) => !sameReplica(e, record)) }
    case 'published':
      return { ...desired, publishedOn: [...desired.publishedOn, record.node].sort() }
    case 'unpublished':
      return { ...desired, publishedOn: desired.publishedOn.filter((node) => node !== record.node) }
    case 'volumesMade':
      return { ...desired, volumesOn: [...desired.volumesOn, record.node].sort() }
    case 'volumesGone':
      return { ...desired, volumesOn: desired.volumesOn.filter((node) => node !== record.node) }
  }
}

export function sameReplica(a: { release: number; replica: number }, b: { release: number; replica: number }): boolean {
  return a.release === b.release && a.replica === b.replica
}
