import { shortHash } from './hash.js'
import type { UnreachableNode } from './observed.js'

const agentAwayPollMs = 10_000
/** Its agent tells when the engine answers again, so this is only for what the agent forgets by being started anew. */
const engineAwayPollMs = 30_000
const spreadMs = 15_000

/** When to look again at a node that could not be read. A whole fleet waits for the same engine: each resource at another time. */
export function awayPollMs({ unreachable }: UnreachableNode, resource: string): number {
  if (unreachable !== 'DockerUnreachable') return agentAwayPollMs
  return engineAwayPollMs + (Number.parseInt(shortHash(resource).slice(0, 8), 16) % spreadMs)
}
