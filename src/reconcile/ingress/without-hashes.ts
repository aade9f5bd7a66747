import type { Domain } from './domain.js'

/** A spec as it may be shown and written down for people: who may enter, and not the hashes of their passwords. */
export function withoutHashes(spec: unknown): unknown {
  const { domains } = (spec ?? {}) as { domains?: Domain[] }
  return Array.isArray(domains) ? { ...(spec as object), domains: domains.map(hidden) } : spec
}

function hidden({ basicAuth, ...domain }: Domain): object {
  return basicAuth ? { ...domain, basicAuth: basicAuth.map(({ username }) => ({ username })) } : domain
}
