import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Publication } from '../../src/reconcile/action.js'
import { label } from '../../src/reconcile/labels.js'
import { publisherPaths } from '../../src/agent/publisher.js'
import type { Random } from './random.js'
import { isAlive, type EngineWitness, type SimContainer, type SimEngine } from './sim-engine.js'
import { running } from './sim-process.js'
import type { VirtualClock } from './virtual-clock.js'

/** Something happened that must never happen. */
export class Violation extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Violation'
  }
}

const hostsReloadMs = 200

/** What clients see of one node: dials in ingress files, names in the resolver; and when each address was named last. */
export class NodeView {
  readonly ingress = new Map<string, string[]>()
  dns = new Map<string, string[]>()
  readonly namedAt = new Map<string, number>()
  /** By resource that ingress shows: since when it does so without a gap. */
  readonly shownSince = new Map<string, number>()
  private stale = true
  private hosts = ''

  constructor(
    readonly node: string,
    readonly engine: SimEngine,
    private readonly stateDir: string,
    private readonly clock: VirtualClock,
    private readonly random: Random,
  ) {}

  /** The files may have changed. */
  touched(): void {
    this.stale = true
  }

  refresh(): boolean {
    if (!this.stale) return false
    this.stale = false
    const paths = publisherPaths(this.stateDir)
    this.note()
    this.ingress.clear()
    for (const file of filesIn(paths.fragments)) {
      const { publication } = JSON.parse(readFileSync(join(paths.fragments, file), 'utf8')) as { publication: Publication }
      this.ingress.set(file.replace(/\.json$/, ''), publication.addresses)
    }
    for (const resource of this.shownSince.keys()) if (!this.ingress.has(resource)) this.shownSince.delete(resource)
    for (const resource of this.ingress.keys()) if (!this.shownSince.has(resource)) this.shownSince.set(resource, this.clock.now())
    this.hosts = readIfThere(paths.hosts)
    this.clock.after(this.random.between(1, hostsReloadMs), () => {
      this.note()
      this.dns = namesIn(this.hosts)
    })
    return true
  }

  lookup(name: string): string[] {
    return [...(this.dns.get(name) ?? [])].sort()
  }

  names(address: string): boolean {
    return [...this.ingress.values(), ...this.dns.values()].some((list) => list.includes(address))
  }

  /** Everything that is named now was named now at the latest. */
  private note(): void {
    for (const list of [...this.ingress.values(), ...this.dns.values()])
      for (const address of list) this.namedAt.set(address, this.clock.now())
  }
}

export interface WatchedApplication {
  id: string
  /** By people's latest word. */
  generation: number
  replicas: number
  deleting: boolean
  /** Its replicas were all ready for the current generation, and it is to go on serving. */
  serving: boolean
}

export interface WatchOptions {
  instance: string
  clock: VirtualClock
  dnsTtlSeconds: number
  /** Nothing but Evenkeel can take replicas away, so not one request may be lost. */
  gentle: boolean
  applications(): Iterable<WatchedApplication>
  /** People said that its volumes are to go. */
  removesVolumes(resource: string): boolean
}

/** Looks at the world after every event, and at each change that an agent asks its engine for. */
export class Watch implements EngineWitness {
  readonly views: NodeView[] = []
  violation: Violation | null = null
  /** Changes that agents asked for; quiet means that this stands still. */
  changesAsked = 0
  private looked = true
  private readonly newestPass = new Map<string, number>()

  constructor(private readonly options: WatchOptions) {}

  changed(): void {
    this.looked = false
  }

  /** An action is admitted by an agent's gate. */
  admitted(node: string, action: { resource: string; key: string; pass: number }): void {
    const key = `${node} ${action.resource} ${action.key}`
    const newest = this.newestPass.get(key) ?? 0
    if (action.pass < newest) this.fail(`${key}: pass ${action.pass} was admitted after pass ${newest} had begun`)
    this.newestPass.set(key, Math.max(newest, action.pass))
    if (action.key.startsWith('publish:')) this.views.find((v) => v.node === node)?.touched()
    this.changed()
  }

  asked(what: string, container: SimContainer | null, name: string): void {
    const store = running.getStore()
    if (!store) return
    this.changesAsked++
    const { action } = store
    if (!action) return this.fail(`${what} ${name} was asked for outside any action`)
    const newest = this.newestPass.get(`${action.node} ${action.resource} ${action.key}`) ?? 0
    if (action.pass < newest) this.fail(`${what} ${name}: pass ${action.pass} of ${action.key} acts after pass ${newest} began`)
    if (!container) return
    if (container.labels[label.instance] !== this.options.instance) this.fail(`${what} of ${container.name}, which is not ours`)
    if (container.labels[label.resource] !== action.resource)
      this.fail(`${what} of ${container.name} by an action of ${action.resource}`)
    if (what === 'stop' || what === 'remove') this.requireDrained(container)
  }

  volumeAsked(name: string, labels: Record<string, string> | null): void {
    const store = running.getStore()
    if (!store) return
    this.changesAsked++
    const { action } = store
    if (!action) return this.fail(`the removal of ${name} was asked for outside any action`)
    if (labels && (labels[label.instance] !== this.options.instance || labels[label.resource] !== action.resource))
      this.fail(`${action.resource} removes the volume ${name}, which is not its own`)
    if (!this.options.removesVolumes(action.resource)) this.fail(`${action.resource} removes the volume ${name}, which is to stay`)
  }

  /** After every event. */
  look(): void {
    for (const view of this.views) if (view.refresh()) this.looked = false
    if (this.looked) return
    this.looked = true
    for (const view of this.views) {
      this.requireOneEach(view)
      this.requireOwnAddresses(view)
    }
    if (this.options.gentle) for (const application of this.options.applications()) this.requireServing(application)
  }

  get gentle(): boolean {
    return this.options.gentle
  }

  serving(id: string): string[] {
    return this.views.flatMap((view) => (view.ingress.get(id) ?? []).filter((a) => this.engineOf(a)?.answers(a)))
  }

  fail(message: string): void {
    this.violation ??= new Violation(message)
  }

  private engineOf(address: string): SimEngine | undefined {
    return this.views.map((v) => v.engine).find((e) => e.holderOf(address))
  }

  private requireOneEach({ engine }: NodeView): void {
    const replicas = new Set<string>()
    const addresses = new Set<string>()
    for (const container of engine.containers.values()) {
      if (!isAlive(container)) continue
      if (container.address !== null) {
        if (addresses.has(container.address)) this.fail(`two running containers hold ${container.address}`)
        addresses.add(container.address)
      }
      if (container.labels[label.instance] !== this.options.instance) continue
      const replica = [label.resource, label.release, label.replica].map((l) => container.labels[l]).join('/')
      if (replicas.has(replica)) this.fail(`two running containers are replica ${replica}`)
      replicas.add(replica)
    }
  }

  private requireOwnAddresses(view: NodeView): void {
    for (const [resource, addresses] of view.ingress) {
      for (const address of addresses) {
        const holder = this.engineOf(address)?.holderOf(address)
        if (!holder || holder.tampered) continue
        const owner = holder.labels[label.resource]
        if (owner !== resource)
          this.fail(`${view.node}: ingress sends requests for ${resource} to ${address}, which is ${holder.name}`)
      }
    }
  }

  private requireServing(application: WatchedApplication): void {
    const { id, serving, deleting, replicas } = application
    if (!serving || deleting || replicas === 0) return
    if (this.serving(id).length === 0) this.fail(`no endpoint of ${id} serves, though it was ready and is wanted`)
  }

  /** No request to a ready replica is lost: who is stopped is named by nobody, and has not been for as long as answers live. */
  private requireDrained(container: SimContainer): void {
    const { address, answering, tampered } = container
    if (!answering || tampered || address === null) return
    const { clock, dnsTtlSeconds } = this.options
    // Where nothing is to serve on, nobody waits for answers that name the last ones.
    const application = [...this.options.applications()].find((a) => a.id === container.labels[label.resource])
    const goes = application === undefined || application.deleting || application.replicas === 0
    for (const view of this.views) {
      if (view.names(address)) this.fail(`${container.name} is stopped while ${view.node} still names ${address}`)
      const namedAt = view.namedAt.get(address)
      const others = !goes && (view.ingress.get(container.labels[label.resource] ?? '') ?? []).length > 0
      if (others && namedAt !== undefined && clock.now() - namedAt < (dnsTtlSeconds + 1) * 1_000)
        this.fail(`${container.name} is stopped ${Math.round(clock.now() - namedAt)} ms after ${view.node} named ${address} last`)
    }
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((f) => f.endsWith('.json'))
  } catch {
    return []
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function namesIn(hosts: string): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const line of hosts.split('\n')) {
    const [address, name] = line.split(' ')
    if (address && name) names.set(name, [...(names.get(name) ?? []), address])
  }
  return names
}
