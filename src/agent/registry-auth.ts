import type { RegistryAuth } from '../adapters/docker/engine.js'
import { registryHostOf } from '../adapters/docker/reference.js'
import type { ActionContext } from './executor.js'

const dockerHubNames = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com'])

/** What the engine shows to the image's registry; a credential goes to no other host than its own. null = nothing. */
export async function authFor(
  image: string,
  name: string | null,
  { credentials, owner, signal }: ActionContext,
): Promise<RegistryAuth | null> {
  if (name === null) return null
  const { host, username, password } = await credentials.credential(owner.resource, name, signal)
  const registry = plainHost(host)
  if (plainHost(registryHostOf(image)) !== registry) return null
  return { username, password, serveraddress: registry === 'docker.io' ? 'https://index.docker.io/v1/' : registry }
}

/** People write a registry with or without scheme and path, and Docker Hub has several names. */
export function plainHost(host: string): string {
  const plain =
    host
      .replace(/^https?:\/\//i, '')
      .split('/')[0]
      ?.toLowerCase() ?? ''
  return dockerHubNames.has(plain) ? 'docker.io' : plain
}
