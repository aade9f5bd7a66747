import type { Controller, ResourceView } from '../controller.js'
import type { ObserveRequest } from '../observed.js'
import { withTag } from '../name.js'
import { applyApplicationRecord, type ApplicationDesired, type ApplicationRecord } from './desired.js'
import { planApplication } from './plan.js'

/** The application kind: replicas of one image, changed without losing a request. */
export const applicationController: Controller<ApplicationDesired, ApplicationRecord> = {
  kind: 'application',
  observeRequests: observeApplication,
  plan: planApplication,
  applyRecord: applyApplicationRecord,
}

function observeApplication(resource: ResourceView, desired: ApplicationDesired): ObserveRequest[] {
  // Every node's ingress may hold connections to a replica, wherever that runs.
  const connectionsTo = desired.endpoints.filter((e) => e.state === 'draining').map((e) => e.address)
  const nodes = new Set([desired.node, ...desired.endpoints.map((e) => e.node)])
  const images = new Set([withTag(desired.spec.image), ...desired.releases.slice(-3).map((r) => r.resolvedImage)])
  for (const { release } of desired.endpoints) {
    const used = desired.releases.find((r) => r.number === release)
    if (used) images.add(used.resolvedImage)
  }
  return [...nodes].sort().map((node) => ({
    node,
    kind: resource.kind,
    resource: resource.id,
    images: [...images].sort(),
    connectionsTo,
  }))
}
