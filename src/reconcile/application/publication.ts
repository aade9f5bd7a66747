import type { Publication } from '../action.js'
import { shortHash } from '../hash.js'
import type { Release } from './desired.js'
import { serves, type World } from './world.js'

/** The zone below which all names of this platform live. */
export const internalZone = 'internal'

/** What readers (DNS and ingress files) should show now; null = nothing, not even the name. */
export function publicationOf(world: World): Publication | null {
  const { resource } = world.input
  // Silence of a node is not death: what was ready on it stays shown by the others.
  const replicas = world.replicas.filter((r) => (r.hidden ? r.endpoint.state === 'ready' : serves(r)))
  const addresses = replicas.map((r) => r.endpoint.address).sort()
  const shown = world.nodes.some((n) => n.published !== null)
  if (resource.deleting || (addresses.length === 0 && !shown)) return null
  const port = portOf(world.serving ?? world.target ?? world.latest)
  const others = replicas.flatMap(({ release, endpoint }): [string, number][] => {
    const own = portOf(release)
    return own === null || own === port ? [] : [[endpoint.address, own]]
  })
  return {
    names: [`${resource.name}.${resource.project}.${internalZone}`],
    addresses,
    port,
    ...(others.length > 0 ? { otherPorts: Object.fromEntries(others) } : {}),
  }
}

function portOf(release: Release | undefined): number | null {
  return release?.template.ports?.[0] ?? null
}

/** What should be shown is shown on every node, and no earlier publication on its way can still replace it. */
export function isLive(world: World): boolean {
  const { observed, inFlight } = world.input
  const revision = revisionOf(publicationOf(world))
  return (
    observed.every((o) => o.unreachable === null && o.published === revision) &&
    !inFlight.some((a) => a.verb === 'publishEndpoints')
  )
}

export function revisionOf(publication: Publication | null): string | null {
  return publication === null ? null : shortHash(publication)
}
