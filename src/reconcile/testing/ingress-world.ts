import type { Settled } from '../action.js'
import type { PlanInput } from '../controller.js'
import { canonicalJson } from '../hash.js'
import type { DomainState, IngressDesired } from '../ingress/desired.js'
import type { Domain } from '../ingress/domain.js'
import { ingressController, planIngress } from '../ingress/plan.js'
import { renderCaddyConfig } from '../ingress/render.js'
import { ingressDefaults, type IngressSpec, type IngressTarget } from '../ingress/spec.js'
import { containerName, label } from '../labels.js'
import { withTag } from '../name.js'
import type { Observation, ObservedContainer, ObservedIngress } from '../observed.js'
import { createHash } from 'node:crypto'
import { epoch, failureOf, inFlightOf, nodeId } from './application-world.js'
import { deepFreeze } from './deep-freeze.js'

export const ingressId = 'ing_1'
export const caddyName = containerName('i1', ingressId, 0, 0)
export const caddyImage = withTag(ingressDefaults.image)

/** A domain that was routed a minute ago and has a certificate that is well. */
export function domainOf(host: string, change: Partial<DomainState> = {}): DomainState {
  return {
    host,
    path: '/',
    resource: 'app_web',
    changedAt: epoch - 60_000,
    routed: true,
    reason: 'Routed',
    message: '',
    certificate: wellOf(epoch - 30_000),
    refusal: null,
    ...change,
  }
}

/** Just written by somebody, and not taken up. */
export const pending = (ageMs: number): Partial<DomainState> => ({
  changedAt: epoch - ageMs,
  routed: false,
  reason: 'Pending',
  certificate: null,
})

/** A certificate with twelve hours to go, as it was seen then. */
export function wellOf(seenAt: number): NonNullable<DomainState['certificate']> {
  return { issuer: 'Caddy Local Authority', notAfter: seenAt + 12 * 3_600_000, error: null, seenAt }
}

export function targetOf(resource: string, domains: Domain[], change: Partial<IngressTarget> = {}): IngressTarget {
  return { resource, title: `shop/${resource}`, domains, ports: [8080], dial: null, secretVersions: {}, ...change }
}

export interface IngressSetup {
  spec?: IngressSpec
  /** Default: one target that has what `domains` says. */
  targets?: IngressTarget[]
  domains?: DomainState[]
  containers?: ObservedContainer[]
  imageId?: string | null
  /** 'wanted' = exactly what should be. */
  loaded?: string | null
  certificates?: ObservedIngress['certificates']
  deleting?: boolean
  observed?: Observation[]
  failures?: ReturnType<typeof failureOf>[]
  inFlight?: ReturnType<typeof inFlightOf>[]
  settled?: Settled[]
  stored?: string | null
  now?: number
}

export function ingressDesiredOf({
  spec = {},
  targets,
  domains = [domainOf('a.test')],
  stored = null,
}: IngressSetup): IngressDesired {
  return { spec, node: nodeId, targets: targets ?? targetsOf(domains), domains, stored }
}

function targetsOf(domains: DomainState[]): IngressTarget[] {
  const resources = [...new Set(domains.map((d) => d.resource))]
  return resources.map((resource) =>
    targetOf(
      resource,
      domains.filter((d) => d.resource === resource).map(({ host, path }) => ({ host, path })),
    ),
  )
}

/** SHA-256 of the configuration that this setup asks for. */
export function wantedOf(setup: IngressSetup): string {
  const { spec, targets } = ingressDesiredOf(setup)
  return createHash('sha256')
    .update(canonicalJson(renderCaddyConfig(spec, targets, new Map()).config))
    .digest('hex')
}

export const loadKeyOf = (setup: IngressSetup) => `load:${wantedOf(setup).slice(0, 12)}`

/** What the planner gets for one ingress on one node; by default Caddy runs there and has all that it should. */
export function ingressInputOf(setup: IngressSetup = {}): PlanInput<IngressDesired> {
  const desired = ingressDesiredOf(setup)
  const containers = setup.containers ?? [caddyOf()]
  const loaded = setup.loaded === undefined || setup.loaded === 'wanted' ? wantedOf(setup) : setup.loaded
  return deepFreeze({
    instance: 'i1',
    resource: {
      id: ingressId,
      kind: 'ingress',
      projectId: 'proj_1',
      project: 'platform',
      name: 'edge',
      generation: 1,
      deleting: setup.deleting ?? false,
    },
    desired,
    observed: setup.observed ?? [
      {
        node: nodeId,
        unreachable: null,
        containers,
        images: {
          [withTag(desired.spec.image ?? ingressDefaults.image)]: setup.imageId === undefined ? 'sha256:caddy' : setup.imageId,
        },
        published: null,
        connections: {},
        ingress: { loaded, certificates: setup.certificates ?? {} },
      },
    ],
    inFlight: setup.inFlight ?? [],
    settled: setup.settled ?? [],
    failures: new Map((setup.failures ?? []).map((f) => [f.key, f])),
    holds: new Set<string>(),
    now: setup.now ?? epoch,
    quiet: false,
  })
}

/** What the planner wants to be started for these settings. */
export function wantedCaddy(spec: IngressSpec = {}) {
  const [action] = planIngress(ingressInputOf({ spec, containers: [], loaded: null })).actions
  if (action?.verb !== 'ensureContainer') throw new Error('nothing is there, and yet nothing is started')
  return action.args.container
}

/** A container as it is made for these settings, running for a minute. */
export function caddyOf(change: Partial<ObservedContainer> = {}, spec: IngressSpec = {}): ObservedContainer {
  return {
    id: `id-${change.name ?? caddyName}`,
    name: caddyName,
    release: 0,
    replica: 0,
    specHash: specHashOf(spec),
    imageId: 'sha256:caddy',
    state: 'running',
    exitCode: null,
    oomKilled: false,
    startedAt: epoch - 60_000,
    restartCount: 0,
    restartPolicy: 'unless-stopped',
    address: null,
    probe: { ready: null, message: '' },
    ...change,
  }
}

const hashes = new Map<string, string>()

/** Asked of the planner once: it is its own secret what goes into the hash. */
export function specHashOf(spec: IngressSpec = {}): string {
  const key = JSON.stringify(spec)
  const hash = hashes.get(key) ?? wantedCaddy(spec).labels[label.specHash] ?? ''
  hashes.set(key, hash)
  return hash
}

export const ingressAsks = (desired: IngressDesired) =>
  ingressController.observeRequests(ingressInputOf().resource, desired)[0]?.ingress
