import type { Publication } from '../action.js'
import { shortHash } from '../hash.js'
import type { Endpoint, Release } from './desired.js'
import { serves, type Replica, type World } from './world.js'

/** Longest that a node that does not answer keeps others from retiring what it may still send requests to. */
export const silenceHoldsMs = 10 * 60_000

/** The zone below which all names of this platform live. */
export const internalZone = 'internal'

/** What readers (DNS and ingress files) should show now; null = nothing, not even the name. */
export function publicationOf(world: World): Publication | null {
  const { resource } = world.input
  // Silence of a node is not death: what was ready on it stays shown by the others.
  const replicas = world.replicas.filter((r) => (r.hidden ? r.endpoint.state === 'ready' : serves(r)) && !isHeldBack(world, r))
  const addresses = replicas.map((r) => r.endpoint.address).sort()
  const shown = world.nodes.some((n) => n.published !== null)
  if (resource.deleting || (addresses.length === 0 && !shown)) return null
  const port = portOf(world.serving ?? world.target ?? world.latest)
  const others = replicas.flatMap(({ release, endpoint }): [string, number][] => {
    const own = portOf(release)
    return own === null || own === port ? [] : [[endpoint.address, own]]
  })
  const morePorts = furtherPorts(world, replicas).map((further) => ({
    port: further,
    addresses: replicas.filter((r) => r.release?.template.ports?.includes(further)).map((r) => r.endpoint.address).sort(),
  }))
  return {
    names: [`${resource.name}.${resource.project}.${internalZone}`],
    addresses,
    port,
    ...(others.length > 0 ? { otherPorts: Object.fromEntries(others) } : {}),
    ...(morePorts.length > 0 ? { morePorts } : {}),
  }
}

/**
 * Ports that ingress has files of its own for: those that domains ask for by number, and all of a replica that has several.
 * An ingress routes a domain the moment that it asks for one of them, and must not wait for us then.
 */
function furtherPorts({ input }: World, replicas: Replica[]): number[] {
  const asked = (input.desired.spec.domains ?? []).flatMap((d) => (d.port === undefined ? [] : [d.port]))
  const several = replicas.flatMap(({ release }) => (release?.template.ports ?? []).length > 1 ? (release?.template.ports ?? []) : [])
  return [...new Set([...asked, ...several])].sort((a, b) => a - b)
}

/** Blue-green switches once: until the whole new set is ready, what served before goes on alone. */
function isHeldBack({ strategy, target, replicas }: World, { endpoint }: Replica): boolean {
  if (strategy.kind !== 'blue-green' || !target || target.servingAt !== null || endpoint.release !== target.number) return false
  return replicas.some((r) => r.endpoint.release !== target.number && (r.hidden ? r.endpoint.state === 'ready' : serves(r)))
}

/**
 * What the readers of one node should show. A node that the application leaves shows nothing: what it still named would
 * be wrong before long. But first the others show everything, or nobody would for a moment.
 */
export function publicationOn(world: World, node: string): Publication | null {
  const all = publicationOf(world)
  if (!leaves(world, node)) return all
  const shows = world.nodes.some((n) => n.node === node && n.published !== null)
  const others = world.nodes.filter((n) => !leaves(world, n.node))
  const shownByOthers = others.length > 0 && others.every((n) => n.published === revisionOf(all))
  return shows && !shownByOthers ? all : null
}

/** No replica is to stay on `node`; and where new ones belong, that counts only while some stay elsewhere. */
export function leaves({ input, replicas }: World, node: string): boolean {
  const staying = replicas.filter((r) => r.endpoint.state !== 'draining')
  return !staying.some((r) => r.endpoint.node === node) && (node !== input.desired.node || staying.length > 0)
}

/** Nothing is to be shown on `node`, but something may be, or may come late: a removal that ended is newer than all of it. */
export function isToBeCleared(world: World, node: string): boolean {
  const { resource, desired } = world.input
  return desired.publishedOn.includes(node) && (resource.deleting || leaves(world, node)) && !hasOthers(world, node)
}

/** Containers of no replica, like one of a pre-deploy command: nobody would look after them if the node were forgotten. */
function hasOthers({ input, nodes }: World, node: string): boolean {
  const has = nodes.some((n) => n.node === node && n.containers.length > 0)
  return has && !input.desired.endpoints.some((e) => e.node === node)
}

/** Revision of a publication that removes everything. */
export const noRevision = 'none'

export const publishKey = (node: string) => `publish:${node}`

function portOf(release: Release | undefined): number | null {
  return release?.template.ports?.[0] ?? null
}

/** What should be shown is shown on every node, and no earlier publication on its way can still replace it. */
export function isLive(world: World): boolean {
  return isLiveWhereSeen(world) && silentNodes(world).length === 0
}

/** The same of the nodes that answer. */
export function isLiveWhereSeen(world: World): boolean {
  const onItsWay = world.input.inFlight.some((a) => a.verb === 'publishEndpoints') || world.nodes.some((n) => mayComeLate(world, n.node))
  return isPublished(world) && !onItsWay
}

export function isPublished(world: World): boolean {
  return world.nodes.every((n) => n.published === revisionOf(publicationOn(world, n.node)))
}

/** A publication failed there, and what failed may have been only its answer: it can land until a newer one has. */
export function mayComeLate({ input }: World, node: string): boolean {
  const key = publishKey(node)
  return input.failures.has(key) || input.settled.some((s) => s.key === key && !s.ok)
}

/** Nobody names what left its state at `stateAt` any more: no node that answers, and those that do not were waited for long enough. */
export function isNamedByNobody(world: World, endpoint: Endpoint): boolean {
  return isLive(world) || (isLiveWhereSeen(world) && silenceLeftMs(world, endpoint) <= 0)
}

/** What is left of the time that silent nodes may hold the endpoint. */
export function silenceLeftMs({ input }: World, { stateAt }: Endpoint): number {
  return stateAt + silenceHoldsMs - input.now
}

export function silentNodes({ input }: World): string[] {
  return input.observed.filter((o) => o.unreachable !== null).map((o) => o.node)
}

export function revisionOf(publication: Publication | null): string | null {
  return publication === null ? null : shortHash(publication)
}
