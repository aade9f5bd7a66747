import { label } from '../../src/reconcile/labels.js'
import type { ApplicationSpec } from '../../src/reconcile/application/spec.js'
import type { DomainState } from '../../src/reconcile/ingress/desired.js'
import { withTag } from '../../src/reconcile/name.js'
import type { Disaster, Profile } from './faults.js'
import { drawProfile, gentle } from './faults.js'
import { Violation } from './invariants.js'
import { MemoryPassStore } from './memory-pass-store.js'
import { People } from './people.js'
import { Random } from './random.js'
import { isRefusedNumber } from './sim-caddy.js'
import { ownerOf, SimClients } from './sim-clients.js'
import { isAlive, type SimContainer } from './sim-engine.js'
import { badImages, crashingImage, missingImage } from './sim-images.js'
import { withVirtualGlobals } from './virtual-globals.js'
import { dnsTtlSeconds, instance, World, type AnyStore, type SimNode } from './world.js'

export interface SeedResult {
  seed: number
  profile: Profile
  failure: string | null
  trace: string[]
  events: number
  passes: number
  virtualSeconds: number
  /** That were sent to an ingress, and those that had no answer. */
  requests: number
  lost: number
}

export interface SeedOptions {
  verbose?: boolean
  store?: AnyStore
}

/** Back-off reaches 5 min, a time-out of a pull 30 min: what has not converged by then never will. */
const convergeWithinMs = 45 * 60_000
/** What neither Temporal nor the database could be told is found by the hourly resync. */
const resyncWithinMs = 80 * 60_000
const quietMs = 60_000
/** A task that hung on its way to an agent arrives by then. */
const stallMostMs = 155_000

/** One world from one seed: trouble for a while, then peace, in which everything must become as it is wanted. */
export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  const random = new Random(seed)
  const profile = drawProfile(random)
  const store = options.store ?? new MemoryPassStore({ dnsTtlSeconds, addressesMost: profile.addresses })
  const world = new World({ seed: seed + 1, profile, store, verbose: options.verbose ?? false })
  const beganAt = world.clock.now()
  let failure: string | null = null
  let scenario: Scenario | undefined
  try {
    await withVirtualGlobals(
      world.clock,
      async () => {
        scenario = new Scenario(world, profile, random)
        await scenario.trouble()
        await scenario.peace()
      },
      options.store === undefined,
    )
  } catch (error) {
    failure = error instanceof Violation ? error.message : String(error instanceof Error ? (error.stack ?? error.message) : error)
    world.note(`FAILED: ${failure}`)
  } finally {
    world.end()
  }
  return {
    seed,
    profile,
    failure,
    trace: world.trace,
    events: world.clock.events,
    passes: world.passes,
    virtualSeconds: (world.clock.now() - beganAt) / 1000,
    requests: scenario?.clients.sent ?? 0,
    lost: scenario?.clients.lost ?? 0,
  }
}

class Scenario {
  private readonly people: People
  readonly clients: SimClients

  constructor(
    private readonly world: World,
    private readonly profile: Profile,
    private readonly random: Random,
  ) {
    this.people = new People(world, random.fork())
    this.clients = new SimClients(world, world.watch, random.fork(), {
      claims: () => this.people.claims(),
      // Two Caddys cannot have the ports at once, so another one has a gap.
      mayBeAway: (node) => profile.disasters.includes('ingress crashes') || this.people.replaced.has(node.name),
    })
  }

  async trouble(): Promise<void> {
    const { world, random } = this
    await world.begin()
    await this.people.begin()
    this.clients.begin()
    const end = world.clock.now() + random.between(60_000, 240_000)
    let nextAct = world.clock.now() + random.between(1_000, 20_000)
    let nextDisaster = world.clock.now() + random.between(1_000, 20_000)
    while (world.clock.now() < end) {
      const next = Math.min(nextAct, nextDisaster, end)
      await world.run(next - world.clock.now())
      if (world.clock.now() >= nextAct) {
        await this.people.act()
        nextAct = world.clock.now() + random.between(200, 25_000)
      }
      if (world.clock.now() >= nextDisaster) {
        if (this.profile.disasters.length > 0) this.strike(random.pick(this.profile.disasters))
        nextDisaster = world.clock.now() + random.between(2_000, 30_000)
      }
    }
  }

  /** Everything works again; what is wanted must come, and then nothing more may happen. */
  async peace(): Promise<void> {
    const { world, people } = this
    world.note('——— peace ———')
    const peaceAt = world.clock.now()
    world.faults.calm()
    for (const node of world.nodes) {
      node.engine.comeUp()
      node.agent?.process.thaw()
      world.startAgent(node)
    }
    world.startWorker()
    world.temporal.setServer(true)
    await people.settle()

    let wrong: string[] = []
    const withinMs = world.nudgesLost > 0 ? resyncWithinMs : convergeWithinMs
    const end = world.clock.now() + withinMs
    do {
      await world.run(2_000)
      wrong = await this.differences()
      if (world.clock.now() > end)
        throw new Violation(`not as wanted ${withinMs / 60_000} min after the trouble: ${wrong.join('; ')}`)
    } while (wrong.length > 0)
    world.note('——— as wanted ———')

    // What is still on its way (nudges, sweeps of agents that look once more, late attempts) may end.
    await world.run(Math.max(70_000, peaceAt + stallMostMs - world.clock.now()))
    const before = { passes: world.passes, changes: world.watch.changesAsked }
    await world.run(quietMs)
    wrong = await this.differences()
    if (wrong.length > 0) throw new Violation(`it did not stay as wanted: ${wrong.join('; ')}`)
    const { changesAsked } = world.watch
    if (changesAsked > before.changes)
      throw new Violation(`${changesAsked - before.changes} changes were made though all was as wanted`)
    if (world.passes > before.passes) throw new Violation(`${world.passes - before.passes} passes ran though all was as wanted`)
  }

  private strike(disaster: Disaster): void {
    const { world, random } = this
    const { clock, faults } = world
    const node = random.pick(world.nodes)
    world.note(`disaster: ${disaster}`)
    switch (disaster) {
      case 'dockerd away':
        node.engine.goDown(true)
        clock.after(random.between(300, 25_000), () => node.engine.comeUp())
        return
      case 'power cut':
        node.engine.goDown(false)
        if (random.chance(0.2)) void node.engine.removeNetwork()
        world.killAgent(node)
        clock.after(random.between(2_000, 40_000), () => node.engine.comeUp())
        clock.after(random.between(2_000, 60_000), () => world.startAgent(node))
        return
      case 'agent dies':
        world.killAgent(node)
        clock.after(random.between(100, 90_000), () => world.startAgent(node))
        return
      case 'agent freezes': {
        const { agent } = node
        agent?.process.freeze()
        clock.after(random.between(1_000, 60_000), () => agent?.process.thaw())
        return
      }
      case 'worker dies':
        world.killWorker()
        clock.after(random.between(50, 30_000), () => world.startWorker())
        return
      case 'database away':
        faults.away.database = true
        clock.after(random.between(300, 25_000), () => void (faults.away.database = false))
        return
      case 'temporal away':
        world.temporal.setServer(false)
        clock.after(random.between(300, 25_000), () => world.temporal.setServer(true))
        return
      case 'temporal lost':
        if (random.chance(0.3)) world.temporal.loseEverything()
        return
      case 'registry away':
        faults.away.registry = true
        clock.after(random.between(3_000, 60_000), () => void (faults.away.registry = false))
        return
      case 'network gone':
        void node.engine.removeNetwork()
        return
      case 'ingress crashes': {
        const caddy = node.caddy.container()
        if (caddy) node.engine.crash(caddy)
      }
    }
  }

  /** What is not as people want it. */
  private async differences(): Promise<string[]> {
    const { world, people } = this
    const wrong: string[] = []
    for (const { id, spec, deleting, removesVolumes, volumes } of people.known.values()) {
      if (deleting) wrong.push(...this.ofVolumes(id, removesVolumes, volumes))
      wrong.push(...(deleting ? await this.remains(id) : await this.ofApplication(id, spec)))
    }
    if (people.hasDemo) wrong.push(...(await this.ofDemo()))
    for (const { engine, container } of people.bystanders) {
      const stands = engine.containers.get(container.id) === container && isAlive(container)
      if (!stands) wrong.push(`${container.name}, which is not ours, does not run on ${engine.node}`)
    }
    wrong.push(...(await this.ofAddresses()))
    for (const node of world.nodes) wrong.push(...(await this.ofIngress(node)))
    wrong.push(...(await this.ofDomains()))
    return wrong
  }

  private ofVolumes(id: string, go: boolean, before: string[]): string[] {
    const now = this.people.volumesOf(id)
    if (go) return now.map((volume) => `${id} is deleted with its volumes, and there is still ${volume}`)
    if (this.world.volumesToGo.has(id)) return []
    return before.filter((volume) => !now.includes(volume)).map((volume) => `${id} is deleted without its volumes, and ${volume} is gone`)
  }

  private async remains(id: string): Promise<string[]> {
    const { store } = this.world.options
    const wrong: string[] = []
    if (await this.world.clock.hold(store.read(id))) wrong.push(`${id} is still there`)
    else if (!(await this.world.clock.hold(store.buried(id)))) wrong.push(`${id} left no tombstone`)
    const left = this.ownContainers(id)
    if (left.length > 0) wrong.push(`${id} is deleted, and there are still ${left.map((c) => c.name).join(', ')}`)
    for (const view of this.world.watch.views)
      if (view.ingress.has(id)) wrong.push(`${id} is deleted, and ${view.node} still publishes it`)
    return wrong
  }

  private async ofApplication(id: string, spec: ApplicationSpec): Promise<string[]> {
    const { world, people } = this
    const row = await world.clock.hold(world.options.store.read(id))
    if (!row) return [`${id} has no row`]
    const says = (text: string) => `${id}: ${text}`
    const ready = row.conditions.find((c) => c.type === 'Ready')
    if (row.observedGeneration !== row.generation)
      return [says(`generation ${row.observedGeneration} of ${row.generation} was looked at`)]
    if (!ready || ready.observedGeneration !== row.generation) return [says('Ready was not told for this generation')]
    const latest = row.releases.at(-1)
    const blamed = people.blame.get(`${id}/${latest?.number}`)
    // Its engine or its node died while the command ran: nobody knows how far it came.
    if (spec.preDeploy && ready.reason === 'PreDeployFailed' && ready.message.includes('exit code 137')) return []
    const expected = [...expectedReady(spec), ...this.waiting(spec), ...(blamed ? [{ status: 'False', reason: blamed }] : [])]
    if (!expected.some((e) => e.status === ready.status && e.reason === ready.reason))
      return [
        says(
          `Ready is ${ready.status} (${ready.reason}: ${ready.message}), expected ${expected.map((e) => e.reason).join(' or ')}`,
        ),
      ]

    const wrong: string[] = []
    const containers = this.ownContainers(id)
    const replicas = spec.suspended ? 0 : (spec.replicas ?? 1)
    if (ready.status === 'True') {
      if (containers.length !== replicas)
        wrong.push(
          says(
            `${containers.length} containers instead of ${replicas}: ${containers.map((c) => `${c.name} ${c.state}`).join(', ')}`,
          ),
        )
      for (const container of containers) {
        if (!container.answering) wrong.push(says(`${container.name} does not answer`))
        if (container.labels[label.specHash] !== latest?.hash) wrong.push(says(`${container.name} is not of the latest release`))
        if (container.restartPolicy !== 'unless-stopped')
          wrong.push(says(`${container.name} has restart policy ${container.restartPolicy}`))
      }
      if (replicas > 0 && latest && withTag(spec.image) !== latest.template.image)
        wrong.push(says(`the latest release is of ${latest.template.image}`))
    } else {
      for (const container of containers)
        if (!container.answering) wrong.push(says(`${container.name} was given up and still is there`))
    }
    const addresses = containers.map((c) => c.address).sort()
    const endpoints = row.endpoints.map((e) => e.address).sort()
    if (String(endpoints) !== String(addresses))
      wrong.push(says(`endpoints ${endpoints.join(' ')} for containers at ${addresses.join(' ')}`))
    wrong.push(...this.ofPublication(id, spec, addresses as string[]).map(says))
    if (row.failures.some((f) => f.generation < row.generation)) wrong.push(says('failures of older generations are kept'))
    return wrong
  }

  /** What depends on another that is gone, or never gets ready, may wait for ever. */
  private waiting({ dependsOn = [] }: ApplicationSpec): { status: string; reason: string }[] {
    const fine = (name: string) => {
      const other = [...this.people.known.values()].find((a) => a.name === name)
      // People's hands may have had a release of it given up, which nobody tries again.
      if (other && [...this.people.blame.keys()].some((key) => key.startsWith(`${other.id}/`))) return false
      return other && !other.deleting && expectedReady(other.spec).every((e) => e.status === 'True') && this.waiting(other.spec).length === 0
    }
    return dependsOn.every(fine) ? [] : [{ status: 'False', reason: 'DependencyNotReady' }]
  }

  private ofPublication(id: string, { placement }: ApplicationSpec, addresses: string[]): string[] {
    const wrong: string[] = []
    const [first] = this.world.nodes
    const placedOn = placement ? this.world.nodes.find((n) => n.name === placement.node) : first
    for (const view of this.world.watch.views) {
      const here = addresses.filter((a) => view.engine.holderOf(a))
      const shown = view.ingress.get(id)
      if (shown && here.length === 0 && view.node !== placedOn?.id) wrong.push(`${view.node}, which was left, still publishes it`)
      if (shown && String([...shown].sort()) !== String(addresses))
        wrong.push(`${view.node} publishes ${shown.join(' ')} instead of ${addresses.join(' ')}`)
      if (!shown && here.length > 0) wrong.push(`${view.node} publishes nothing instead of ${addresses.join(' ')}`)
    }
    return wrong
  }

  private async ofDemo(): Promise<string[]> {
    const row = await this.world.clock.hold(this.world.options.store.read('demo_1'))
    const ready = row?.conditions.find((c) => c.type === 'Ready')
    const containers = this.ownContainers('demo_1')
    if (ready?.status !== 'True') return [`demo_1: Ready is ${ready?.status} (${ready?.reason}: ${ready?.message})`]
    return containers.length === 1 && containers[0]?.answering
      ? []
      : [`demo_1: ${containers.map((c) => `${c.name} ${c.state}`).join(', ')}`]
  }

  /** Each node's Caddy has every route of what lives or is shown there once, and none of anything else. */
  private async ofIngress(node: SimNode): Promise<string[]> {
    const { world, people } = this
    const id = `ing_${world.nodes.indexOf(node) + 1}`
    const row = await world.clock.hold(world.options.store.read(id))
    const told = (row?.conditions ?? []).map((c) => `${c.type} ${c.status} ${c.reason}`).sort()
    if (String(told) !== 'ConfigApplied True Applied,Ready True Serving') return [`${id} says ${told.join(', ')}`]
    if (row?.observedGeneration !== row?.generation) return [`${id}: generation ${row?.observedGeneration} was looked at`]
    if (!node.caddy.runs) return [`${id} says that it serves, and its Caddy does not run`]
    const routes = node.caddy.routes.map((r) => `${r.host}${r.prefix ?? '/'} ${ownerOf(r)}`).sort()
    const wanted = people.claims().filter((c) => this.isServedOn(node, c.id))
    const refused = this.refusedHosts(node)
    const expected = wanted.filter((c) => !refused.has(c.host)).map((c) => `${c.host}${c.path} ${c.id}`).sort()
    return String(routes) === String(expected) ? [] : [`${node.id} routes ${routes.join(', ')} instead of ${expected.join(', ')}`]
  }

  /** Hosts of which any path that the node serves makes its Caddy refuse them. */
  private refusedHosts(node: SimNode): Set<string> {
    const served = [...this.people.known.values()].filter((a) => !a.deleting && this.isServedOn(node, a.id))
    const domains = served.flatMap((a) => a.spec.domains ?? [])
    return new Set(domains.filter((d) => d.requestHeaders?.some((h) => isRefusedNumber(h.value ?? ''))).map((d) => d.host))
  }

  private isServedOn({ id, name, view }: SimNode, application: string): boolean {
    const { placement } = this.people.known.get(application)?.spec ?? {}
    const home = placement?.node ?? this.world.nodes[0]?.name
    void id
    return home === name || view.ingress.has(application)
  }

  /** What people are told of their domains is what is so. */
  private async ofDomains(): Promise<string[]> {
    const wrong: string[] = []
    for (const { id, deleting } of this.people.known.values()) {
      if (deleting) continue
      const row = await this.world.clock.hold(this.world.options.store.read(id))
      const claims = this.people.claims().filter((c) => c.id === id)
      const nodes = this.world.nodes.filter((node) => this.isServedOn(node, id))
      const refused = new Set(nodes.flatMap((node) => [...this.refusedHosts(node)]))
      const isTold = (d: DomainState) => (refused.has(d.host) ? !d.routed && d.reason === 'Refused' : d.routed && d.reason === 'Routed')
      const unrouted = row?.domains.filter((d) => !isTold(d)) ?? []
      for (const { host, path, reason } of unrouted) wrong.push(`${id}: ${host}${path} is ${reason}`)
      if (row?.domains.length !== claims.length) wrong.push(`${id} has ${row?.domains.length} domains instead of ${claims.length}`)
      const told = (row?.conditions ?? []).filter((c) => c.type === 'Routed' || c.type === 'CertificateReady')
      const text = told.map((c) => `${c.type} ${c.status} ${c.reason}`).sort()
      const routed = claims.some((c) => refused.has(c.host)) ? 'Routed False Refused' : 'Routed True Routed'
      const expected = claims.length > 0 ? `CertificateReady True Issued,${routed}` : ''
      if (String(text) !== expected) wrong.push(`${id} says ${text.join(', ')} of ${claims.length} domains`)
    }
    return wrong
  }

  private async ofAddresses(): Promise<string[]> {
    const { world, people } = this
    const wrong: string[] = []
    for (const node of world.nodes) {
      const { held } = await world.clock.hold(world.options.store.addresses(node.id))
      const used = [...people.known.keys()].flatMap((id) =>
        this.ownContainers(id, node.engine.containers.values()).map((c) => c.address),
      )
      const lost = held.filter((a) => !used.includes(a))
      if (lost.length > 0) wrong.push(`${node.id}: ${lost.join(' ')} belong to no container`)
    }
    return wrong
  }

  private ownContainers(id: string, among?: Iterable<SimContainer>): SimContainer[] {
    const all = among ? [...among] : this.world.nodes.flatMap((n) => [...n.engine.containers.values()])
    return all.filter((c) => c.labels[label.instance] === instance && c.labels[label.resource] === id)
  }
}

/** What Ready has to say in the end. */
function expectedReady(spec: ApplicationSpec): { status: string; reason: string }[] {
  if (withTag(spec.image) === missingImage) return [{ status: 'False', reason: 'ImageNotFound' }]
  if (spec.suspended) return [{ status: 'True', reason: 'Suspended' }]
  if (spec.replicas === 0) return [{ status: 'True', reason: 'ScaledToZero' }]
  if (spec.preDeploy?.command[0] === 'fail') return [{ status: 'False', reason: 'PreDeployFailed' }]
  // Who sees it for the first time when it has crashed already takes it for one that never was ready.
  if (spec.image === crashingImage.reference)
    return [
      { status: 'True', reason: 'Running' },
      { status: 'False', reason: 'ContainerExited' },
      { status: 'False', reason: 'ReadinessTimeout' },
      { status: 'False', reason: 'CrashLoop' },
    ]
  const bad = badImages.find((b) => b.image.reference === spec.image)
  return bad ? [{ status: 'False', reason: bad.reason }] : [{ status: 'True', reason: 'Running' }]
}

export { gentle }
