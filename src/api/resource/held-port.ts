import type { HeldHostPort } from '../../persistence/application-claims.js'
import { hostPortText } from '../../reconcile/application/spec.js'

/** Who has a host port, in words. */
export function heldMessage({ port, node, holder }: HeldHostPort): string {
  const who = `${holder.kind} ${holder.name} (${holder.id}) of project ${holder.project}`
  return `${hostPortText(port)} of node ${node} is held by ${who}: choose another port, or take it away there first`
}
