import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { fillSlots } from '../adapters/caddy/endpoint-files.js'
import { renderHosts, type ZoneEntry } from '../adapters/dns/zone-files.js'
import { publicationSchema, type Publication } from '../reconcile/action.js'
import { slotFileName } from '../reconcile/ingress/slots.js'
import { targetName, unavailableDial } from '../reconcile/ingress/spec.js'
import { ActionFailure } from './action-failure.js'
import type { Clock, EndpointReaders } from './ports.js'
import { readFileIfThere, writeFileAtomically } from './state-file.js'

const pollMs = 30
/** The resolver reads its file many times a second; what it does not show by then it will not show. */
const liveWithinMs = 3_000
/** A resolver that was silent last time is given this long to come back. */
const silentWithinMs = 300

const fragmentSchema = z.object({ revision: z.string(), publication: publicationSchema })
type Fragment = z.infer<typeof fragmentSchema>

/** What this node's resolver shows; `silent` when it does not answer. */
export interface ShownNames {
  lookup(name: string): Promise<{ addresses: string[] } | { silent: string }>
}

export interface PublisherOptions {
  stateDir: string
  clock: Clock
  names: ShownNames
  /** The resolver did not answer while something was published. */
  onSilent?(why: string): void
  unavailableDial?: string
}

/** Where things lie below the agent's state directory. */
export const publisherPaths = (stateDir: string) => ({
  /** One fragment a resource: the truth from which the rest is rendered. */
  fragments: join(stateDir, 'endpoints.d'),
  /** Read by ingress at every request. */
  slots: join(stateDir, 'endpoints'),
  /** Read by the resolver. */
  hosts: join(stateDir, 'dns', 'hosts'),
})

/**
 * Shows a resource's endpoints to this node's readers: names to the resolver, dials to ingress. Each resource has one
 * fragment on disk; the resolver's file is rendered from all of them, the dials from their own. After a restart
 * everything is rendered again, and what a fragment says is what is published.
 */
export class Publisher implements EndpointReaders {
  private readonly paths
  /** By resource; a revision is in here once DNS and ingress were seen to show it. */
  private readonly live = new Map<string, string>()
  private readonly fragments = new Map<string, Fragment>()
  private silent = false

  constructor(private readonly options: PublisherOptions) {
    this.paths = publisherPaths(options.stateDir)
    for (const folder of [this.paths.fragments, this.paths.slots]) mkdirSync(folder, { recursive: true })
    this.restore()
  }

  async publish(resource: string, publication: Publication | null, revision: string, signal: AbortSignal): Promise<void> {
    requireFileName(resource)
    const before = this.fragments.get(resource)
    this.write(resource, publication && { revision, publication })
    await this.untilShown(this.expectedOf(before?.publication ?? null, publication), signal)
    if (publication) this.live.set(resource, revision)
    else this.live.delete(resource)
  }

  liveRevision(resource: string): string | null {
    const revision = this.live.get(resource)
    const fragment = this.fragments.get(resource)
    if (revision === undefined || !fragment) return null
    return this.damaged(resource, fragment) ? null : revision
  }

  names(resource: string, address: string): boolean {
    return this.fragments.get(resource)?.publication.addresses.includes(address) ?? false
  }

  /** All resources of which something is shown. */
  resources(): string[] {
    return [...this.fragments.keys()]
  }

  /** Renders again what somebody damaged or removed, and names the resources that this cannot cure. */
  repair(): string[] {
    const lost = [...this.fragments].filter(([resource]) => this.readFragment(resource) === null).map(([resource]) => resource)
    for (const [resource, fragment] of this.fragments) {
      if (!lost.includes(resource)) this.writeSlots(resource, fragment.publication)
    }
    this.writeHosts()
    return lost
  }

  private restore(): void {
    for (const file of readdirSync(this.paths.fragments)) {
      const resource = /^(.+)\.json$/.exec(file)?.[1]
      const fragment = resource === undefined ? null : this.readFragment(resource)
      if (resource === undefined || !fragment) continue
      this.fragments.set(resource, fragment)
      this.live.set(resource, fragment.revision)
      this.writeSlots(resource, fragment.publication)
    }
    const wanted = new Set(
      [...this.fragments].flatMap(([resource, { publication }]) => [...this.slotsOf(resource, publication).keys()]),
    )
    this.removeSlots(readdirSync(this.paths.slots).filter((file) => !wanted.has(file)))
    this.writeHosts()
  }

  /** The fragment last: it says that the rest is there. */
  private write(resource: string, fragment: Fragment | null): void {
    const before = this.slotsOf(resource, this.fragments.get(resource)?.publication ?? null)
    const wanted = this.slotsOf(resource, fragment?.publication ?? null)
    this.removeSlots([...before.keys()].filter((file) => !wanted.has(file)))
    if (fragment) this.fragments.set(resource, fragment)
    else this.fragments.delete(resource)
    this.writeSlots(resource, fragment?.publication ?? null)
    this.writeHosts()
    if (fragment) writeFileAtomically(this.fragmentPath(resource), JSON.stringify(fragment))
    else rmSync(this.fragmentPath(resource), { force: true })
  }

  private writeHosts(): void {
    const entries = [...this.fragments.values()].flatMap(({ publication }) => entriesOf(publication))
    writeIfDifferent(this.paths.hosts, renderHosts(entries))
  }

  private writeSlots(resource: string, publication: Publication | null): void {
    for (const [file, dial] of this.slotsOf(resource, publication)) writeIfDifferent(join(this.paths.slots, file), dial)
  }

  private removeSlots(files: Iterable<string>): void {
    for (const file of files) rmSync(join(this.paths.slots, file), { force: true })
  }

  /** By file name, what each of the resource's slots dials: those of its own port, and of each further one that is asked for. */
  private slotsOf(resource: string, publication: Publication | null): Map<string, string> {
    const targets = [
      { target: targetName(resource, undefined), dials: this.dialsOf(publication) },
      ...(publication?.morePorts ?? []).map(({ port, addresses }) => ({
        target: targetName(resource, port),
        dials: this.filled(addresses.map((address) => `${address}:${port}`)),
      })),
    ]
    return new Map(
      targets.flatMap(({ target, dials }) => (dials ?? []).map((dial, slot) => [slotFileName(target, slot), dial] as const)),
    )
  }

  private filled(endpoints: string[]): string[] {
    return fillSlots(endpoints, this.options.unavailableDial ?? unavailableDial)
  }

  /** null: ingress has nothing to dial, because nothing is published or it has no port. */
  private dialsOf(publication: Publication | null): string[] | null {
    if (!publication) return null
    const { addresses, port, otherPorts } = publication
    // During a change of the port, replicas of the old release still listen at theirs.
    const endpoints = addresses.flatMap((address) => {
      const own = otherPorts?.[address] ?? port
      return own === null ? [] : [`${address}:${own}`]
    })
    if (port === null && endpoints.length === 0) return null
    return this.filled(endpoints)
  }

  private damaged(resource: string, fragment: Fragment): boolean {
    if (this.readFragment(resource)?.revision !== fragment.revision) return true
    const slots = this.slotsOf(resource, fragment.publication)
    return [...slots].some(([file, dial]) => readFileIfThere(join(this.paths.slots, file)) !== dial)
  }

  private readFragment(resource: string): Fragment | null {
    try {
      return fragmentSchema.parse(JSON.parse(readFileSync(this.fragmentPath(resource), 'utf8')))
    } catch {
      return null
    }
  }

  private fragmentPath(resource: string): string {
    return join(this.paths.fragments, `${resource}.json`)
  }

  /**
   * A resolver that answers something else for too long is a failure, so that nobody stops an endpoint that is still
   * named. One that does not answer at all names nobody: the files are in place for its return.
   */
  private async untilShown(expected: Map<string, string[]>, signal: AbortSignal): Promise<void> {
    for (const [name, addresses] of expected) {
      if (!(await this.untilNamed(name, addresses, signal))) return
    }
  }

  /** False when the resolver stayed silent. */
  private async untilNamed(name: string, addresses: string[], signal: AbortSignal): Promise<boolean> {
    const { clock, names, onSilent } = this.options
    const began = clock.now()
    for (;;) {
      // Counted until the look began: one that was slow is followed by another before anybody gives up.
      const waited = clock.now() - began
      const shown = await names.lookup(name)
      if ('silent' in shown) {
        if (waited > (this.silent ? silentWithinMs : liveWithinMs)) {
          this.silent = true
          onSilent?.(shown.silent)
          return false
        }
      } else {
        this.silent = false
        if (sameList(shown.addresses, addresses)) return true
        if (waited > liveWithinMs) throw notUpdated(name, shown.addresses)
      }
      await clock.sleep(pollMs, signal)
    }
  }

  /** Every name that was or will be shown by this resource, with all addresses that it has to answer with. */
  private expectedOf(...publications: (Publication | null)[]): Map<string, string[]> {
    const entries = [...this.fragments.values()].flatMap(({ publication }) => entriesOf(publication))
    const names = new Set(publications.flatMap((p) => p?.names ?? []))
    return new Map(
      [...names].map((name) => [name, [...new Set(entries.filter((e) => e.name === name).map((e) => e.address))].sort()]),
    )
  }
}

function notUpdated(name: string, addresses: string[]): ActionFailure {
  const answer = addresses.join(', ') || 'nothing'
  return new ActionFailure('DNSNotUpdated', `the node's resolver still answers ${answer} for ${name}`, true)
}

function entriesOf({ names, addresses }: Publication): ZoneEntry[] {
  return names.flatMap((name) => addresses.map((address) => ({ name, address })))
}

function sameList(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i])
}

/** The resolver and ingress look at a file's time, so an unchanged file is left alone. */
function writeIfDifferent(path: string, text: string): void {
  if (readFileIfThere(path) !== text) writeFileAtomically(path, text)
}

/** Resource ids become file names. */
function requireFileName(resource: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(resource)) throw new ActionFailure('BadAction', `${resource} is no resource id`, false)
}
