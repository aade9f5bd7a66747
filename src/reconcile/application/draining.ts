import { isLiveWhereSeen, silenceLeftMs } from './publication.js'
import { applicationDefaults } from './spec.js'
import { connectionsTo, serves, type Replica, type World } from './world.js'

/** How often open connections of a leaving replica are counted: nobody tells of their end. */
const connectionsPollMs = 1_000
/**
 * While its successor cannot start, nobody is served. Connections that ingress only keeps for later look like any other, so
 * after this time what is really under way is left to the program's own end: it has its full grace.
 */
const inTheWayMostMs = 1_000

/**
 * How long a draining replica has to stay: until DNS and ingress no longer name it, no resolver's answer with it
 * can be alive, and no ingress connection is open to it, but at most drainSeconds. null = until something is seen.
 */
export function drainLeftMs(world: World, replica: Replica): number | null {
  const { endpoint, container } = replica
  if (endpoint.readyAt === null) return 0
  // Also of one that is down: Docker may start it again any moment, and readers would find it for just as long.
  if (endpoint.unroutedAt === null) return isLiveWhereSeen(world) ? silenceLeftMs(world, endpoint) : null
  if (container?.state !== 'running') return 0
  const { now } = world.input
  const since = now - endpoint.unroutedAt
  const mostMs = drainMostMs(world, replica)
  const dnsMs = resolversForgetMs(world, replica)
  if (since < dnsMs) return dnsMs - since
  if (since >= mostMs || connectionsTo(world, endpoint.address) === 0) return 0
  return Math.min(connectionsPollMs, mostMs - since)
}

/**
 * Nothing but connections that are open holds it: a WebSocket, a long download. It gets no new work, so it need not keep
 * the next one from leaving.
 */
export function lingers(world: World, replica: Replica): boolean {
  const { endpoint } = replica
  if (endpoint.state !== 'draining' || endpoint.unroutedAt === null || connectionsTo(world, endpoint.address) === 0) return false
  return world.input.now - endpoint.unroutedAt >= resolversForgetMs(world, replica)
}

function drainMostMs(world: World, replica: Replica): number {
  const askedMs = (world.input.desired.spec.drainSeconds ?? applicationDefaults.drainSeconds) * 1000
  return isInTheWay(world, replica) ? Math.min(askedMs, inTheWayMostMs) : askedMs
}

/** Its successor waits for its end, and until then nobody serves. */
function isInTheWay({ strategy, target, count, replicas }: World, { endpoint }: Replica): boolean {
  if (strategy.kind !== 'recreate' || !target || count === 0 || endpoint.release === target.number) return false
  return !replicas.some(serves)
}

/** How long a resolver's answer may still name what is shown no longer. */
function resolversForgetMs(world: World, replica: Replica): number {
  // Others that have just fallen come back; what still finds this one must not be cut off for that. Recreate waits for nobody.
  const others =
    (world.count > 0 && !replica.wanted && world.strategy.kind !== 'recreate') || world.replicas.some((r) => r.endpoint.state === 'ready')
  return Math.min(others ? (world.input.desired.dnsTtlSeconds + 1) * 1000 : 0, drainMostMs(world, replica))
}
