/** Where in a container's file system mounts and files may be: what is decided by paths alone. */

interface Placed {
  path: string
  readOnly?: boolean | undefined
}

/** The fields of a spec that say a path in the container. */
export interface PlacedFields {
  volumes?: Placed[] | undefined
  bindMounts?: Placed[] | undefined
  tmpfs?: Placed[] | undefined
  files?: Placed[] | undefined
}

export interface PathIssue {
  path: (string | number)[]
  message: string
}

/** Mounted by the engine at the start, over whatever was there. */
const mountedAtStart = ['/proc', '/sys', '/dev']
/** Written by the engine at the start, for every container. */
const writtenAtStart = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf']

/** At most one for each mount and each file, on its `path`; none for what is no path below / at all, which its own schema refuses. */
export function pathIssues(spec: PlacedFields): PathIssue[] {
  const seen = new Set<string>()
  return (['volumes', 'bindMounts', 'tmpfs', 'files'] as const).flatMap((field) =>
    (spec[field] ?? []).flatMap(({ path }, index) => {
      if (!/^\/./.test(path)) return []
      const twice = seen.has(canonical(path)) ? 'another mount or file has this path' : null
      seen.add(canonical(path))
      const message = twice ?? (field === 'files' ? fileIssue(path, spec) : mountIssue(path, field))
      return message === null ? [] : [{ path: [field, index, 'path'], message }]
    }),
  )
}

function mountIssue(path: string, field: 'volumes' | 'bindMounts' | 'tmpfs'): string | null {
  const at = canonical(path)
  if (at === '') return 'must name a place below /'
  if (field === 'bindMounts') return null
  if (isWithin(path, '/proc') || at === '/dev') return 'is a folder of the kernel, without which no container starts'
  return writtenAtStart.includes(at) ? 'is a file that the engine writes for every container' : null
}

function fileIssue(path: string, spec: PlacedFields): string | null {
  if (/\/\.?$/.test(path)) return 'must name a file: a path that ends with / is a folder'
  if (writtenAtStart.includes(canonical(path))) return 'is a file that the engine writes for every container'
  const within = closedIn(spec).find(({ target }) => isWithin(path, target))
  if (within) return `would lie in ${within.what}`
  const mounts = [...(spec.volumes ?? []), ...(spec.bindMounts ?? []), ...(spec.tmpfs ?? [])].map((m) => m.path)
  const files = [...(spec.files ?? []).map((f) => f.path), ...writtenAtStart]
  const below = [...mounts, ...files, ...mountedAtStart].find(
    (other) => canonical(other) !== canonical(path) && isWithin(other, path),
  )
  return below === undefined ? null : `cannot be a file: it is the folder of ${below}`
}

/**
 * Files are written before the start. What lies in a folder of the host would be written on the host, what lies in memory
 * would be gone at the start, and a volume that is mounted read only takes none.
 */
function closedIn({ volumes = [], bindMounts = [], tmpfs = [] }: PlacedFields): { target: string; what: string }[] {
  return [
    ...closedMounts({
      binds: bindMounts.map((b) => b.path),
      readOnlyVolumes: volumes.filter((v) => v.readOnly).map((v) => v.path),
      tmpfs: tmpfs.map((t) => t.path),
    }),
    ...mountedAtStart.map((target) => ({ target, what: `${target}, which the engine mounts at the start` })),
  ]
}

/** Folders that take no file before the start, and what they are, in words. */
export function closedMounts(paths: {
  binds: string[]
  readOnlyVolumes: string[]
  tmpfs: string[]
}): { target: string; what: string }[] {
  return [
    ...paths.binds.map((target) => ({ target, what: 'a folder of the host' })),
    ...paths.readOnlyVolumes.map((target) => ({ target, what: 'a volume that is mounted read only' })),
    ...paths.tmpfs.map((target) => ({ target, what: 'a file system in memory' })),
  ]
}

/** `path` is `folder`, or below it. */
export function isWithin(path: string, folder: string): boolean {
  const [inner, outer] = [canonical(path), canonical(folder)]
  return inner === outer || inner.startsWith(`${outer}/`)
}

/** One text for one place: without empty parts and dots; '' is the root. `..` is refused elsewhere. */
function canonical(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.map((part) => `/${part}`).join('')
}
