import type { EngineContainer } from '../adapters/docker/engine.js'
import { belongsTo, label, type Owner } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'

/**
 * What does not carry this instance's and this resource's labels is never started, stopped or removed. Whoever put it there
 * may take it away any moment, and nobody would tell: so it is tried again.
 */
export function requireOwn(found: EngineContainer, owner: Owner): void {
  if (belongsTo(found.labels, owner)) return
  throw new ActionFailure(
    'NameTaken',
    `the name ${found.name} is held by container ${shortId(found)}, ${whose(found.labels, owner)}: remove or rename that container`,
    true,
  )
}

/** The container that an action is about; one that is gone is no success of an action that changes it. */
export function requireFound(found: EngineContainer | null, name: string, owner: Owner): EngineContainer {
  if (!found) throw new ActionFailure('NotFound', `there is no container ${name}`, true)
  requireOwn(found, owner)
  return found
}

export function shortId({ id }: EngineContainer): string {
  return id.slice(0, 12)
}

/** As a relative clause. */
export function whose(labels: Record<string, string>, owner: Owner): string {
  const instance = labels[label.instance]
  if (instance === undefined) return 'which is not from Evenkeel'
  if (instance !== owner.instance) return `which belongs to another Evenkeel instance (${instance})`
  return `which belongs to ${labels[label.kind]} ${labels[label.resource]}`
}
