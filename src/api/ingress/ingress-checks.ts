import { heldHostPorts, ingressOf, lockHostPorts, type HeldHostPort } from '../../persistence/application-claims.js'
import type { Transaction } from '../../persistence/database.js'
import { canonicalJson } from '../../reconcile/hash.js'
import { ingressHostPorts, type IngressSpec } from '../../reconcile/ingress/spec.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { heldMessage } from '../resource/held-port.js'
import type { IngressCode } from './ingress.payload.js'

export type IngressError = UserErrorValue<IngressCode>

/** What an ingress of this spec would collide with. Looks only at what the write changes. */
export async function ingressConflicts(
  tx: Transaction,
  id: string | null,
  before: IngressSpec | null,
  spec: IngressSpec,
): Promise<IngressError[] | null> {
  await lockHostPorts(tx)
  const moves = before === null || before.node !== spec.node
  const missing = moves ? await nodeErrors(tx, id, spec) : []
  if (missing.length > 0) return missing
  const ports = ingressHostPorts(spec)
  if (!moves && canonicalJson(ports) === canonicalJson(ingressHostPorts(before))) return null
  const held = await heldHostPorts(tx, { id, node: spec.node, ports })
  return held.length > 0 ? held.map(portError) : null
}

async function nodeErrors(tx: Transaction, id: string | null, { node }: IngressSpec): Promise<IngressError[]> {
  const field = ['input', 'node']
  if (node !== undefined && (await tx.resource.count({ where: { kind: 'node', name: node } })) === 0)
    return [{ field, message: `there is no node «${node}»`, code: 'NODE_NOT_FOUND' }]
  const other = await ingressOf(tx, id, node)
  if (!other) return []
  const message = `node ${other.node} has the ingress ${other.project}/${other.name} (${other.id}): change that one, or name another node`
  return [{ field, message, code: 'NODE_HAS_INGRESS' }]
}

/** The first of its ports is that for HTTP. */
function portError(held: HeldHostPort): IngressError {
  return { field: ['input', held.index === 0 ? 'httpPort' : 'httpsPort'], message: heldMessage(held), code: 'HOST_PORT_TAKEN' }
}
