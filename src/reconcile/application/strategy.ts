import type { ApplicationDesired } from './desired.js'
import { applicationDefaults } from './spec.js'

/** How one release takes the place of another. */
export interface Strategy {
  kind: 'rolling' | 'recreate' | 'blue-green'
  /** Why it is not the one that was asked for, and what to change; null = it is. */
  fallback: string | null
}

/** What one container alone can hold cannot be held by an old and a new one at a time. */
export function strategyOf({ spec }: ApplicationDesired): Strategy {
  const asked = spec.strategy ?? applicationDefaults.strategy
  const held = asked === 'recreate' ? null : heldAlone(spec)
  return held === null ? { kind: asked, fallback: null } : { kind: 'recreate', fallback: `${asked} is not possible: ${held}` }
}

function heldAlone({ publishedPorts, volumes }: ApplicationDesired['spec']): string | null {
  const [published] = publishedPorts ?? []
  if (published)
    return `host port ${published.hostPort} can be held by one container at a time; without a published port requests come through ingress, and none is lost`
  const written = volumes?.find((v) => v.readOnly !== true)
  if (written)
    return `volume ${written.name} is written to, and two releases at a time would both write; make it read-only, or keep the data in another application`
  return null
}

/** Replicas that may be there beyond the wanted number. */
export function surgeOf({ kind }: Strategy, count: number): number {
  if (kind === 'recreate') return 0
  return kind === 'blue-green' ? Math.max(1, count) : Math.max(1, Math.ceil(count / 4))
}
