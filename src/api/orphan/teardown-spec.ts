import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import type { ReconciledKind } from '../../reconcile/kind.js'
import type { NginxdemoSpec } from '../../reconcile/nginxdemo/spec.js'

/** The spec of a resource that is born only to be torn down on `node`: nothing is ever started from it. */
export function teardownSpec(kind: ReconciledKind, node: string): ApplicationSpec | NginxdemoSpec {
  return kind === 'application' ? { image: 'evenkeel/none', replicas: 0, placement: { node } } : { hostPort: 1 }
}
