import type { Domain } from '../../src/reconcile/ingress/domain.js'
import { domainKey } from '../../src/reconcile/ingress/domain.js'
import type { ApplicationSpec } from '../../src/reconcile/application/spec.js'
import { label } from '../../src/reconcile/labels.js'
import type { Random } from './random.js'
import { badImages, caddyImages, crashingImage, goodImages, missingImage } from './sim-images.js'
import type { SimContainer, SimEngine } from './sim-engine.js'
import type { Claim } from './sim-clients.js'
import { instance, type SimNode, type World } from './world.js'

const mostApplications = 4
const strategies: Pick<ApplicationSpec, 'strategy'>[] = [{}, {}, { strategy: 'rolling' }, { strategy: 'blue-green' }, { strategy: 'recreate' }]
const preDeploys: Pick<ApplicationSpec, 'preDeploy'>[] = [
  {},
  {},
  { preDeploy: { command: ['migrate'] } },
  { preDeploy: { command: ['migrate'] } },
  { preDeploy: { command: ['fail'] } },
]

/** Few, so that one is soon somebody else's. */
const hosts = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']

interface Known {
  id: string
  name: string
  spec: ApplicationSpec
  paused: boolean
  deleting: boolean
  /** What people said last when they deleted it. */
  removesVolumes: boolean
  /** Volumes that were there when its deletion was first asked for, as `<node> <name>`; those stay unless somebody said otherwise. */
  volumes: string[]
}

/** What people do: they change what is desired, and, where the seed has it so, use `docker` behind our back. */
export class People {
  readonly known = new Map<string, Known>()
  /** Containers of others, which must stand untouched at the end. */
  readonly bystanders: { engine: SimEngine; container: SimContainer }[] = []
  /** Reasons by which a release may be given up through people's own doing: `<id>/<release>` → reason. */
  readonly blame = new Map<string, string>()
  readonly ingresses = new Map<string, { node: string; httpPort: number; image?: string }>()
  /** Names of nodes whose ingress was given another image. */
  readonly replaced = new Set<string>()
  /** By host and path. */
  private readonly claimed = new Map<string, Claim>()
  private counter = 0
  private readonly demo = 'demo_1'
  hasDemo = false

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

  async begin(): Promise<void> {
    for (const { engine } of this.world.nodes) {
      this.bystand(engine, 'somebody-elses', {})
      this.bystand(engine, 'another-instance', {
        [label.instance]: 'other',
        [label.kind]: 'application',
        [label.resource]: 'app_1',
      })
    }
    await this.createIngresses()
    if (this.random.chance(0.3)) await this.createDemo()
    const count = this.random.whole(1, 3)
    for (let i = 0; i < count; i++) await this.create()
  }

  /** One thing that one person does. */
  async act(): Promise<void> {
    const acts: [number, () => Promise<void> | void][] = [
      [2, () => this.create()],
      [5, () => this.change('another image', (spec) => ({ ...spec, image: this.image() }))],
      [3, () => this.change('another env', (spec) => ({ ...spec, env: [{ name: 'N', value: String(this.counter++) }] }))],
      [4, () => this.change('scaled', (spec) => ({ ...spec, replicas: this.random.whole(0, 5) }))],
      [
        1,
        () =>
          this.change('another probe', (spec) => ({ ...spec, readiness: { intervalSeconds: this.random.pick([0.5, 1, 2]) } })),
      ],
      [
        1,
        () => this.change('another place', (spec) => ({ ...spec, placement: { node: this.random.pick(this.world.nodes).name } })),
      ],
      [1, () => this.change('another strategy', ({ strategy: _, ...spec }) => ({ ...spec, ...this.random.pick(strategies) }))],
      [1, () => this.change('restarted', (spec) => ({ ...spec, restartNonce: (spec.restartNonce ?? 0) + 1 }))],
      [1, () => this.change('suspended or resumed', (spec) => ({ ...spec, suspended: !spec.suspended }))],
      [1, () => this.change('another pre-deploy command', ({ preDeploy: _, ...spec }) => ({ ...spec, ...this.random.pick(preDeploys) }))],
      [3, () => this.change('another domain', (spec) => ({ ...spec, domains: [...(spec.domains ?? []), ...this.freeDomain(spec.ports)] }))],
      [2, () => this.change('changed domains', (spec) => ({ ...spec, domains: (spec.domains ?? []).map((d) => this.touched(d)) }))],
      [1, () => this.change('one domain less', (spec) => ({ ...spec, domains: (spec.domains ?? []).slice(1) }))],
      [1, () => this.changeIngress()],
      [1, () => this.remove()],
      [1, () => this.changeMind()],
      [1, () => this.pause()],
      [1, () => this.cancelRun()],
    ]
    if (this.world.options.profile.hands) acts.push([6, () => this.layHands()])
    await this.choose(acts)
  }

  /** Leaves the world in a state in which everything that is wanted can be had. */
  async settle(): Promise<void> {
    for (const application of this.living()) {
      if (application.paused) await this.setPaused(application, false)
    }
    for (const { engine } of this.world.nodes) {
      engine.heldPorts.clear()
      for (const container of engine.containers.values()) {
        const own = container.labels[label.instance] === instance
        if (!own && !this.bystanders.some((b) => b.container === container)) engine.byHand.remove(container)
      }
    }
  }

  living(): Known[] {
    return [...this.known.values()].filter((a) => !a.deleting)
  }

  private async create(): Promise<void> {
    if (this.living().length >= mostApplications) return
    const number = ++this.counter
    const id = `app_${number}`
    const ports = this.random.pick([[80], [80, 9090]])
    const spec: ApplicationSpec = {
      image: this.image(),
      ports,
      replicas: this.random.whole(1, 4),
      readiness: { path: '/', intervalSeconds: 1 },
      stopGraceSeconds: this.random.pick([2, 5, 10]),
      drainSeconds: this.random.pick([10, 30]),
      startupBudgetSeconds: this.random.pick([20, 60]),
      ...this.random.pick(strategies),
      ...this.random.pick(preDeploys),
      ...(this.random.chance(0.25) ? { volumes: [{ name: 'data', path: '/data' }] } : {}),
      ...(this.random.chance(0.7) ? { domains: this.freeDomain(ports) } : {}),
      ...(this.random.chance(0.2) ? { dependsOn: this.living().slice(0, 1).map((a) => a.name) } : {}),
    }
    this.world.note(`people: create ${id} ${spec.image} × ${spec.replicas}`)
    const application: Known = { id, name: `a${number}`, spec, paused: false, deleting: false, removesVolumes: false, volumes: [] }
    this.known.set(id, application)
    this.claim(id, spec.domains ?? [])
    await this.store.create({ id, kind: 'application', project: 'shop', name: application.name, spec }, this.world.clock.now())
    this.world.applications.set(id, { id, generation: 1, replicas: spec.replicas ?? 1, deleting: false, serving: false })
    this.world.nudgeOnce(id)
    if (spec.domains?.length) this.nudgeIngresses()
  }

  /** Hosts and paths of applications that live, since when each is claimed as it is now. */
  claims(): Claim[] {
    return [...this.claimed.values()]
  }

  private async createIngresses(): Promise<void> {
    for (const [i, { name }] of this.world.nodes.entries()) {
      const id = `ing_${i + 1}`
      const { node, httpPort } = { node: name, httpPort: 8080 }
      this.ingresses.set(id, { node, httpPort })
      const spec = { node, httpPort }
      await this.store.create({ id, kind: 'ingress', project: 'platform', name: `edge-${i + 1}`, spec }, this.world.clock.now())
      this.world.nudgeOnce(id)
    }
  }

  /** Another port is something that every configuration says: it is loaded anew. Another image takes another container. */
  private async changeIngress(): Promise<void> {
    const [id, spec] = this.random.pick([...this.ingresses])
    if (this.random.chance(0.3)) {
      spec.image = this.random.pick(caddyImages).reference
      this.replaced.add(spec.node)
    } else spec.httpPort++
    this.world.note(`people: ${id} with ${JSON.stringify(spec)}`)
    await this.store.change(id, { ...spec }, this.world.clock.now())
    this.world.nudgeOnce(id)
  }

  /** One that nobody has; who is being deleted has none any more. */
  private freeDomain(ports: number[] = []): Domain[] {
    const domain: Domain = {
      host: this.random.pick(hosts),
      ...(this.random.chance(0.3) ? { path: '/api' } : {}),
      ...(ports.length > 0 && this.random.chance(0.4) ? { port: this.random.pick(ports) } : {}),
    }
    return this.claimed.has(domainKey(domain)) ? [] : [domain]
  }

  private touched(domain: Domain): Domain {
    return this.random.chance(0.5) ? { ...domain, requestHeaders: [{ name: 'x-number', value: String(this.counter++) }] } : domain
  }

  /** A claim that stays as it is stays the one that it was. */
  private claim(id: string, domains: Domain[]): void {
    const keys = new Set(domains.map(domainKey))
    for (const [key, claim] of this.claimed) if (claim.id === id && !keys.has(key)) this.claimed.delete(key)
    for (const domain of domains) {
      const key = domainKey(domain)
      const { host, path = '/' } = domain
      if (!this.claimed.has(key)) this.claimed.set(key, { id, host, path, since: this.world.clock.now() })
    }
  }

  /** Changes of domains are told to every ingress, as by src/api. */
  private nudgeIngresses(): void {
    for (const id of this.ingresses.keys()) this.world.nudgeOnce(id)
  }

  private async createDemo(): Promise<void> {
    this.hasDemo = true
    await this.store.create(
      { id: this.demo, kind: 'nginxdemo', project: 'platform', name: 'demo', spec: { hostPort: 8088 } },
      this.world.clock.now(),
    )
    this.world.nudgeOnce(this.demo)
  }

  private async change(what: string, to: (spec: ApplicationSpec) => ApplicationSpec): Promise<void> {
    const application = this.anyOne()
    if (!application) return
    const spec = to(application.spec)
    if (JSON.stringify(spec) === JSON.stringify(application.spec)) return
    this.world.note(`people: ${what} for ${application.id}: ${spec.image} × ${spec.replicas}`)
    const before = application.spec
    application.spec = spec
    const watched = this.world.applications.get(application.id)
    if (watched) {
      watched.generation++
      const replicas = spec.suspended ? 0 : (spec.replicas ?? 1)
      // A change by recreate has a gap, whichever of the two releases asks for it.
      const gap = [before, spec].some((s) => s.strategy === 'recreate' || s.volumes !== undefined)
      if (watched.replicas === 0 || replicas === 0 || gap) watched.serving = false
      watched.replicas = replicas
    }
    this.claim(application.id, spec.domains ?? [])
    await this.store.change(application.id, spec, this.world.clock.now())
    this.world.nudgeOnce(application.id)
    if (JSON.stringify(spec.domains) !== JSON.stringify(before.domains)) this.nudgeIngresses()
  }

  private async remove(): Promise<void> {
    const application = this.anyOne()
    if (!application) return
    this.world.note(`people: delete ${application.id}`)
    application.deleting = true
    application.paused = false
    const watched = this.world.applications.get(application.id)
    if (watched) Object.assign(watched, { deleting: true, serving: false, generation: watched.generation + 1 })
    application.volumes = this.volumesOf(application.id)
    this.claim(application.id, [])
    await this.askDeletion(application, this.random.chance(0.5))
    if (application.spec.domains?.length) this.nudgeIngresses()
  }

  /** Deletes what is being deleted once more, with another wish for its volumes. */
  private async changeMind(): Promise<void> {
    const going = [...this.known.values()].filter((a) => a.deleting)
    const application = going.length > 0 ? this.random.pick(going) : null
    if (!application || !(await this.store.read(application.id))) return
    const watched = this.world.applications.get(application.id)
    if (watched) watched.generation++
    await this.askDeletion(application, !application.removesVolumes)
  }

  private async askDeletion(application: Known, removesVolumes: boolean): Promise<void> {
    const { id } = application
    this.world.note(`people: the volumes of ${id} ${removesVolumes ? 'go' : 'stay'}`)
    application.removesVolumes = removesVolumes
    if (removesVolumes) this.world.volumesToGo.add(id)
    await this.store.requestDeletion(id, this.world.clock.now(), removesVolumes)
    this.world.nudgeOnce(id)
  }

  /** As `<node> <name>`. */
  volumesOf(id: string): string[] {
    return this.world.nodes.flatMap(({ engine }) =>
      [...engine.volumesByName].filter(([, labels]) => labels[label.resource] === id).map(([name]) => `${engine.node} ${name}`),
    )
  }

  private async pause(): Promise<void> {
    const application = this.anyOne()
    if (application) await this.setPaused(application, !application.paused)
  }

  private async setPaused(application: Known, paused: boolean): Promise<void> {
    this.world.note(`people: ${paused ? 'pause' : 'resume'} ${application.id}`)
    application.paused = paused
    await this.store.setPaused(application.id, paused)
    this.world.nudgeOnce(application.id)
  }

  private cancelRun(): void {
    const application = this.anyOne()
    if (!application) return
    this.world.note(`people: cancel the run of ${application.id}`)
    this.world.temporal.cancelRun('application', application.id)
  }

  private async layHands(): Promise<void> {
    const node = this.random.pick(this.world.nodes)
    const { engine } = node
    if (!engine.up) return
    const own = [...engine.containers.values()].filter((c) => c.labels[label.instance] === instance)
    const container = own.length > 0 ? this.random.pick(own) : null
    const on = (what: string, act: (c: SimContainer) => void) => () => {
      if (!container) return
      this.world.note(`people: docker ${what} ${container.name} on ${node.id}`)
      this.blame.set(`${container.labels[label.resource]}/${container.labels[label.release]}`, 'ContainerExited')
      act(container)
    }
    await this.choose([
      [3, on('stop', (c) => engine.byHand.stop(c))],
      [4, on('rm -f', (c) => engine.byHand.remove(c))],
      [2, on('pause', (c) => engine.byHand.pause(c))],
      [1, on('rename', (c) => engine.byHand.rename(c, `renamed-${this.counter++}`))],
      [1, () => this.takeName(node)],
      [1, () => this.takeAddress(node)],
      [1, () => void engine.heldPorts.add(8088)],
      [1, () => void this.forgetImage(engine)],
    ])
  }

  /** Somebody's own container has a name that we shall want. */
  private takeName({ engine, id }: SimNode): void {
    const application = this.anyOne()
    if (!application) return
    const release = this.random.whole(1, 6)
    const name = `ek-${instance}-${application.id}-${release}-0`
    if (engine.byHand.run(name, {}, null)) this.world.note(`people: docker run --name ${name} on ${id}`)
  }

  private takeAddress({ engine, id }: SimNode): void {
    const address = `10.192.${id === 'node_1' ? 0 : 16}.${this.random.whole(10, 20)}`
    if (engine.byHand.run(`squatter-${this.counter++}`, {}, address))
      this.world.note(`people: docker run --ip ${address} on ${id}`)
  }

  private forgetImage(engine: SimEngine): void {
    const unused = [...engine.localImages].filter(
      (i) => !i.localOnly && ![...engine.containers.values()].some((c) => c.image === i),
    )
    const image = unused.length > 0 ? this.random.pick(unused) : null
    if (image) engine.localImages.delete(image)
  }

  private bystand(engine: SimEngine, name: string, labels: Record<string, string>): void {
    const container = engine.byHand.run(name, labels, null)
    if (!container) return
    container.restartPolicy = 'unless-stopped'
    this.bystanders.push({ engine, container })
  }

  private image(): string {
    const { badImages: bad, crashes } = this.world.options.profile
    if (crashes && this.random.chance(0.3)) return crashingImage.reference
    if (!bad || this.random.chance(0.65)) return this.random.pick(goodImages).reference
    return this.random.chance(0.2) ? missingImage : this.random.pick(badImages).image.reference
  }

  private anyOne(): Known | null {
    const living = this.living()
    return living.length > 0 ? this.random.pick(living) : null
  }

  private async choose(from: [weight: number, act: () => Promise<void> | void][]): Promise<void> {
    let left = this.random.between(
      0,
      from.reduce((sum, [weight]) => sum + weight, 0),
    )
    for (const [weight, act] of from) {
      left -= weight
      if (left < 0) return await act()
    }
  }

  private get store() {
    return this.world.options.store
  }
}
