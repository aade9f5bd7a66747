import Docker from 'dockerode'
import { label } from '../reconcile/labels.js'

/** By resource: the addresses of this instance's containers that run on this machine's engine; null when it does not answer. */
export async function runningAddresses(instance: string): Promise<Map<string, Set<string>> | null> {
  const containers = await new Docker({ timeout: 5_000 })
    .listContainers({ filters: { label: [`${label.instance}=${instance}`] } })
    .catch(() => null)
  if (!containers) return null
  const addresses = new Map<string, Set<string>>()
  for (const { Labels, NetworkSettings } of containers) {
    const resource = Labels[label.resource] ?? ''
    const found = Object.values(NetworkSettings?.Networks ?? {}).map((n) => n.IPAddress)
    addresses.set(resource, new Set([...(addresses.get(resource) ?? []), ...found]))
  }
  return addresses
}
