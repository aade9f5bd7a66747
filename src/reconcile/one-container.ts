import type { Action, ContainerSpecGiven } from './action.js'
import type { ResourceView } from './controller.js'
import { containerName, label } from './labels.js'
import type { NodeObservation, ObservedContainer } from './observed.js'
import { pullKey } from './pull-key.js'
import { retireAction } from './retire-action.js'

/** What a resource that is one container on one node wants there. */
export interface OneContainer {
  node: NodeObservation
  /** null: nothing is to be left of it. */
  wanted: ContainerSpecGiven | null
  image: string
  stopGraceSeconds: number
}

/** The container that is the wanted one, whatever its state. */
export function currentOf({ node, wanted }: OneContainer): ObservedContainer | undefined {
  return node.containers.find((c) => wanted !== null && isCurrent(c, wanted))
}

/** A container whose folders were removed and made again reads those that are gone: it is as good as another one. */
function isCurrent(container: ObservedContainer, wanted: ContainerSpecGiven): boolean {
  return container.name === wanted.name && container.specHash === wanted.labels[label.specHash] && container.foldersLost !== true
}

/** The next steps to exactly this one, running; none when it is so, or when Docker is about to start it. */
export function keepOne(one: OneContainer): Action[] {
  const { node, wanted, image, stopGraceSeconds } = one
  const current = currentOf(one)
  const retires = node.containers
    .filter((c) => c !== current)
    .map((c) => retireAction({ name: c.name, node: node.node, graceSeconds: stopGraceSeconds, summary: `stop ${c.name}` }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  if (wanted === null || current?.state === 'running' || current?.state === 'restarting') return retires
  // The old one serves on until its successor can be made.
  if (!current && node.images[image] === null) return [pull(image, node.node)]
  // Two containers cannot hold the ports at once: the old one goes first.
  return retires.length > 0 ? retires : [ensure(wanted, node.node)]
}

/** How the container of such a resource is called, and whose it is. */
export function identityOf(
  instance: string,
  resource: ResourceView,
  specHash: string,
): Pick<ContainerSpecGiven, 'name' | 'labels'> {
  return {
    name: containerName(instance, resource.id, 0, 0),
    labels: {
      [label.instance]: instance,
      [label.kind]: resource.kind,
      [label.resource]: resource.id,
      [label.name]: resource.name,
      [label.project]: resource.project,
      [label.release]: '0',
      [label.replica]: '0',
      [label.specHash]: specHash,
    },
  }
}

function pull(image: string, node: string): Action {
  return {
    key: pullKey(node, image),
    verb: 'pullImage',
    args: { image },
    node,
    queue: 'long',
    container: null,
    timeoutSeconds: 1_800,
    supersedable: true,
    summary: `pull ${image}`,
  }
}

function ensure(container: ContainerSpecGiven, node: string): Action {
  return {
    key: 'ensure:0:0',
    verb: 'ensureContainer',
    args: { container, awaitReadyMs: 0 },
    node,
    queue: 'short',
    container: container.name,
    timeoutSeconds: 60,
    supersedable: false,
    summary: `start ${container.image}`,
  }
}
