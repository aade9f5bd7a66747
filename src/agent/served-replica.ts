import type { EngineContainer } from '../adapters/docker/engine.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { containerName, label } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'

export interface ReplicaRef {
  resource: string
  release: number
  replica: number
}

/** A replica's container. Its labels must say that it is this instance's and this resource's, whoever asks. */
export async function replicaContainer(
  instance: string,
  engine: Pick<NodeEngine, 'inspect'>,
  { resource, release, replica }: ReplicaRef,
): Promise<EngineContainer> {
  const found = await engine.inspect(containerName(instance, resource, release, replica))
  if (found?.labels[label.instance] === instance && found.labels[label.resource] === resource) return found
  throw new ActionFailure('NotFound', `there is no container of replica ${replica} of release ${release} here`, true)
}
