import { ActionFailure } from '../action-failure.js'
import type { IngressNode, StateFolderSource } from '../ports.js'

/** A node that has no ingress, for simulations and tests of something else. */
export const noIngress: { ingress: IngressNode; folders: StateFolderSource } = {
  ingress: {
    load: () => Promise.reject(new ActionFailure('IngressNotRunning', 'there is no ingress here', true)),
    observe: () => Promise.resolve({ loaded: null, certificates: {} }),
  },
  folders: { mounted: (spec) => spec, lost: () => false },
}
