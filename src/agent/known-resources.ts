import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ResourceRef } from './ports.js'
import { readFileIfThere, writeFileAtomically } from './state-file.js'

/**
 * Which resources have containers here, kept on disk: what was removed while this agent did not run is missed by the
 * next one, and without it nobody would look before the hourly resync.
 */
export class KnownResources {
  private readonly known = new Map<string, ResourceRef>()

  constructor(private readonly path: string) {
    mkdirSync(dirname(path), { recursive: true })
    // A line that was torn by a crash is no resource.
    for (const line of (readFileIfThere(path) ?? '').split('\n')) {
      const [kind, resource, end] = line.split(' ')
      if (kind && resource && end === '.') this.known.set(resource, { kind, resource })
    }
  }

  all(): ResourceRef[] {
    return [...this.known.values()]
  }

  add(ref: ResourceRef): void {
    if (this.known.has(ref.resource)) return
    this.known.set(ref.resource, ref)
    appendFileSync(this.path, lineOf(ref))
  }

  /** Makes them those of a full list, and answers which have vanished. */
  replace(present: ResourceRef[]): ResourceRef[] {
    const ids = new Set(present.map((r) => r.resource))
    const gone = [...this.known.values()].filter((r) => !ids.has(r.resource))
    for (const ref of present) this.add(ref)
    if (gone.length === 0) return []
    for (const { resource } of gone) this.known.delete(resource)
    writeFileAtomically(this.path, [...this.known.values()].map(lineOf).join(''))
    return gone
  }
}

const lineOf = ({ kind, resource }: ResourceRef) => `${kind} ${resource} .\n`
