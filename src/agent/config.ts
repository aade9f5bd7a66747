import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** What joining a node leaves on its disk (0600): who it is, whom it talks to, and whose signatures it obeys. */
export const agentConfigSchema = z.object({
  instance: z.string(),
  node: z.string(),
  /** http(s)://host:port of the API. */
  apiUrl: z.string(),
  channelToken: z.string(),
  /** Two at most: the current key and, during a rotation, the next. */
  pinnedKeys: z
    .array(z.object({ keyId: z.string(), publicKey: z.string() }))
    .min(1)
    .max(2),
  temporal: z.object({ address: z.string(), namespace: z.string() }),
  /** Folder for endpoint files, DNS files, fences and last known good artifacts. */
  stateDir: z.string(),
  /** null = DOCKER_HOST or the default socket. */
  dockerSocket: z.string().nullable().default(null),
})
export type AgentConfig = z.infer<typeof agentConfigSchema>

export function readAgentConfig(path: string): AgentConfig {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot read the agent's configuration ${path}: ${(error as Error).message}; join the node first`)
  }
  return agentConfigSchema.parse(JSON.parse(text))
}
