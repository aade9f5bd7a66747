import type Docker from 'dockerode'
import { label } from '../reconcile/labels.js'
import type { SetupLog } from './setup-log.js'

/** How many containers are stopped side by side. */
const AT_ONCE = 16
const DEFAULT_STOP_GRACE_SECONDS = 10

/** What an engine holds of one instance, by number. */
export interface OwnedCount {
  readonly containers: number
  readonly networks: number
  readonly volumes: number
}

/** The ids of all instances that own containers on this engine, with how many they have. */
export async function instancesOn(docker: Docker): Promise<Map<string, number>> {
  const containers = await docker.listContainers({ all: true, filters: { label: [label.instance] } })
  const counts = new Map<string, number>()
  for (const { Labels } of containers) {
    const instance = Labels[label.instance] ?? ''
    counts.set(instance, (counts.get(instance) ?? 0) + 1)
  }
  return counts
}

/**
 * Removes what carries this instance's label and nothing else: containers after their grace, then networks, and
 * volumes only when asked. What is already gone is no error.
 */
export async function removeOwned(docker: Docker, instance: string, withVolumes: boolean, log: SetupLog): Promise<OwnedCount> {
  const filters = { label: [`${label.instance}=${instance}`] }
  const containers = await docker.listContainers({ all: true, filters })
  if (containers.length > 0) log(`stopping ${containers.length} containers`)
  await inBatches(containers, async ({ Id, Labels }) => {
    const container = docker.getContainer(Id)
    await unlessGone(container.stop({ t: graceSeconds(Labels) }))
    await unlessGone(container.remove({ force: true, v: withVolumes }))
  })
  const networks = await docker.listNetworks({ filters })
  await inBatches(networks, ({ Id, Name }) => removeNetwork(docker, Id, Name))
  const volumes = withVolumes ? ((await docker.listVolumes({ filters })).Volumes ?? []) : []
  await inBatches(volumes, ({ Name }) => unlessGone(docker.getVolume(Name).remove()))
  return { containers: containers.length, networks: networks.length, volumes: volumes.length }
}

async function removeNetwork(docker: Docker, id: string, name: string): Promise<void> {
  const network = docker.getNetwork(id)
  try {
    await unlessGone(network.remove())
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 403) throw error
    const { Containers = {} } = (await network.inspect()) as { Containers?: Record<string, { Name: string }> }
    const attached = Object.values(Containers).map((c) => c.Name)
    const cure =
      attached.length > 0
        ? `${attached.join(', ')} of somebody else ${attached.length > 1 ? 'are' : 'is'} attached to it: disconnect or remove`
        : 'the engine still counts an endpoint of a container that is gone, a fault of its own: restart the engine'
    throw new Error(`network ${name} cannot be removed: ${cure}, and run this command again`, { cause: error })
  }
}

function graceSeconds(labels: Readonly<Record<string, string>>): number {
  const seconds = Number(labels[label.stopGrace])
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : DEFAULT_STOP_GRACE_SECONDS
}

async function inBatches<T>(things: readonly T[], act: (thing: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < things.length; start += AT_ONCE) {
    await Promise.all(things.slice(start, start + AT_ONCE).map(act))
  }
}

/** 304: already stopped; 404: already removed; 409: its removal is under way. */
async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    const status = (error as { statusCode?: number }).statusCode
    if (status === undefined || ![304, 404, 409].includes(status)) throw error
  }
}
