import { resultOf, type ResultOf } from '../action.js'
import { saysHeld } from '../address-in-use.js'
import { shortHash } from '../hash.js'
import { withTag } from '../name.js'
import { pullKey } from '../pull-key.js'
import type { ApplicationRecord, Endpoint, Release } from './desired.js'
import { lingers } from './draining.js'
import { isLiveWhereSeen, isNamedByNobody, isToBeCleared, noRevision, publicationOn, publishKey, silenceHoldsMs } from './publication.js'
import { mayStart, mayStopForTarget, needsPreDeploy, preDeployOf } from './preparation.js'
import { startupBudgetMsOf, templateHash, templateOf } from './spec.js'
import { preDeployKey } from './pre-deploy.js'
import { verdictLogKey } from './verdict-log.js'
import { volumesGone, volumesMade } from './volumes.js'
import { lostImageMessage, lostReplica, resolveKey, serves, unknownServers, unreadyForMs, type Replica, type World } from './world.js'

/** Docker starts a crashing container again by itself; after this many times an unproven release is given up. */
const restartsMost = 5

/** Facts that this pass established. Small steps: plan is called again after they are written. */
export function recordsOf(world: World): ApplicationRecord[] {
  const release = newRelease(world)
  if (release) return [release]
  const verdict = verdictOn(world)
  if (verdict) return [verdict]
  const again = namedAgain(world)
  if (again.length > 0) return again
  const known = [...preDeployed(world), ...verdictLog(world), ...readiness(world), ...gone(world), ...displaced(world), ...unrouted(world), ...serving(world)]
  if (known.length > 0) return known
  const drained = [...drains(world), ...revived(world)]
  if (drained.length > 0) return drained
  const allocated = allocations(world)
  return allocated.length > 0 ? allocated : [...published(world), ...unpublished(world), ...volumesMade(world), ...volumesGone(world)]
}

/** Written before anything is published there: from now on the node is looked at, whatever becomes of its replicas. */
function published(world: World): ApplicationRecord[] {
  return world.nodes
    .filter((n) => !world.input.desired.publishedOn.includes(n.node) && (n.published !== null || publicationOn(world, n.node) !== null))
    .map(({ node }) => ({ type: 'published', node }))
}

/** The agent carries out no older publication after a removal that has ended, so nothing can come any more. */
function unpublished(world: World): ApplicationRecord[] {
  const { settled } = world.input
  return world.nodes
    .filter((n) => n.published === null && isToBeCleared(world, n.node))
    .filter(({ node }) => resultOf(settled, publishKey(node), 'publishEndpoints')?.revision === noRevision)
    .map(({ node }) => ({ type: 'unpublished', node }))
}

function newRelease(world: World): ApplicationRecord | null {
  const { desired, resource } = world.input
  const resolved = world.needsRelease && world.missingSecrets.length === 0 ? resolvedImage(world) : undefined
  if (!resolved) return null
  const template = templateOf(desired.spec, desired.context)
  const hash = templateHash(template)
  const release = {
    // Above what runs, too: a container that no record knows must not have the name of a new one.
    number: Math.max(world.latest?.number ?? 0, ...unknownServers(world).map((s) => s.container.release)) + 1,
    generation: resource.generation,
    templateHash: hash,
    hash: shortHash([hash, resolved.resolved]),
    template,
    resolvedImage: resolved.resolved,
    resolvedFrom: resolved.from,
  }
  return { type: 'release', release }
}

/** By an action, or along the way when the node was looked at. */
function resolvedImage({ input, nodes }: World): ResultOf['resolveImage'] | undefined {
  const image = withTag(input.desired.spec.image)
  const seen = nodes.find((n) => n.node === input.desired.node)?.resolved
  return resultOf(input.settled, resolveKey(input.desired), 'resolveImage') ?? (seen?.image === image ? seen : undefined)
}

/** Why the target, which has never served or has only just begun to, must be given up; null while there is hope. */
function verdictOn(world: World): ApplicationRecord | null {
  const { target } = world
  if (!target || target.verdict !== null) return null
  if (target.servingAt !== null) return relapse(world, target, target.servingAt)
  const before = preDeployCause(world, target)
  if (before) return { type: 'verdict', release: target.number, ...before }
  for (const replica of world.replicas.filter((r) => r.wanted)) {
    const neverReady = replica.endpoint.readyAt === null
    const cause = (neverReady ? exitCause(replica) : crashCause(replica)) ?? budgetCause(world, replica)
    if (cause) return { type: 'verdict', release: target.number, ...cause }
  }
  const lost = lostReplica(world)
  if (lost) return { type: 'verdict', release: target.number, reason: 'ImageMissing', message: lostImageMessage(world, lost) }
  const failure = definitiveFailure(world, target)
  return failure ? { type: 'verdict', release: target.number, ...failure } : null
}

/** It served for moments and crashes since, where an earlier release could serve: as good as never ready. */
function relapse({ input, replicas }: World, target: Release, servingAt: number): ApplicationRecord | null {
  const { desired, now } = input
  const earlier = desired.releases.some((r) => r.number < target.number && r.servingAt !== null && r.verdict === null)
  if (!earlier || now - servingAt >= startupBudgetMsOf(desired.spec)) return null
  const cause = replicas.filter((r) => r.wanted).map(crashCause).find((c) => c !== null)
  return cause ? { type: 'verdict', release: target.number, ...cause } : null
}

interface Cause {
  reason: string
  message: string
}

/** Any end but a good one is final, also one that nobody saw: the command is run once. */
function preDeployCause(world: World, target: Release): Cause | null {
  const ran = needsPreDeploy(world) ? preDeployOf(world, target) : undefined
  if (!ran || !hasEnded(ran.state) || ran.exitCode === 0) return null
  const how = ran.oomKilled ? 'was killed because it ran out of memory' : `ended with exit code ${ran.exitCode}`
  return { reason: 'PreDeployFailed', message: `its pre-deploy command ${how}` }
}

const hasEnded = (state: string) => state === 'exited' || state === 'dead'

function preDeployed(world: World): ApplicationRecord[] {
  const { target } = world
  const ran = target && needsPreDeploy(world) ? preDeployOf(world, target) : undefined
  return target && ran && hasEnded(ran.state) && ran.exitCode === 0 ? [{ type: 'preDeployed', release: target.number }] : []
}

function verdictLog({ latest, input }: World): ApplicationRecord[] {
  if (!latest?.verdict || latest.verdictLog !== null) return []
  const kept = resultOf(input.settled, verdictLogKey(latest), 'keepLog')
  return kept ? [{ type: 'verdictLog', release: latest.number, sha256: kept.sha256 ?? '' }] : []
}

function exitCause({ container, endpoint, busy }: Replica): Cause | null {
  if (!container || busy) return null
  const who = `replica ${endpoint.replica}`
  if (container.oomKilled) return { reason: 'OOMKilled', message: `${who} was killed because it ran out of memory` }
  if (!hasEnded(container.state) || container.endedUnseen) return null
  if (container.exitCode === 127 || container.exitCode === 126)
    return { reason: 'CommandNotFound', message: `${who} exited with code ${container.exitCode}: its command was not found or cannot be run` }
  return { reason: 'ContainerExited', message: `${who} exited with code ${container.exitCode} before it was ready` }
}

/** Docker restarts a replica once it was ready, so its release may go on crashing without ever being complete. */
function crashCause({ container, endpoint, ready }: Replica): Cause | null {
  if (!container || ready || container.restartCount < restartsMost) return null
  const code = container.exitCode === null ? '' : `, last with code ${container.exitCode}`
  return { reason: 'CrashLoop', message: `replica ${endpoint.replica} was restarted ${container.restartCount} times${code}` }
}

/** Whether it was ready before or not: a release that is never complete must not wait for it for ever. */
function budgetCause(world: World, replica: Replica): Cause | null {
  const { container, endpoint, ready, busy } = replica
  if (endpoint.state !== 'starting' || !container || ready || busy || container.state !== 'running') return null
  // An agent that was away knows nothing yet: silence is no failed probe.
  if (container.probe.ready === null || container.probe.asked === false) return null
  const budgetMs = startupBudgetMsOf(world.input.desired.spec)
  if (unreadyForMs(container, replica) < budgetMs) return null
  const last = container.probe.message ? `; the last probe said: ${container.probe.message}` : ''
  const what = endpoint.readyAt === null ? 'was not ready within' : 'was ready, and then was not for'
  return { reason: 'ReadinessTimeout', message: `replica ${endpoint.replica} ${what} ${budgetMs / 1_000} s${last}` }
}

function definitiveFailure(world: World, target: Release): Cause | null {
  const nodes = [world.input.desired.node, ...world.replicas.filter((r) => r.wanted).map((r) => r.endpoint.node)]
  const pulls = new Set(nodes.map((node) => pullKey(node, target.resolvedImage)))
  for (const [key, failure] of world.input.failures) {
    const concerns = pulls.has(key) || key.startsWith(`ensure:${target.number}:`) || key === preDeployKey(target)
    if (concerns && !failure.retryable) return { reason: failure.reason, message: failure.message }
  }
  return null
}

/** ready ⇄ starting as the prober sees it; a draining endpoint stays draining. */
function readiness(world: World): ApplicationRecord[] {
  return world.replicas
    .filter((r) => !r.hidden && r.endpoint.state !== 'draining' && (r.endpoint.state === 'ready') !== r.ready)
    .map((r) => endpointState(r.endpoint, r.ready ? 'ready' : 'starting'))
}

function endpointState({ release, replica }: Endpoint, state: Endpoint['state']): ApplicationRecord {
  return { type: 'endpointState', release, replica, state }
}

/** An endpoint that should go, whose container is gone and that nobody shows any more, gives its address back. */
function gone(world: World): ApplicationRecord[] {
  return world.replicas
    .filter((r) => r.endpoint.state === 'draining' && !r.hidden && !r.container && !r.busy)
    .filter((r) => r.endpoint.readyAt === null || r.endpoint.unroutedAt !== null)
    .filter((r) => !world.strays.some((s) => s.container.address === r.endpoint.address))
    .map(({ endpoint: { release, replica } }) => ({ type: 'endpointGone', release, replica }))
}

/**
 * Somebody else holds the address of a replica that has never served, so it gets another one. Of its own application that
 * is seen; of anybody else, e.g. what an older database knows nothing of, the engine's refusal tells.
 */
function displaced(world: World): ApplicationRecord[] {
  const unknown = new Set(unknownServers(world).map((s) => s.container.address))
  return world.replicas
    .filter((r) => r.endpoint.readyAt === null && r.endpoint.state !== 'draining' && !r.hidden && !r.busy && !r.ready)
    .filter(({ endpoint: { release, replica, address } }) => {
      const failure = world.input.failures.get(`ensure:${release}:${replica}`)
      return unknown.has(address) || (failure !== undefined && saysHeld(failure, address))
    })
    .map(({ endpoint: { release, replica } }) => ({ type: 'endpointGone', release, replica }))
}

function unrouted(world: World): ApplicationRecord[] {
  return world.replicas
    .filter((r) => r.endpoint.state === 'draining' && r.endpoint.readyAt !== null && r.endpoint.unroutedAt === null)
    .filter((r) => isNamedByNobody(world, r.endpoint))
    .map(({ endpoint: { release, replica } }) => ({ type: 'unrouted', release, replica }))
}

/** A node that had been silent for too long to be waited for is back, and may name it until it shows what the others do. */
function namedAgain(world: World): ApplicationRecord[] {
  if (isLiveWhereSeen(world)) return []
  return world.replicas
    .filter(({ endpoint: e }) => e.state === 'draining' && e.unroutedAt !== null && e.unroutedAt - e.stateAt >= silenceHoldsMs)
    .map((r) => endpointState(r.endpoint, 'draining'))
}

function serving(world: World): ApplicationRecord[] {
  const { target, count } = world
  if (!target || target.servingAt !== null || count === 0) return []
  const ready = world.replicas.filter((r) => r.wanted && serves(r)).length
  return ready >= count ? [{ type: 'serving', release: target.number }] : []
}

/** Which of the endpoints that are not wanted may leave now, so that never fewer serve than are wanted. */
function drains(world: World): ApplicationRecord[] {
  if (world.frozen) return []
  const leaving = world.replicas.filter((r) => !r.wanted && r.endpoint.state !== 'draining').sort(leavesFirst)
  const newReady = world.replicas.filter((r) => r.wanted && serves(r)).length
  // What blue-green holds back until it is complete stands in for nobody.
  const standIn = world.strategy.kind !== 'blue-green' || newReady >= world.count ? newReady : 0
  let ready = standIn + leaving.filter(serves).length
  const proven = newReady > 0 || world.count === 0 || !world.target
  let room = drainRoom(world)

  const records: ApplicationRecord[] = []
  for (const replica of leaving) {
    if (makesRoom(world, replica)) {
      records.push(endpointState(replica.endpoint, 'draining'))
      continue
    }
    const neverServed = replica.endpoint.readyAt === null
    if (neverServed) records.push(endpointState(replica.endpoint, 'draining'))
    else if (mayServe(replica)) {
      if (newReady >= world.count) records.push(endpointState(replica.endpoint, 'draining'))
    } else if (!serves(replica)) {
      if (proven) records.push(endpointState(replica.endpoint, 'draining'))
    } else if (ready - 1 >= world.count && room > 0) {
      records.push(endpointState(replica.endpoint, 'draining'))
      ready--
      room--
    }
  }
  return records
}

/** Ready when its node was last heard, and shown since: it counts for nobody, but is not given up before others stand in for it. */
function mayServe({ hidden, endpoint }: Replica): boolean {
  return hidden && endpoint.state === 'ready'
}

/** Old and new cannot be side by side: the old one goes as soon as the new one can start. */
function makesRoom(world: World, { endpoint, hidden }: Replica): boolean {
  const { strategy, target } = world
  return strategy.kind === 'recreate' && target !== undefined && endpoint.release !== target.number && !hidden && mayStopForTarget(world)
}

/**
 * How many more may begin to drain. Those that only open connections hold do not count, or one WebSocket would hold up a
 * roll-out for as long as it may; but no more than a set of them stays, however often a new release comes.
 */
function drainRoom(world: World): number {
  const draining = world.replicas.filter((r) => r.endpoint.state === 'draining' && r.endpoint.readyAt !== null)
  const most = drainsAtOnce(world)
  const leaving = draining.filter((r) => !lingers(world, r)).length
  return Math.min(most - leaving, most + world.count - draining.length)
}

/** Nobody replaces what leaves when nothing is wanted any more, so then all may go together. */
function drainsAtOnce(world: World): number {
  return world.count === 0 || !world.target || world.strategy.kind === 'blue-green' ? Infinity : Math.max(1, Math.floor(world.count / 4))
}

/** Unready first, then the oldest release, then the highest replica. */
function leavesFirst(a: Replica, b: Replica): number {
  return (
    Number(serves(a)) - Number(serves(b)) ||
    a.endpoint.release - b.endpoint.release ||
    b.endpoint.replica - a.endpoint.replica
  )
}

/** A roll-back may want a replica again that is draining but has not been stopped. */
function revived(world: World): ApplicationRecord[] {
  return world.replicas
    .filter((r) => r.wanted && r.endpoint.state === 'draining' && !r.busy && !r.hidden)
    .map((r) => endpointState(r.endpoint, 'starting'))
}

function allocations(world: World): ApplicationRecord[] {
  const { target, input, count } = world
  if (!target || world.frozen || input.quiet || input.desired.addressesExhausted || !mayStart(world)) return []
  const own = world.replicas.filter((r) => r.endpoint.release === target.number)
  const held = new Set(own.map((r) => r.endpoint.replica))
  const missing = Array.from({ length: count }, (_, i) => i).filter((i) => !held.has(i))
  return missing
    .slice(0, placesLeft(world, own))
    .map((replica) => ({ type: 'endpoint', release: target.number, replica, node: input.desired.node }))
}

/** How many replicas the target may have more than its `own`. */
function placesLeft(world: World, own: Replica[]): number {
  const { count, strategy } = world
  if (strategy.kind === 'recreate') return own.length < world.replicas.length ? 0 : count
  const most = count + world.surge
  const staying = world.replicas.filter((r) => r.endpoint.state !== 'draining' && !isBehind(world, r))
  // A target must be able to prove itself even when broken leftovers fill every place. Those that serve leave by
  // themselves, one after the other: deploys in quick succession wait for them instead of piling up.
  const mayProve = !own.some((r) => r.wanted) && staying.filter(serves).length < most
  return Math.max(0, most - staying.length, mayProve ? 1 : 0)
}

/** On a silent node that is left: it takes no place where the target grows, which may have to do without it. */
function isBehind({ input }: World, { hidden, wanted, endpoint }: Replica): boolean {
  return hidden && !wanted && endpoint.node !== input.desired.node
}
