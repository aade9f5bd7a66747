import type { Action } from '../action.js'
import { awayPollMs } from '../away-poll.js'
import type { Plan, PlanInput } from '../controller.js'
import { withTag } from '../name.js'
import type { ObservedContainer } from '../observed.js'
import { pullKey } from '../pull-key.js'
import { retireAction } from '../retire-action.js'
import { isProven, replicaContainer } from './container.js'
import { conditionsOf } from './describe.js'
import type { ApplicationDesired, ApplicationRecord, Release } from './desired.js'
import { drainLeftMs } from './draining.js'
import { preDeploys } from './pre-deploy.js'
import { needsPreDeploy, targetImage, waitsFor } from './preparation.js'
import { isLive, isNamedByNobody, isToBeCleared, mayComeLate, noRevision, publicationOf, publicationOn, publishKey, revisionOf } from './publication.js'
import { recordsOf } from './records.js'
import { limitsOf, probeOf, startupBudgetMsOf, stopGraceSecondsOf } from './spec.js'
import { keepsLog, lastWordsOf } from './verdict-log.js'
import { removesVolumes, volumesAreAsWanted } from './volumes.js'
import { isImageLost, minimumReadyMs, resolveKey, runningForMs, serves, unknownServers, unreadyForMs, worldOf, type Replica, type Stray, type World } from './world.js'

/** Time that a start waits for its first successful probe, so that most starts need no pass of their own to be seen ready. */
const awaitReadyMs = 400
/** Nobody tells when another resource gives an address back. */
const addressesPollMs = 10_000
const shortestWaitMs = 50
const firstProbeMs = 1_000

/**
 * resolve → pull → create → ready → publish → drained → stop → remove, none of it remembered: each pass asks of
 * every replica what the next step is. Old replicas leave only while as many serve as are wanted.
 */
export function planApplication(input: PlanInput<ApplicationDesired>): Plan<ApplicationRecord> {
  const world = worldOf(input)
  const records = recordsOf(world)
  if (records.length > 0) return { records, actions: [], conditions: [], requeueAfterMs: null, finalize: false }
  // What must leave comes first: that is what is left to do when not all fits into one pass.
  const actions = [publishes, keepsLog, retires, policies, limits, restarts, resolves, pulls, preDeploys, ensures, removesVolumes].flatMap((step) => step(world))
  return {
    records: [],
    actions,
    conditions: conditionsOf(world, actions),
    requeueAfterMs: requeueAfterMs(world),
    finalize: finished(world),
  }
}

function resolves(world: World): Action[] {
  const { input } = world
  if (!world.needsRelease || world.missingSecrets.length > 0 || input.quiet || !isReadable(world, input.desired.node)) return []
  const { pullPolicy } = input.desired.spec
  const image = withTag(input.desired.spec.image)
  return [
    {
      key: resolveKey(input.desired),
      verb: 'resolveImage',
      args: { image, ...credentialOf(world), ...(pullPolicy === undefined ? {} : { policy: pullPolicy }) },
      node: input.desired.node,
      queue: 'long',
      container: null,
      timeoutSeconds: 30,
      supersedable: true,
      summary: `resolve ${image}`,
    },
  ]
}

function credentialOf({ input }: World): { credential?: string } {
  const { registryCredential } = input.desired.spec
  return registryCredential === undefined ? {} : { credential: registryCredential }
}

/** Replicas whose container has to be made or started. */
function needingContainer(world: World): Replica[] {
  return world.replicas.filter((r) => {
    if (r.hidden || !r.release || r.release.verdict || r.endpoint.state === 'draining') return false
    if (world.input.quiet && r.endpoint.readyAt === null) return false
    return !r.container || startable(r.container)
  })
}

function startable(container: ObservedContainer): boolean {
  return container.state !== 'running' && container.state !== 'restarting'
}

function pulls(world: World): Action[] {
  const missing = new Map<string, { node: string; release: Release }>()
  for (const replica of needingContainer(world)) {
    const { endpoint, release, container } = replica
    if (release && !container && localImage(world, replica) === null && !isImageLost(world, endpoint.node, release))
      missing.set(pullKey(endpoint.node, release.resolvedImage), { node: endpoint.node, release })
  }
  const { node } = world.input.desired
  const first = isWantedSoon(world)
  if (first && targetImage(world) === null && !isImageLost(world, node, first)) missing.set(pullKey(node, first.resolvedImage), { node, release: first })
  return [...missing].map(([key, { node, release }]) => ({
    key,
    verb: 'pullImage',
    args: { image: pullReference(release), ...credentialOf(world) },
    node,
    queue: 'long',
    container: null,
    timeoutSeconds: 1_800,
    supersedable: true,
    summary: `pull ${pullReference(release)}`,
  }))
}

/** The target, where its image is needed before its replicas are: to run its command, or to stop what serves only then. */
function isWantedSoon(world: World): Release | null {
  const { target, count, frozen, input, strategy, replicas } = world
  if (!target || count === 0 || frozen || input.quiet || waitsFor(world).length > 0) return null
  const makesRoom = strategy.kind === 'recreate' && !replicas.some((r) => r.endpoint.release === target.number)
  return needsPreDeploy(world) || makesRoom ? target : null
}

/** Id of the release's image on the replica's node; null = not there, undefined = not looked for, because the release is younger than the look. */
function localImage(world: World, { endpoint, release }: Replica): string | null | undefined {
  const images = world.nodes.find((n) => n.node === endpoint.node)?.images
  return release ? images?.[release.resolvedImage] : undefined
}

/** An image known only by its local id can be had again only by the name that it was asked by. */
function pullReference(release: Release): string {
  return release.resolvedImage.startsWith('sha256:') ? withTag(release.template.image) : release.resolvedImage
}

function ensures(world: World): Action[] {
  return needingContainer(world).flatMap((replica): Action[] => {
    const { endpoint, release, container } = replica
    if (!release || (!container && typeof localImage(world, replica) !== 'string') || isOccupied(world, replica)) return []
    const verb = container ? 'start' : 'create'
    return [
      {
        key: `ensure:${endpoint.release}:${endpoint.replica}`,
        verb: 'ensureContainer',
        args: { container: replicaContainer(world, replica, release), awaitReadyMs },
        node: endpoint.node,
        queue: 'short',
        container: replica.containerName,
        timeoutSeconds: 60,
        supersedable: false,
        summary: `${verb} replica ${endpoint.replica} of release ${endpoint.release}`,
      },
    ]
  })
}

/** A stray holds the replica's name or address: a container could only be made in vain until it is removed. */
function isOccupied({ strays }: World, { endpoint, containerName }: Replica): boolean {
  return strays.some(
    ({ node, container }) =>
      node === endpoint.node && (container.name === containerName || container.address === endpoint.address),
  )
}

function publishes(world: World): Action[] {
  if (showsUnknown(world)) return []
  return world.nodes
    .map(({ node, published }) => ({ node, published, publication: publicationOn(world, node) }))
    .filter(
      ({ node, published, publication }) =>
        published !== revisionOf(publication) || mayComeLate(world, node) || (published === null && isToBeCleared(world, node)),
    )
    .map(({ node, publication }) => ({
      key: publishKey(node),
      verb: 'publishEndpoints',
      args: { publication, revision: revisionOf(publication) ?? noRevision },
      node,
      queue: 'short',
      container: null,
      timeoutSeconds: 30,
      supersedable: false,
      summary: publication ? `publish ${publication.addresses.length} endpoints` : 'remove all endpoints',
    }))
}

/** What is shown may be what nobody knows of, and nothing else serves yet. What is to leave has to go from there, though. */
function showsUnknown(world: World): boolean {
  if (world.count === 0 || unknownServers(world).length === 0 || publicationOf(world)?.addresses.length !== 0) return false
  return !world.replicas.some((r) => r.endpoint.state === 'draining' && r.endpoint.readyAt !== null && r.endpoint.unroutedAt === null)
}

function policies(world: World): Action[] {
  return world.replicas
    .filter((r) => r.endpoint.state !== 'draining' && r.container?.restartPolicy === 'no' && isProven(r.endpoint, r.release))
    .map((r) => ({
      key: `policy:${r.endpoint.release}:${r.endpoint.replica}`,
      verb: 'setRestartPolicy',
      args: { name: r.containerName, policy: 'unless-stopped' },
      node: r.endpoint.node,
      queue: 'short',
      container: r.containerName,
      timeoutSeconds: 30,
      supersedable: false,
      summary: `let Docker restart replica ${r.endpoint.replica} of release ${r.endpoint.release}`,
    }))
}

/** Limits change in the living container; one that has to go makes a new release. */
function limits(world: World): Action[] {
  const wanted = limitsOf(world.input.desired.spec)
  const differs = (has: number | null, wants: number | null) => wants !== null && wants !== has
  return world.replicas
    .filter(({ endpoint, container }) => endpoint.state !== 'draining' && container?.state === 'running')
    .filter(({ container }) => {
      const has = container?.limits
      return has !== undefined && (differs(has.memoryBytes, wanted.memoryBytes) || differs(has.nanoCpus, wanted.nanoCpus))
    })
    .map((r) => ({
      key: `limits:${r.endpoint.release}:${r.endpoint.replica}`,
      verb: 'setResources',
      args: { name: r.containerName, resources: wanted },
      node: r.endpoint.node,
      queue: 'short',
      container: r.containerName,
      timeoutSeconds: 30,
      supersedable: false,
      summary: `change the limits of replica ${r.endpoint.replica} of release ${r.endpoint.release}`,
    }))
}

/** A replica that fails its liveness probe is started again, at most once in its start-up budget. */
function restarts(world: World): Action[] {
  return world.replicas
    .filter((r) => hangs(r) && hangsForMs(world, r) <= 0)
    .map((r) => {
      const graceSeconds = stopGraceSecondsOf(world.input.desired.spec)
      return {
        key: `restart:${r.endpoint.release}:${r.endpoint.replica}`,
        verb: 'restartContainer',
        args: { name: r.containerName, graceSeconds },
        node: r.endpoint.node,
        queue: 'long',
        container: r.containerName,
        timeoutSeconds: graceSeconds + 60,
        supersedable: false,
        summary: `restart replica ${r.endpoint.replica} of release ${r.endpoint.release}, which fails its liveness probe`,
      }
    })
}

function hangs({ endpoint, container }: Replica): boolean {
  return endpoint.state !== 'draining' && container?.state === 'running' && container.probe.live === false
}

/** Milliseconds until it may be restarted. */
function hangsForMs({ input }: World, { container, seenAt }: Replica): number {
  return container ? startupBudgetMsOf(input.desired.spec) - runningForMs(container, seenAt) : 0
}

function retires(world: World): Action[] {
  const words = lastWordsOf(world)?.name
  const drained = world.replicas
    .filter((r) => r.container && r.endpoint.state === 'draining' && r.containerName !== words && drainLeftMs(world, r) === 0)
    .map((r) => retire(world, r.endpoint.node, r.containerName, `stop replica ${r.endpoint.replica} of release ${r.endpoint.release}`))
  const strays = world.strays
    .filter((s) => !isRouted(world, s) && !mayBeAll(world, s))
    .map((s) => retire(world, s.node, s.container.name, `remove ${s.container.name}, which nobody asked for`))
  const commands = world.preDeploys
    .filter((s) => s.container.name !== words && !isStillNeeded(world, s))
    .map((s) => retire(world, s.node, s.container.name, `remove ${s.container.name}, whose command is done`))
  return [...drained, ...strays, ...commands]
}

/** It is the target's, and what became of it is not written down yet; or it runs, and nobody knows what it changes. */
function isStillNeeded(world: World, { container }: Stray): boolean {
  const { target, input } = world
  if (input.resource.deleting) return false
  if (container.state === 'running') return true
  // It never began, and nobody wants it to.
  if (container.state === 'created' && world.count === 0) return false
  return needsPreDeploy(world) && container.release === target?.number && container.specHash === target.hash
}

/** Nothing wanted serves yet, and this one may; unless it has the name that the wanted one needs. */
function mayBeAll(world: World, stray: Stray): boolean {
  if (!unknownServers(world).includes(stray)) return false
  const inTheWay = needingContainer(world).some((r) => r.containerName === stray.container.name || r.endpoint.address === stray.container.address)
  return !inTheWay && nothingServes(world)
}

function nothingServes(world: World): boolean {
  return world.count > 0 && !(world.replicas.some((r) => r.wanted && serves(r)) && isLive(world))
}

/** Readers may still name a stray's address: it was a replica until somebody renamed or changed it. */
function isRouted(world: World, { container }: Stray): boolean {
  const named = ({ endpoint: e }: Replica) => e.readyAt !== null && e.unroutedAt === null && !isNamedByNobody(world, e)
  return container.state === 'running' && world.replicas.some((r) => r.endpoint.address === container.address && named(r))
}

function retire({ input }: World, node: string, name: string, summary: string): Action {
  return retireAction({ name, node, graceSeconds: stopGraceSecondsOf(input.desired.spec), summary })
}

function requeueAfterMs(world: World): number | null {
  const { observed, desired, resource } = world.input
  const budgetMs = startupBudgetMsOf(desired.spec)
  const waits: (number | null)[] = []
  for (const o of observed) if (o.unreachable !== null) waits.push(awayPollMs(o, resource.id))
  for (const replica of world.replicas) {
    const { endpoint, container, release, ready, seenAt } = replica
    if (endpoint.state === 'draining') waits.push(drainLeftMs(world, replica))
    else if (container && release && !ready && container.state === 'running') {
      if (probeOf(release.template)) waits.push(budgetMs - unreadyForMs(container, replica))
      else waits.push(minimumReadyMs - runningForMs(container, seenAt))
      // Its first answer may be "not ready", which is no news that anybody would tell.
      if (container.probe.asked === false) waits.push(firstProbeMs)
    }
  }
  for (const replica of world.replicas.filter(hangs)) waits.push(hangsForMs(world, replica))
  const unlooked = (isWantedSoon(world) !== null && isReadable(world, desired.node) && targetImage(world) === undefined) || needingContainer(world).some((r) => !r.container && localImage(world, r) === undefined)
  if (unlooked) waits.push(shortestWaitMs)
  if (isUnasked(world)) waits.push(shortestWaitMs)
  if (desired.addressesExhausted) waits.push(addressesPollMs)
  // What is due already waits for an action or a probe, and both wake the loop.
  const due = waits.filter((w) => w !== null && w > 0).map((w) => Math.max(w ?? 0, shortestWaitMs))
  return due.length > 0 ? Math.min(...due) : null
}

function finished(world: World): boolean {
  const { resource, observed, desired, inFlight } = world.input
  return (
    resource.deleting &&
    inFlight.length === 0 &&
    desired.endpoints.length === 0 &&
    desired.publishedOn.length === 0 &&
    observed.every((o) => o.unreachable === null && o.containers.length === 0 && o.published === null) &&
    volumesAreAsWanted(world)
  )
}

/** It was placed elsewhere while this pass looked at where it was; the nudge of that may have been lost. */
function isUnasked({ input }: World): boolean {
  const { resource, desired, observed } = input
  return !resource.deleting && desired.node !== '' && !observed.some((o) => o.node === desired.node)
}

function isReadable(world: World, node: string): boolean {
  return world.nodes.some((n) => n.node === node)
}
