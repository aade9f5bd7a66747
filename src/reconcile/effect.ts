import type { Action, ContainerSpecGiven, ResourceLimits } from './action.js'
import { label } from './labels.js'
import type { NodeObservation, Observation, ObservedContainer } from './observed.js'
import { imageOfPull } from './pull-key.js'

/**
 * The model of what an action does to the world: serves preview, property tests and simulation.
 * `healthy` says whether a started container turns ready at once.
 */
export function effect(observed: Observation[], action: Action, now: number, healthy = true): Observation[] {
  return observed.map((o) => (o.unreachable === null && o.node === action.node ? onNode(o, action, now, healthy) : o))
}

function onNode(node: NodeObservation, action: Action, now: number, healthy: boolean): NodeObservation {
  switch (action.verb) {
    case 'resolveImage':
    case 'keepLog':
      return node
    case 'setResources': {
      const { name, resources } = action.args
      return updated(node, name, (c) => ({ ...c, limits: merged(c.limits, resources) }))
    }
    case 'loadIngressConfig':
      return { ...node, ingress: { certificates: {}, ...node.ingress, loaded: action.args.config } }
    case 'restartContainer':
      return updated(node, action.args.name, (c) => ({ ...c, startedAt: now, probe: { ...c.probe, ready: healthy, live: null } }))
    case 'removeVolume':
      return node.volumes ? { ...node, volumes: node.volumes.filter((name) => name !== action.args.name) } : node
    case 'runToEnd':
      return node.containers.some((c) => c.name === action.args.container.name)
        ? node
        : { ...withVolumes(node, action.args.container), containers: [...node.containers, ended(action.args.container, now)] }
    case 'pullImage':
      return { ...node, images: { ...node.images, ...pulled(action) } }
    case 'publishEndpoints':
      return { ...node, published: action.args.publication === null ? null : action.args.revision }
    case 'retireContainer':
      return { ...node, containers: node.containers.filter((c) => c.name !== action.args.name) }
    case 'setRestartPolicy':
      return updated(node, action.args.name, (c) => ({ ...c, restartPolicy: action.args.policy }))
    case 'ensureContainer': {
      const { container } = action.args
      const started = {
        state: 'running',
        exitCode: null,
        oomKilled: false,
        startedAt: now,
        probe: { ready: container.labels[label.probe] === undefined ? null : healthy, message: '' },
      } as const
      const existing = node.containers.find((c) => c.name === container.name)
      if (existing) {
        // Adopted and started in place, with the id, address and policy that it has; another's container keeps the name.
        const startable = existing.specHash === container.labels[label.specHash] && existing.state !== 'running'
        return startable ? updated(node, container.name, (c) => ({ ...c, ...started })) : node
      }
      return { ...withVolumes(node, container), containers: [...node.containers, { ...created(container, now), ...started }] }
    }
  }
}

/** Missing volumes are made together with the container that mounts them. */
function withVolumes(node: NodeObservation, { mounts = [] }: ContainerSpecGiven): NodeObservation {
  if (!node.volumes) return node
  const mounted = mounts.flatMap((m) => (m.kind === 'volume' ? [m.source] : []))
  return { ...node, volumes: [...new Set([...node.volumes, ...mounted])].sort() }
}

function created(
  container: ContainerSpecGiven,
  now: number,
): Omit<ObservedContainer, 'state' | 'exitCode' | 'oomKilled' | 'startedAt' | 'probe'> {
  return {
    id: `id-${container.name}-${now}`,
    name: container.name,
    release: Number(container.labels[label.release] ?? 0),
    replica: Number(container.labels[label.replica] ?? 0),
    specHash: container.labels[label.specHash] ?? '',
    imageId: container.image,
    restartCount: 0,
    restartPolicy: container.restartPolicy,
    address: container.address,
    limits: container.resources ?? noLimits,
  }
}

function ended(container: ContainerSpecGiven, now: number): ObservedContainer {
  return {
    ...created(container, now),
    state: 'exited',
    exitCode: 0,
    oomKilled: false,
    startedAt: now,
    probe: { ready: null, message: '' },
    purpose: 'pre-deploy',
  }
}

const noLimits: ResourceLimits = { memoryBytes: null, nanoCpus: null }

/** What is not limited anew keeps its limit: Docker takes none away from a living container. */
function merged(before: ResourceLimits = noLimits, { memoryBytes, nanoCpus }: ResourceLimits): ResourceLimits {
  return { memoryBytes: memoryBytes ?? before.memoryBytes, nanoCpus: nanoCpus ?? before.nanoCpus }
}

function pulled(action: Extract<Action, { verb: 'pullImage' }>): Record<string, string> {
  const meant = imageOfPull(action)
  return { [action.args.image]: imageIdFor(meant), [meant]: imageIdFor(meant) }
}

function imageIdFor(image: string): string {
  if (image.startsWith('sha256:')) return image
  return image.includes('@') ? image.slice(image.indexOf('@') + 1) : `sha256:${image}`
}

function updated(node: NodeObservation, name: string, change: (c: ObservedContainer) => ObservedContainer): NodeObservation {
  return { ...node, containers: node.containers.map((c) => (c.name === name ? change(c) : c)) }
}
