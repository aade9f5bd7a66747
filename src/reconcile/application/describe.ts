import type { Action } from '../action.js'
import { condition, ready, type ConditionDraft } from '../condition.js'
import type { Failure } from '../backoff.js'
import { withTag } from '../name.js'
import type { UnreachableNode } from '../observed.js'
import { imageOfPull } from '../pull-key.js'
import type { Dependency } from './desired.js'
import { needsPreDeploy, waitsFor } from './preparation.js'
import { isLiveWhereSeen, isPublished, publicationOf, silenceHoldsMs, silentNodes } from './publication.js'
import { routingOf } from './routing.js'
import { deletedVolumesMessage, leftBehindMessage } from './volumes.js'
import { connectionsTo, lostImageMessage, lostReplica, resolveKey, serves, type Replica, type World } from './world.js'

/** Tells the truth about this pass: every sentence names what is, and where something is wrong, what to do. */
export function conditionsOf(world: World, wanted: Action[]): ConditionDraft[] {
  return [readiness(world, wanted), availability(world), imageResolved(world), endpointsPublished(world), draining(world), ...routingOf(world), ...fallback(world), ...leftBehind(world)]
}

/** Only told where it is news. */
function fallback({ strategy }: World): ConditionDraft[] {
  return strategy.fallback === null ? [] : [condition('StrategyHonoured', 'False', 'FallbackToRecreate', `changes run as recreate, with a gap: ${strategy.fallback}`)]
}

/** Only told where it is news, as long as it is. */
function leftBehind(world: World): ConditionDraft[] {
  const message = world.input.resource.deleting ? null : leftBehindMessage(world)
  return message === null ? [] : [condition('VolumesInPlace', 'False', 'LeftBehind', message)]
}

/** A replica that ended once or twice is still starting, for all that people know. */
const restartsToTell = 3

function readiness(world: World, wanted: Action[]): ConditionDraft {
  const { input, target, count } = world
  const away = input.observed.find((o): o is UnreachableNode => o.unreachable !== null)
  if (away) return ready('Unknown', awayReason(away), `${away.message}; what runs there goes on running`)
  if (input.resource.deleting) return deleting(world, wanted)
  if (world.needsRelease && world.missingSecrets.length > 0) return secretMissing(world)
  if (world.needsRelease) return resolving(world)
  if (world.latest?.verdict) return failed(world)
  if (input.desired.addressesExhausted)
    return ready('False', 'AddressesExhausted', `the network of node ${input.desired.node} has no address left: remove replicas, or add a node`)
  const blocking = blockingFailure(world, wanted) ?? failureToStop(world, wanted)
  if (blocking) return ready('False', blocking.reason, `${blocking.message}; ${nextTry(blocking)}`)
  const lost = lostReplica(world)
  if (lost) return ready('False', 'ImageMissing', `${lostImageMessage(world, lost)}: change the application's image, or bring the old one back`)
  if (count === 0) return scaledToZero(world)
  const now = world.replicas.filter((r) => r.wanted && serves(r)).length
  const old = world.replicas.filter((r) => !r.wanted && r.endpoint.state !== 'draining').length
  if (now >= count && old === 0 && isPublished(world))
    return ready('True', 'Running', `${now} of ${count} replicas of release ${target?.number} are ready`)
  const waiting = waitsFor(world)
  if (waiting.length > 0) return ready('False', 'DependencyNotReady', waiting.map(dependencyMessage).join('; '))
  const crashing = world.replicas.find((r) => r.wanted && !r.ready && (r.container?.restartCount ?? 0) >= restartsToTell)
  if (crashing) return ready('False', 'CrashLoopBackOff', crashMessage(crashing))
  const hanging = world.replicas.find((r) => r.wanted && r.container?.probe.live === false)
  if (hanging)
    return ready('False', 'Restarting', `replica ${hanging.endpoint.replica} fails its liveness probe and is restarted: ${hanging.container?.probe.liveMessage ?? ''}`)
  if (needsPreDeploy(world) && input.inFlight.some((a) => a.verb === 'runToEnd'))
    return ready('False', 'PreDeploying', `the pre-deploy command of release ${target?.number} runs${old > 0 ? `, ${old} replicas of older releases serve on` : ''}`)
  const pulling = input.inFlight.some((a) => a.verb === 'pullImage')
  return ready('False', pulling ? 'Pulling' : 'RollingOut', `${now} of ${count} replicas of release ${target?.number} are ready${old > 0 ? `, ${old} of older releases serve on` : ''}`)
}

function secretMissing({ missingSecrets, serving }: World): ConditionDraft {
  const onward = serving ? `; release ${serving.number} serves on` : ''
  return ready('False', 'RequiredSecretMissing', `the project has no secret ${missingSecrets.join(', ')}: set it, or take it out of the application${onward}`)
}

function dependencyMessage({ name, ready: state }: Dependency): string {
  if (!state) return `waits for ${name}, which the project does not have`
  return `waits for ${name}, which is not ready: ${state.current ? `${state.reason}: ${state.message}` : 'its newest change was not looked at yet'}`
}

/** Docker doubles its pause after each end and forgets that when a run lasts 10 s (docs.docker.com, restart policies). */
function crashMessage({ endpoint, container }: Replica): string {
  const how = container?.oomKilled ? ' for want of memory' : container?.exitCode === null ? '' : ` with exit code ${container?.exitCode}`
  const next = container?.state === 'restarting' ? '; Docker starts it again within a minute' : ''
  return `replica ${endpoint.replica} was restarted ${container?.restartCount} times, last ended${how}${next}`
}

function awayReason(away: UnreachableNode): string {
  return away.unreachable === 'DockerUnreachable' ? 'DockerUnreachable' : 'NodeUnreachable'
}

function deleting(world: World, wanted: Action[]): ConditionDraft {
  const { failures } = world.input
  const kept = wanted.flatMap((a) => (a.verb === 'removeVolume' ? [failures.get(a.key)] : [])).find((f) => f !== undefined)
  if (kept) return ready('False', kept.reason, `${kept.message}; ${nextTry(kept)}`)
  const left = world.nodes.reduce((sum, n) => sum + n.containers.length, 0)
  const failure = failureToStop(world, wanted)
  const why = failure ? `: ${failure.message}; ${nextTry(failure)}` : ''
  return ready('False', 'Deleting', `${left} containers are still to be removed${why}${deletedVolumesMessage(world)}`)
}

function resolving(world: World): ConditionDraft {
  const failure = world.input.failures.get(resolveKey(world.input.desired))
  const onward = world.serving ? `; release ${world.serving.number} serves on` : ''
  if (failure) return ready('False', failure.reason, `${failure.message}; ${nextTry(failure)}${onward}`)
  return ready('False', 'Resolving', `asking what ${withTag(world.input.desired.spec.image)} is${onward}`)
}

function failed({ latest, serving }: World): ConditionDraft {
  const onward = serving ? `release ${serving.number} serves on` : 'no earlier release can serve'
  const { reason, message } = latest?.verdict ?? { reason: 'ContainerExited', message: '' }
  return ready('False', reason, `release ${latest?.number} was given up: ${message}; ${onward}; change the application to try again`)
}

function scaledToZero(world: World): ConditionDraft {
  const left = world.replicas.length
  if (left === 0 && world.input.desired.spec.suspended) return ready('True', 'Suspended', 'a person suspended it: nothing runs until it is resumed')
  return left === 0
    ? ready('True', 'ScaledToZero', 'no replica is wanted and none runs')
    : ready('False', 'RollingOut', `${left} replicas are still leaving`)
}

/** The failure that keeps the target from becoming complete; one whose action is not wanted any more is history. */
function blockingFailure(world: World, wanted: Action[]): Failure | undefined {
  const { input, target } = world
  if (!target) return undefined
  const concerns = (action: Action) =>
    (action.verb === 'pullImage' && imageOfPull(action) === target.resolvedImage) ||
    action.key.startsWith(`ensure:${target.number}:`) ||
    action.verb === 'runToEnd' ||
    (action.verb === 'publishEndpoints' && !isPublished(world))
  const failed = wanted.find((a) => input.failures.has(a.key) && concerns(a))
  return failed ? input.failures.get(failed.key) : undefined
}

/** The failure of a stop. What leaves beside a complete set is no trouble; else it is what all the rest may wait for. */
function failureToStop({ input, replicas, count }: World, wanted: Action[]): Failure | undefined {
  if (count > 0 && replicas.filter((r) => r.wanted && serves(r)).length >= count) return undefined
  const failed = wanted.find((a) => a.verb === 'retireContainer' && input.failures.has(a.key))
  return failed && input.failures.get(failed.key)
}

function nextTry(failure: Failure): string {
  return failure.retryable
    ? `failed ${failure.count} times, next try at ${new Date(failure.nextTryAt).toISOString()}`
    : 'not tried again before the application changes'
}

function availability(world: World): ConditionDraft {
  const away = world.input.observed.find((o): o is UnreachableNode => o.unreachable !== null)
  if (away) return condition('Available', 'Unknown', awayReason(away), away.message)
  const count = world.replicas.filter(serves).length
  if (count > 0) return condition('Available', 'True', 'ReplicasReady', `${count} replicas take requests`)
  if (world.input.desired.spec.suspended) return condition('Available', 'False', 'Suspended', 'a person suspended it')
  return world.count === 0
    ? condition('Available', 'False', 'ScaledToZero', 'no replica is wanted')
    : condition('Available', 'False', 'NoReplicaReady', 'no replica takes requests')
}

function imageResolved(world: World): ConditionDraft {
  const failure = world.input.failures.get(resolveKey(world.input.desired))
  if (world.needsRelease && failure) return condition('ImageResolved', 'False', 'ResolveFailed', failure.message)
  if (world.needsRelease || !world.latest) return condition('ImageResolved', 'Unknown', 'Resolving', 'not looked yet')
  const { resolvedFrom, resolvedImage, template } = world.latest
  return resolvedFrom === 'registry'
    ? condition('ImageResolved', 'True', 'ResolvedByRegistry', `${template.image} is ${resolvedImage}`)
    : condition('ImageResolved', 'True', 'ResolvedLocally', `${template.image} is ${resolvedImage} on this node; no registry was asked successfully`)
}

function endpointsPublished(world: World): ConditionDraft {
  if (world.nodes.length === 0) return condition('EndpointsPublished', 'Unknown', 'Unobserved', 'no node could be read')
  const publication = publicationOf(world)
  if (!isPublished(world)) {
    const failure = [...world.input.failures.values()].find((f) => f.key.startsWith('publish:'))
    return failure
      ? condition('EndpointsPublished', 'False', 'PublishFailed', failure.message)
      : condition('EndpointsPublished', 'False', 'Publishing', 'DNS and ingress do not show the ready replicas yet')
  }
  return publication
    ? condition('EndpointsPublished', 'True', 'Published', `${publication.names.join(', ')} answers with ${publication.addresses.length} addresses`)
    : condition('EndpointsPublished', 'True', 'NothingToPublish', 'no replica was ready yet')
}

function draining(world: World): ConditionDraft {
  const all = world.replicas.filter((r) => r.endpoint.state === 'draining')
  const leaving = all.filter((r) => r.container)
  const hidden = all.filter((r) => r.hidden)
  if (leaving.length === 0) return hidden.length === 0 ? condition('Draining', 'False', 'NothingDrains', '') : drainingUnseen(hidden)
  const held = leaving.filter((r) => r.endpoint.readyAt !== null && r.endpoint.unroutedAt === null)
  if (held.length > 0 && silentNodes(world).length > 0 && isLiveWhereSeen(world)) return heldBySilence(world, held)
  const open = leaving.filter((r) => connectionsTo(world, r.endpoint.address) > 0)
  const list = listOf(leaving)
  if (open.length > 0) return condition('Draining', 'True', 'WaitingForConnections', `${list}: connections from the ingress are still open`)
  const waiting = leaving.some((r) => r.endpoint.unroutedAt === null || !r.busy)
  return condition('Draining', 'True', waiting ? 'WaitingForDns' : 'Stopping', list)
}

function drainingUnseen(hidden: Replica[]): ConditionDraft {
  const nodes = [...new Set(hidden.map((r) => r.endpoint.node))].join(', ')
  return condition('Draining', 'True', 'NodeUnreachable', `${listOf(hidden)}: stopped when node ${nodes} answers again`)
}

function heldBySilence(world: World, held: Replica[]): ConditionDraft {
  const since = held.map((r) => r.endpoint.stateAt)
  const at = (ms: number) => new Date(ms).toISOString()
  const nodes = silentNodes(world).join(', ')
  return condition(
    'Draining',
    'True',
    'WaitingForNode',
    `${listOf(held)}: node ${nodes} does not answer and may still send requests there; waited for since ${at(Math.min(...since))}, until ${at(Math.max(...since) + silenceHoldsMs)} at the latest`,
  )
}

function listOf(replicas: Replica[]): string {
  return replicas.map(({ endpoint }) => `release ${endpoint.release} replica ${endpoint.replica}`).join(', ')
}
