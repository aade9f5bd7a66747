import type { Engine, EngineContainer } from '../adapters/docker/engine.js'
import { EngineFailure } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import type { NodeObservation, Observation, ObservedContainer, ObserveRequest } from '../reconcile/observed.js'
import type { ConnectionCounter } from './connections.js'
import type { ImageResolver } from './image-resolver.js'
import type { Clock, EndpointReaders, IngressNode, Readiness, StateFolderSource } from './ports.js'
import type { ToldStates } from './told-states.js'
import type { WatchSpan } from './watch-span.js'

export interface ObserverPorts {
  instance: string
  node: string
  engine: Engine
  prober: Readiness
  publisher: EndpointReaders
  ingress: Pick<IngressNode, 'observe'>
  folders: Pick<StateFolderSource, 'lost'>
  connections: ConnectionCounter
  resolver: Pick<ImageResolver, 'quickly'>
  told: Pick<ToldStates, 'asked'>
  span: Pick<WatchSpan, 'answered' | 'missed'>
  clock: Pick<Clock, 'now'>
  /** Control plane's clock minus ours, milliseconds. */
  clockOffsetMs(): number
}

/** Reads what is there for one resource, from the engine itself and never from a memory of it. */
export function createObserver(ports: ObserverPorts): (request: ObserveRequest) => Promise<Observation> {
  return async (request) => {
    const ref = { kind: request.kind, resource: request.resource }
    try {
      const seen = await observe(ports, request)
      ports.told.asked(ref, seen.containers.length)
      return seen
    } catch (error) {
      if (error instanceof EngineFailure && error.reason === 'DockerUnreachable') {
        ports.told.asked(ref, null)
        return { node: ports.node, unreachable: 'DockerUnreachable', message: error.message }
      }
      throw error
    }
  }
}

async function observe(ports: ObserverPorts, request: ObserveRequest): Promise<NodeObservation> {
  const { engine, connections, publisher, resolver } = ports
  const labels = { [label.instance]: ports.instance, [label.kind]: request.kind, [label.resource]: request.resource }
  const imageId = async (image: string): Promise<[string, string | null]> => [image, await engine.imageId(image)]
  const resolving = async (image: string) => {
    const resolved = await resolver.quickly(image)
    return resolved && { image, resolved, local: await imageId(resolved.resolved) }
  }
  const [containers, images, counted, found, ingress, volumes] = await Promise.all([
    engine.list(labels),
    Promise.all(request.images.map(imageId)),
    connections.count(request.connectionsTo),
    request.resolve === undefined ? null : resolving(request.resolve),
    request.ingress === undefined ? null : ports.ingress.observe(request.ingress),
    request.volumes ? engine.volumes(labels) : null,
  ])
  const observed = containers.map((c) => toObserved(c, ports))
  const now = ports.clock.now()
  ports.span.answered(now)
  return {
    node: ports.node,
    unreachable: null,
    observedAt: now + ports.clockOffsetMs(),
    containers: observed,
    images: Object.fromEntries(found ? [...images, found.local] : images),
    published: publisher.liveRevision(request.resource),
    connections: counted,
    ...(ingress ? { ingress } : {}),
    ...(volumes ? { volumes } : {}),
    ...(found ? { resolved: { image: found.image, ...found.resolved } } : {}),
  }
}

function toObserved(container: EngineContainer, { prober, clockOffsetMs, span, folders }: ObserverPorts): ObservedContainer {
  const { labels, startedAt } = container
  prober.track(container)
  return {
    id: container.id,
    name: container.name,
    release: Number(labels[label.release] ?? 0),
    replica: Number(labels[label.replica] ?? 0),
    specHash: labels[label.specHash] ?? '',
    imageId: container.imageId,
    state: container.state,
    exitCode: container.exitCode,
    ...(container.exitCode !== null && span.missed(container.finishedAt) ? { endedUnseen: true } : {}),
    oomKilled: container.oomKilled,
    startedAt: startedAt === null ? null : startedAt + clockOffsetMs(),
    restartCount: container.restartCount,
    restartPolicy: container.restartPolicy,
    address: container.address,
    limits: container.limits,
    ...(folders.lost(labels) ? { foldersLost: true } : {}),
    ...(labels[label.purpose] === 'pre-deploy' ? { purpose: 'pre-deploy' as const } : {}),
    probe: prober.stateOf(container),
  }
}
