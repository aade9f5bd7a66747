import type { Controller, ResourceView } from '../controller.js'
import type { ObserveRequest } from '../observed.js'
import { withTag } from '../name.js'
import { applyApplicationRecord, type ApplicationDesired, type ApplicationRecord } from './desired.js'
import { planApplication } from './plan.js'
import { nodesAskedForVolumes } from './volumes.js'
import { asksForRelease } from './world.js'

/** The application kind: replicas of one image, changed without losing a request. */
export const applicationController: Controller<ApplicationDesired, ApplicationRecord> = {
  kind: 'application',
  observeRequests: observeApplication,
  plan: planApplication,
  applyRecord: applyApplicationRecord,
  // An ingress serves what is or may be published on its node.
  concernsOthers: (record) => record.type === 'published' || record.type === 'unpublished',
}

function observeApplication(resource: ResourceView, desired: ApplicationDesired): ObserveRequest[] {
  // Every node's ingress may hold connections to a replica, wherever that runs.
  const connectionsTo = desired.endpoints.filter((e) => e.state === 'draining').map((e) => e.address)
  const nodes = new Set([desired.node, ...desired.endpoints.map((e) => e.node), ...desired.publishedOn])
  const forVolumes = nodesAskedForVolumes(resource, desired)
  const wanted = withTag(desired.spec.image)
  const images = new Set([wanted])
  const { registryCredential, pullPolicy } = desired.spec
  // A look has neither a log-in nor the time to do without the node's own copy.
  const resolving = !resource.deleting && asksForRelease(resource, desired) && registryCredential === undefined && pullPolicy === undefined
  const serving = desired.releases.findLast((r) => r.servingAt !== null && r.verdict === null)
  for (const release of desired.releases) {
    const used = release === serving || release === desired.releases.at(-1) || desired.endpoints.some((e) => e.release === release.number)
    if (!used) continue
    images.add(release.resolvedImage)
    if (release.resolvedImage.startsWith('sha256:')) images.add(withTag(release.template.image))
  }
  return [...new Set([...nodes, ...forVolumes])].sort().map((node) => ({
    node,
    kind: resource.kind,
    resource: resource.id,
    images: [...images].sort(),
    connectionsTo,
    ...(resolving && node === desired.node ? { resolve: wanted } : {}),
    ...(resource.deleting || forVolumes.includes(node) ? { volumes: true as const } : {}),
  }))
}
