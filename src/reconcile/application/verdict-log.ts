import type { Action } from '../action.js'
import type { Release } from './desired.js'
import type { World } from './world.js'

/** Enough to see why it ended. */
const lines = 50

export const verdictLogKey = (release: Release) => `log:${release.number}`

/** The container whose last words are to be kept before it is removed; undefined when there is none, or when that failed. */
export function lastWordsOf(world: World): { release: Release; node: string; name: string } | undefined {
  const { latest, input, nodes } = world
  if (!latest?.verdict || latest.verdictLog !== null || input.resource.deleting || input.failures.has(verdictLogKey(latest))) return undefined
  const found = nodes
    .flatMap(({ node, containers }) => containers.map((container) => ({ node, container })))
    .filter(({ container: c }) => c.release === latest.number && c.specHash === latest.hash && c.state !== 'created' && !isFine(c))
    .sort((a, b) => (a.container.name < b.container.name ? -1 : 1))[0]
  return found && { release: latest, node: found.node, name: found.container.name }
}

function isFine({ state, probe }: { state: string; probe: { ready: boolean | null } }): boolean {
  return state === 'running' && probe.ready === true
}

export function keepsLog(world: World): Action[] {
  const words = lastWordsOf(world)
  if (!words) return []
  return [
    {
      key: verdictLogKey(words.release),
      verb: 'keepLog',
      args: { name: words.name, lines },
      node: words.node,
      queue: 'short',
      container: null,
      timeoutSeconds: 20,
      supersedable: false,
      summary: `keep the last lines of release ${words.release.number}, which was given up`,
    },
  ]
}
