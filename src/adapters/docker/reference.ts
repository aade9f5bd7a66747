/** `reference` without its tag and digest. */
export function repositoryOf(reference: string): string {
  const name = reference.split('@')[0] ?? reference
  const slash = name.lastIndexOf('/')
  const colon = name.indexOf(':', slash + 1)
  return colon === -1 ? name : name.slice(0, colon)
}

/** The registry's host, as the engine understands a reference: no dot, no port and not `localhost` means Docker Hub. */
export function registryHostOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  const named = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return named ? first : 'docker.io'
}

/** The one among an image's digests that belongs to the repository of `reference`. */
export function matchingDigest(reference: string, digests: string[]): string | null {
  const wanted = fullRepository(reference)
  return digests.find((d) => fullRepository(d) === wanted) ?? null
}

function fullRepository(reference: string): string {
  const repository = repositoryOf(reference)
  if (registryHostOf(repository) !== 'docker.io') return repository
  const path = repository.replace(/^docker\.io\//, '')
  return `docker.io/${path.includes('/') ? path : `library/${path}`}`
}
