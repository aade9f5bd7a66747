import type { InFlight, PlanInput, ResourceView } from '../controller.js'
import { containerName } from '../labels.js'
import { reachable, type NodeObservation, type Observation, type ObservedContainer } from '../observed.js'
import { withTag } from '../name.js'
import { sameReplica, type ApplicationDesired, type Endpoint, type Release } from './desired.js'
import { applicationDefaults, limitsOf, probeOf, templateHash, templateOf } from './spec.js'
import { strategyOf, surgeOf, type Strategy } from './strategy.js'
import { nodesLeftBehind } from './volumes.js'

/** A replica without a probe counts as ready when it has run this long. */
export const minimumReadyMs = 1_000

/** One endpoint joined with its release and the container that was seen for it. */
export interface Replica {
  endpoint: Endpoint
  release: Release | undefined
  containerName: string
  container: ObservedContainer | undefined
  /** Its node could not be read: nothing is known of the container. */
  hidden: boolean
  /** Serves now. */
  ready: boolean
  /** Belongs to the target release and the wanted number. */
  wanted: boolean
  /** When its container was seen, by the clock of its start: a pass may be decided long after it observed. */
  seenAt: number
  /** An action that changes its container is running. */
  busy: boolean
}

/** A container of ours that no endpoint stands for. */
export interface Stray {
  node: string
  container: ObservedContainer
}

/** Desired and observed joined: what the rest of the planner speaks about. */
export interface World {
  input: PlanInput<ApplicationDesired>
  nodes: NodeObservation[]
  /** Nodes that were looked at only for volumes that stayed there when it moved: the rest of the planner knows nothing of them. */
  leftBehind: NodeObservation[]
  /** Replicas that are wanted now: none of what is suspended or deleted. */
  count: number
  strategy: Strategy
  surge: number
  /** Secrets that the spec names and the project lacks. */
  missingSecrets: string[]
  /** The spec asks for something that no release stands for yet. */
  needsRelease: boolean
  latest: Release | undefined
  serving: Release | undefined
  /** The release that should run now; undefined while there is none. */
  target: Release | undefined
  /** A new release is being resolved: repair what is there, start and drain nothing. Stopping all needs no release. */
  frozen: boolean
  replicas: Replica[]
  strays: Stray[]
  /** Containers of pre-deploy commands, of any release. */
  preDeploys: Stray[]
}

/** Each node resolves for itself, as it pulls for itself: what one has under a tag is not what another has. */
export const resolveKey = ({ node, spec }: ApplicationDesired) => `resolve:${node}:${withTag(spec.image)}`

export function worldOf(given: PlanInput<ApplicationDesired>): World {
  const behind = given.resource.deleting ? [] : nodesLeftBehind(given.desired)
  const isBehind = ({ node }: Observation) => behind.includes(node)
  const input = { ...given, observed: given.observed.filter((o) => !isBehind(o)) }
  const { desired, resource, observed, inFlight, failures } = input
  const nodes = reachable(observed)
  const count = resource.deleting || desired.spec.suspended ? 0 : (desired.spec.replicas ?? applicationDefaults.replicas)
  const strategy = strategyOf(desired)
  const missingSecrets = secretsMissing(desired)

  const latest = desired.releases.at(-1)
  const serving = desired.releases.findLast((r) => r.servingAt !== null && r.verdict === null)
  const needsRelease = !resource.deleting && asksForRelease(resource, desired, nodes)
  const resolveFailed = failures.get(resolveKey(desired))?.retryable === false
  const standing = latest?.verdict === null ? latest : undefined
  const target = needsRelease ? (serving ?? standing) : (standing ?? serving)

  const busy = new Set(inFlight.map((a: InFlight) => a.container))
  const replicas = desired.endpoints.map((endpoint) => replicaOf(endpoint, input, nodes, target, count, busy))
  const known = new Set(replicas.flatMap((r) => (r.container ? [r.container.id] : [])))
  const others = nodes
    .flatMap((n) => n.containers.filter((c) => !known.has(c.id)).map((container) => ({ node: n.node, container })))
    .sort((a, b) => (a.node + a.container.name < b.node + b.container.name ? -1 : 1))
  return {
    input,
    nodes,
    leftBehind: reachable(given.observed.filter(isBehind)),
    count,
    strategy,
    surge: surgeOf(strategy, count),
    missingSecrets,
    needsRelease,
    latest,
    serving,
    target,
    frozen: needsRelease && !resolveFailed && missingSecrets.length === 0 && count > 0,
    replicas,
    strays: others.filter((o) => o.container.purpose === undefined),
    preDeploys: others.filter((o) => o.container.purpose === 'pre-deploy'),
  }
}

function secretsMissing({ spec, context }: ApplicationDesired): string[] {
  const { secretEnv, files } = templateOf(spec, context)
  const named = [...(secretEnv ?? []), ...(files ?? [])].filter((s) => s.secret !== undefined && s.version === undefined)
  return [...new Set(named.map((s) => s.secret ?? ''))]
}

/**
 * A new release is due when the template changed, when a failed one is tried again by a new generation, or when a limit is
 * to go that only a new container lacks.
 */
export function asksForRelease(resource: ResourceView, desired: ApplicationDesired, nodes: NodeObservation[] = []): boolean {
  const latest = desired.releases.at(-1)
  if (!latest) return true
  if (latest.templateHash !== templateHash(templateOf(desired.spec, desired.context))) return true
  if (latest.verdict !== null) return resource.generation > latest.generation
  return keepsLimit(desired, latest, nodes)
}

/** Docker changes a limit of a living container and takes none away. */
function keepsLimit({ spec }: ApplicationDesired, latest: Release, nodes: NodeObservation[]): boolean {
  const wanted = limitsOf(spec)
  return nodes
    .flatMap((n) => n.containers)
    .filter((c) => c.release === latest.number && c.specHash === latest.hash && c.purpose === undefined)
    .some(({ limits }) =>
      limits ? (wanted.memoryBytes === null && limits.memoryBytes !== null) || (wanted.nanoCpus === null && limits.nanoCpus !== null) : false,
    )
}

function replicaOf(
  endpoint: Endpoint,
  input: PlanInput<ApplicationDesired>,
  nodes: NodeObservation[],
  target: Release | undefined,
  count: number,
  busy: Set<string | null>,
): Replica {
  const { desired, instance, resource, now } = input
  const release = desired.releases.find((r) => r.number === endpoint.release)
  const name = containerName(instance, resource.id, endpoint.release, endpoint.replica)
  const node = nodes.find((n) => n.node === endpoint.node)
  const container = node?.containers.find(
    (c) => sameReplica(c, endpoint) && c.name === name && isOf(c, release) && sameAddress(c, endpoint),
  )
  const seenAt = node?.observedAt ?? now
  return {
    endpoint,
    release,
    containerName: name,
    container,
    hidden: node === undefined,
    ready: container !== undefined && readyNow(container, release, endpoint, seenAt),
    seenAt,
    wanted: release !== undefined && release.number === target?.number && endpoint.replica < count,
    busy: busy.has(name),
  }
}

/** Of a release that is too old to be read only the number is known; what it serves is not stopped for that. */
function isOf(container: ObservedContainer, release: Release | undefined): boolean {
  return release === undefined || container.specHash === release.hash
}

/**
 * A container at another address than its endpoint's would be published where it is not; one that runs without any was
 * cut off from the network, and nobody can ever reach it.
 */
function sameAddress(container: ObservedContainer, endpoint: Endpoint): boolean {
  return container.address === endpoint.address || (container.address === null && container.state !== 'running')
}

function readyNow(container: ObservedContainer, release: Release | undefined, endpoint: Endpoint, seenAt: number): boolean {
  if (container.state !== 'running') return false
  if (release && probeOf(release.template) === null) return runningForMs(container, seenAt) >= minimumReadyMs
  // The prober has just started and knows nothing yet: what was ready stays ready, what was not does not become it.
  return container.probe.ready ?? endpoint.state === 'ready'
}

/**
 * An image known only by its local id is gone from `node`, and its tag is another image by now: a pull would succeed
 * for ever and never bring it back.
 */
export function isImageLost({ nodes, input }: World, node: string, release: Release): boolean {
  const images = nodes.find((n) => n.node === node)?.images
  const byTag = images?.[withTag(release.template.image)]
  if (input.desired.spec.pullPolicy === 'never') return images?.[release.resolvedImage] === null
  return release.resolvedImage.startsWith('sha256:') && images?.[release.resolvedImage] === null && typeof byTag === 'string'
}

/**
 * Running containers of a release that no record knows: an older database was restored, or an orphan adopted. They may
 * be all that serves, so they stay, and stay shown, until something that is wanted serves and is shown instead.
 */
export function unknownServers({ strays, replicas, input }: World): Stray[] {
  const { releases } = input.desired
  // What stands at the address of a replica is that replica, renamed or altered by somebody; unless that one never was.
  const standing = replicas.filter((r) => r.endpoint.readyAt !== null || r.endpoint.state === 'draining')
  const known = new Set(standing.map((r) => r.endpoint.address))
  return strays.filter(
    ({ container: c }) =>
      c.state === 'running' && !known.has(c.address ?? '') && !releases.some((r) => r.number === c.release && r.hash === c.specHash),
  )
}

/** The first wanted replica that cannot get a container any more because its image is lost. */
export function lostReplica(world: World): Replica | undefined {
  return world.replicas.find(
    (r) => r.wanted && !r.container && r.release !== undefined && isImageLost(world, r.endpoint.node, r.release),
  )
}

export function lostImageMessage({ input }: World, { release }: Replica): string {
  if (input.desired.spec.pullPolicy === 'never') return `the node does not have ${release?.resolvedImage}, and its pull policy says never to pull it`
  return `${release?.resolvedImage} was removed from the node, and ${release?.template.image} is another image now`
}

export function runningForMs(container: ObservedContainer, seenAt: number): number {
  return container.startedAt === null ? 0 : seenAt - container.startedAt
}

/** How long it has run without being ready: since its start, or since it was ready last. */
export function unreadyForMs(container: ObservedContainer, { endpoint, seenAt }: Replica): number {
  const ran = runningForMs(container, seenAt)
  return endpoint.readyAt === null ? ran : Math.min(ran, seenAt - endpoint.stateAt)
}

export function serves(replica: Replica): boolean {
  return replica.endpoint.state === 'ready' && replica.ready
}

/** Established connections from any ingress to `address`. */
export function connectionsTo(world: World, address: string): number {
  return world.nodes.reduce((sum, n) => sum + (n.connections[address] ?? 0), 0)
}
