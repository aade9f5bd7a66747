import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import type { IngressSpec } from '../../reconcile/ingress/spec.js'
import type { ReconciledKind } from '../../reconcile/kind.js'
import type { NginxdemoSpec } from '../../reconcile/nginxdemo/spec.js'

/** The spec of a resource that is born only to be torn down on `node`: nothing is ever started from it. */
export function teardownSpec(kind: ReconciledKind, node: string): ApplicationSpec | IngressSpec | NginxdemoSpec {
  switch (kind) {
    case 'application':
      return { image: 'evenkeel/none', replicas: 0, placement: { node } }
    case 'ingress':
      return { node }
    case 'nginxdemo':
      return { hostPort: 1 }
  }
}
