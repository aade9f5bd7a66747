import type { Publication, Settled } from '../action.js'
import type { Failure } from '../backoff.js'
import type { InFlight, PlanInput } from '../controller.js'
import { shortHash } from '../hash.js'
import { containerName } from '../labels.js'
import type { NodeObservation, Observation, ObservedContainer } from '../observed.js'
import { withTag } from '../name.js'
import type { ApplicationDesired, Dependency, Endpoint, EndpointState, Release } from '../application/desired.js'
import { revisionOf } from '../application/publication.js'
import { emptyContext, templateHash, templateOf, type ApplicationSpec, type TemplateContext } from '../application/spec.js'

export const instance = 'i1'
export const resourceId = 'app_web'
export const nodeId = 'node_1'
/** Any time will do: planners know no other clock than `now`. */
export const epoch = 1_700_000_000_000

/** An image that a registry resolved, as releases hold it. */
export const digestOf = (image: string) => `${image.split(':')[0]}@sha256:${shortHash(image).padEnd(64, '0')}`

export function specOf(change: Partial<ApplicationSpec> = {}): ApplicationSpec {
  return { image: 'shop/web:1', ports: [8080], replicas: 1, ...change }
}

export function releaseOf(number: number, spec: ApplicationSpec, change: Partial<Release> = {}): Release {
  const hash = templateHash(templateOf(spec))
  const resolvedImage = digestOf(withTag(spec.image))
  return {
    number,
    generation: number,
    templateHash: hash,
    hash: shortHash([hash, resolvedImage]),
    template: templateOf(spec),
    resolvedImage,
    resolvedFrom: 'registry',
    verdict: null,
    servingAt: null,
    preDeployedAt: null,
    verdictLog: null,
    ...change,
  }
}

export const addressOf = (release: number, replica: number) => `10.90.${release}.${replica + 10}`

export function endpointOf(release: number, replica: number, state: EndpointState, change: Partial<Endpoint> = {}): Endpoint {
  return {
    release,
    replica,
    node: nodeId,
    address: addressOf(release, replica),
    state,
    stateAt: epoch - 60_000,
    readyAt: state === 'starting' ? null : epoch - 60_000,
    unroutedAt: null,
    ...change,
  }
}

/** A container of `release`, running and found ready since a minute. */
export function containerOf(release: Release, replica: number, change: Partial<ObservedContainer> = {}): ObservedContainer {
  const name = containerName(instance, resourceId, release.number, replica)
  return {
    id: `id-${name}`,
    name,
    release: release.number,
    replica,
    specHash: release.hash,
    imageId: release.resolvedImage,
    state: 'running',
    exitCode: null,
    oomKilled: false,
    startedAt: epoch - 60_000,
    restartCount: 0,
    restartPolicy: 'unless-stopped',
    address: addressOf(release.number, replica),
    probe: { ready: true, message: '' },
    ...change,
  }
}

export const exited = (exitCode: number, change: Partial<ObservedContainer> = {}): Partial<ObservedContainer> => ({
  state: 'exited',
  exitCode,
  probe: { ready: null, message: '' },
  ...change,
})

/** A container that was started a moment ago and has not answered its probe. */
export const fresh = (change: Partial<ObservedContainer> = {}): Partial<ObservedContainer> => ({
  startedAt: epoch - 1_000,
  restartPolicy: 'no',
  probe: { ready: false, message: 'connection refused' },
  ...change,
})

export interface Setup {
  spec?: ApplicationSpec
  releases?: Release[]
  endpoints?: Endpoint[]
  /** Nodes; the default is the one of this world, unless it shows nothing of something that is being deleted. */
  publishedOn?: string[]
  /** Nodes on which volumes of it may be. */
  volumesOn?: string[]
  removesVolumes?: boolean
  /** Names of the volumes that are there; the default is that nobody asked. */
  volumes?: string[] | undefined
  containers?: ObservedContainer[]
  /** Images that are not there; all others that releases name are. */
  missingImages?: string[]
  /** 'live' = what readers should show is what they show. */
  published?: string | null | 'live'
  connections?: Record<string, number>
  /** In place of the one reachable node that the fields above describe. */
  observed?: Observation[]
  generation?: number
  deleting?: boolean
  inFlight?: InFlight[]
  settled?: Settled[]
  failures?: Failure[]
  holds?: string[]
  now?: number
  quiet?: boolean
  addressesExhausted?: boolean
  context?: TemplateContext
  dependencies?: Dependency[]
}

/** What the planner gets for one application on one node. */
export function inputOf(setup: Setup = {}): PlanInput<ApplicationDesired> {
  const spec = setup.spec ?? specOf()
  const releases = setup.releases ?? []
  const missing = setup.missingImages ?? []
  const resolved = (setup.settled ?? []).flatMap((s) => (s.ok && 'resolved' in s.result ? [s.result.resolved] : []))
  const images = [withTag(spec.image), ...releases.map((r) => r.resolvedImage), ...resolved]
  const node: NodeObservation = {
    node: nodeId,
    unreachable: null,
    containers: setup.containers ?? [],
    images: Object.fromEntries(images.map((i) => [i, missing.includes(i) ? null : `sha256:${shortHash(i)}`])),
    published: setup.published === 'live' ? null : (setup.published ?? null),
    connections: setup.connections ?? {},
    ...(setup.volumes ? { volumes: setup.volumes } : {}),
  }
  const input: PlanInput<ApplicationDesired> = {
    instance,
    resource: {
      id: resourceId,
      kind: 'application',
      projectId: 'proj_1',
      project: 'shop',
      name: 'web',
      generation: setup.generation ?? releases.at(-1)?.generation ?? 1,
      deleting: setup.deleting ?? false,
    },
    desired: {
      spec,
      context: setup.context ?? emptyContext,
      dependencies: setup.dependencies ?? [],
      node: nodeId,
      releases,
      endpoints: setup.endpoints ?? [],
      domains: [],
      publishedOn: setup.publishedOn ?? (setup.deleting && !setup.published ? [] : [nodeId]),
      volumesOn: setup.volumesOn ?? [],
      removesVolumes: setup.removesVolumes ?? false,
      dnsTtlSeconds: 5,
      addressesExhausted: setup.addressesExhausted ?? false,
    },
    observed: setup.observed ?? [node],
    inFlight: setup.inFlight ?? [],
    settled: setup.settled ?? [],
    failures: new Map((setup.failures ?? []).map((f) => [f.key, f])),
    holds: new Set(setup.holds ?? []),
    now: setup.now ?? epoch,
    quiet: setup.quiet ?? false,
  }
  return setup.published === 'live' ? showing(input) : input
}

/** `input` with readers that show all endpoints that were ready when last looked at, whatever became of them since. */
export function showing(input: PlanInput<ApplicationDesired>): PlanInput<ApplicationDesired> {
  return withPublished(input, revisionOf(readyPublication(input)))
}

/** What readers show when they name all endpoints that were ready when last looked at. */
export function readyPublication(input: PlanInput<ApplicationDesired>): Publication {
  const { project, name } = input.resource
  const { endpoints, releases, spec } = input.desired
  const addresses = endpoints.filter((e) => e.state === 'ready').map((e) => e.address)
  const ports = releases.findLast((r) => r.servingAt !== null && !r.verdict)?.template.ports ?? spec.ports
  return { names: [`${name}.${project}.internal`], addresses: addresses.sort(), port: ports?.[0] ?? null }
}

function withPublished(input: PlanInput<ApplicationDesired>, published: string | null): PlanInput<ApplicationDesired> {
  return { ...input, observed: input.observed.map((o) => (o.unreachable === null ? { ...o, published } : o)) }
}

/** A fleet that has converged: `replicas` ready replicas of one serving release, published. */
export function settledSetup(spec: ApplicationSpec, release = 1): Setup & { releases: Release[]; endpoints: Endpoint[]; containers: ObservedContainer[] } {
  const current = releaseOf(release, spec, { servingAt: epoch - 50_000 })
  const replicas = Array.from({ length: spec.replicas ?? 1 }, (_, i) => i)
  return {
    spec,
    releases: [current],
    endpoints: replicas.map((i) => endpointOf(release, i, 'ready')),
    containers: replicas.map((i) => containerOf(current, i)),
    published: 'live',
  }
}

export function failureOf(key: string, change: Partial<Failure> = {}): Failure {
  return { key, generation: 1, count: 1, reason: 'EngineError', message: 'it failed', retryable: true, nextTryAt: epoch + 1_000, ...change }
}

export function inFlightOf(key: string, change: Partial<InFlight> = {}): InFlight {
  return { key, verb: 'ensureContainer', container: null, supersedable: false, generation: 1, ...change }
}
