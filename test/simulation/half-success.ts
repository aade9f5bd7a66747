import type { NodeEngine } from '../../src/adapters/docker/node-engine.js'
import type { Verb } from '../../src/reconcile/action.js'
import type { ApplicationSpec } from '../../src/reconcile/application/spec.js'
import { label } from '../../src/reconcile/labels.js'
import { calm } from './calm.js'
import { MemoryPassStore } from './memory-pass-store.js'
import { isAlive, type SimContainer } from './sim-engine.js'
import { running } from './sim-process.js'
import { withVirtualGlobals } from './virtual-globals.js'
import { dnsTtlSeconds, instance, World, type AnyStore, type SimNode } from './world.js'

/** Something that a way changes outside the process that wants it changed. */
export interface Step {
  name: string
  kind: 'action' | 'engine call' | 'pass'
}

/** Which process takes a step, and can die over it. */
export const processOf = ({ kind }: Step) => (kind === 'pass' ? 'worker' : 'agent')

/** Who takes step number `at` dies: `before` it has any effect, or `after` it took effect and before anybody knows. */
export interface Death {
  at: number
  when: 'before' | 'after'
}

/** What people want of an application that stands as `from` says, or of none, and what must have become of it. */
export interface Way {
  from: ApplicationSpec | null
  act(application: TheApplication): Promise<void> | void
  end: { ready: string; release: number; image: string; replicas: number } | 'gone'
  /** The containers at the end are those of the beginning. */
  inPlace?: true
  /** Endpoints that have to serve at every moment. */
  serving: number
}

export interface Travelled {
  steps: Step[]
  verbs: Set<Verb>
  /** What is not as it has to be. */
  wrong: string[]
}

/** What each call of the engine is, so that a new one has to be told apart as well. */
const engineCalls: Record<keyof NodeEngine, 'reads' | 'changes'> = {
  info: 'reads',
  list: 'reads',
  summaries: 'reads',
  inspect: 'reads',
  imageId: 'reads',
  repoDigest: 'reads',
  remoteDigest: 'reads',
  events: 'reads',
  logs: 'reads',
  logBatches: 'reads',
  imagesInUse: 'reads',
  rootDir: 'reads',
  volumes: 'reads',
  volumeLabels: 'reads',
  bridgeOf: 'reads',
  exec: 'reads',
  execRuns: 'reads',
  openExec: 'reads',
  create: 'changes',
  start: 'changes',
  unpause: 'changes',
  stop: 'changes',
  remove: 'changes',
  setRestartPolicy: 'changes',
  setResources: 'changes',
  putFiles: 'changes',
  pull: 'changes',
  ensureNetwork: 'changes',
  createSystem: 'changes',
  removeImage: 'changes',
  removeNetwork: 'changes',
  removeVolume: 'changes',
}

const id = 'app_1'
const downMs = 500
/** Longer than any back-off that one death can lead to. */
const convergeWithinMs = 5 * 60_000
/** Nudges, sweeps and attempts that are on their way end in this time. */
const settleMs = 70_000
/** Each sweep looks once. */
const quietMs = 35_000

/** Goes a way in a world of its own, and tells its steps and what is wrong in the end. */
export async function travel(way: Way, death: Death | null = null): Promise<Travelled> {
  const counter = new StepCounter(death)
  const store = new MemoryPassStore({ dnsTtlSeconds })
  const world = new World({ seed: 1, profile: calm, store: countingStore(store, counter), verbose: false })
  try {
    return await withVirtualGlobals(world.clock, () => new Journey(world, way, counter).go())
  } finally {
    world.end()
  }
}

/** One application of a world, as people's hands reach it. */
export interface TheApplication {
  create(spec: ApplicationSpec): Promise<void>
  change(spec: ApplicationSpec, gap: boolean): Promise<void>
  remove(volumes?: boolean): Promise<void>
  /** Of one replica's container. */
  crash(replica: number): void
  hang(replica: number): void
}

class Journey implements TheApplication {
  private others: SimContainer[] = []
  private least = Infinity

  constructor(
    private readonly world: World,
    private readonly way: Way,
    private readonly counter: StepCounter,
  ) {}

  async go(): Promise<Travelled> {
    const { world, way, counter } = this
    await world.begin()
    this.others = [
      this.bystander('somebody-elses', {}),
      this.bystander('another-instance', { [label.instance]: 'other', [label.kind]: 'application', [label.resource]: id }),
    ]
    if (way.from) {
      await this.create(way.from)
      await world.run(settleMs)
    }
    const before = this.containers().map((c) => c.id)
    this.count()
    await way.act(this)
    let wrong = await this.differences(before)
    for (const end = world.clock.now() + convergeWithinMs; wrong.length > 0 && world.clock.now() < end;) {
      await this.watched(1_000)
      wrong = await this.differences(before)
    }
    if (wrong.length === 0) wrong = [...(await this.unrest()), ...(await this.differences(before))]
    if (this.least < way.serving) wrong.push(`only ${this.least} endpoints served at a time`)
    if (counter.death !== null && !counter.died) wrong.push('nobody died')
    return { steps: counter.steps, verbs: counter.verbs, wrong }
  }

  async create(spec: ApplicationSpec): Promise<void> {
    const { world } = this
    const replicas = spec.replicas ?? 1
    await world.options.store.create({ id, kind: 'application', project: 'shop', name: 'web', spec }, world.clock.now())
    world.applications.set(id, { id, generation: 1, replicas, deleting: false, serving: false })
    world.nudgeOnce(id)
  }

  async change(spec: ApplicationSpec, gap: boolean): Promise<void> {
    const watched = this.world.applications.get(id)
    const replicas = spec.suspended ? 0 : (spec.replicas ?? 1)
    if (watched) Object.assign(watched, { generation: 2, replicas, serving: watched.serving && replicas > 0 && !gap })
    await this.world.options.store.change(id, spec, this.world.clock.now())
    this.world.nudgeOnce(id)
  }

  async remove(volumes = false): Promise<void> {
    const watched = this.world.applications.get(id)
    if (watched) Object.assign(watched, { generation: 2, deleting: true, serving: false })
    if (volumes) this.world.volumesToGo.add(id)
    await this.world.options.store.requestDeletion(id, this.world.clock.now(), volumes)
    this.world.nudgeOnce(id)
  }

  crash(replica: number): void {
    this.theNode.engine.byHand.stop(this.container(replica))
  }

  hang(replica: number): void {
    this.container(replica).answering = false
  }

  private count(): void {
    const { counter } = this
    const { agent, engine } = this.theNode
    counter.kill = (step) => (processOf(step) === 'agent' ? this.killAgent() : this.killWorker())
    if (agent) {
      const act = agent.act.bind(agent)
      agent.act = (signed, look, signal) => {
        const { key, verb } = JSON.parse(signed.payload) as { key: string; verb: Verb }
        counter.verbs.add(verb)
        return counter.take({ name: key, kind: 'action' }, () => act(signed, look, signal))
      }
    }
    for (const [method, kind] of Object.entries(engineCalls)) {
      if (kind === 'changes') countCalls(engine, method as keyof NodeEngine, counter)
    }
  }

  private killAgent(): void {
    this.world.killAgent(this.theNode)
    this.world.clock.after(downMs, () => this.world.startAgent(this.theNode))
  }

  private killWorker(): void {
    this.world.killWorker()
    this.world.clock.after(downMs, () => this.world.startWorker())
  }

  private async watched(ms: number): Promise<void> {
    const { world } = this
    await world.runUntil(ms, () => {
      this.least = Math.min(this.least, world.watch.serving(id).length)
      return false
    })
  }

  /** What still happens when all is as it has to be. */
  private async unrest(): Promise<string[]> {
    const { world } = this
    await this.watched(settleMs)
    const before = { passes: world.passes, changes: world.watch.changesAsked }
    await this.watched(quietMs)
    const [passes, changes] = [world.passes - before.passes, world.watch.changesAsked - before.changes]
    return passes + changes === 0 ? [] : [`${passes} passes and ${changes} changes though all was as wanted`]
  }

  private async differences(before: string[]): Promise<string[]> {
    const { world, way } = this
    const row = await world.clock.hold(world.options.store.read(id))
    const ready = row?.conditions.find((c) => c.type === 'Ready')
    const { engine, view } = this.theNode
    const { held } = await world.clock.hold(world.options.store.addresses(this.theNode.id))
    const found = {
      row: row
        ? `${ready?.status} ${ready?.reason} of generation ${ready?.observedGeneration}`
        : (await world.options.store.buried(id))
          ? 'buried'
          : 'lost',
      containers: this.containers().map(
        (c) => `${c.name} of ${c.image.reference} ${c.answering ? 'answers' : c.state}, ${c.restartPolicy}`,
      ),
      shown: [...(view.ingress.get(id) ?? [])].map((a) => engine.holderOf(a)?.name ?? a).sort(),
      named: view
        .lookup('web.shop.internal')
        .map((a) => engine.holderOf(a)?.name ?? a)
        .sort(),
      held: held.map((a) => engine.holderOf(a)?.name ?? a).sort(),
      others: this.others.filter((c) => engine.containers.get(c.id) === c && isAlive(c)).length,
      volumes: [...engine.volumesByName.keys()],
    }
    const wrong = differing(found, this.expected(row?.generation ?? 0))
    const kept = this.containers().filter((c) => before.includes(c.id)).length
    return way.inPlace && kept !== before.length ? [...wrong, `${kept} containers of ${before.length} are the same`] : wrong
  }

  private expected(generation: number) {
    const { end } = this.way
    if (end === 'gone') return { row: 'buried', containers: [], shown: [], named: [], held: [], others: this.others.length, volumes: [] }
    const names = Array.from({ length: end.replicas }, (_, n) => `ek-${instance}-${id}-${end.release}-${n}`)
    return {
      row: `${end.ready} of generation ${generation}`,
      containers: names.map((name) => `${name} of ${end.image} answers, unless-stopped`),
      shown: names,
      named: names,
      held: names,
      others: this.others.length,
      volumes: [],
    }
  }

  private containers(): SimContainer[] {
    const own = [...this.theNode.engine.containers.values()].filter((c) => !this.others.includes(c))
    return own.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  private container(replica: number): SimContainer {
    const found = this.containers()[replica]
    if (!found) throw new Error(`there is no replica ${replica}`)
    return found
  }

  private bystander(name: string, labels: Record<string, string>): SimContainer {
    const container = this.theNode.engine.byHand.run(name, labels, null)
    if (!container) throw new Error(`${name} could not be run`)
    return container
  }

  private get theNode(): SimNode {
    const [node] = this.world.nodes
    if (!node) throw new Error('there is no node')
    return node
  }
}

/** Counts steps from when somebody is there to kill, and has one process die over one of them. */
class StepCounter {
  readonly steps: Step[] = []
  readonly verbs = new Set<Verb>()
  died = false
  kill: ((step: Step) => void) | null = null

  constructor(readonly death: Death | null) {}

  async take<T>(step: Step, effect: () => Promise<T>): Promise<T> {
    if (!this.kill || this.died) return await effect()
    const mine = this.steps.push(step) - 1 === this.death?.at
    if (mine && this.death?.when === 'before') return await this.die(step)
    const result = await effect()
    return mine && !this.died ? await this.die(step) : result
  }

  /** The dead hear no answer; who holds the clock for the database has to be let go, though. */
  private die(step: Step): Promise<never> {
    this.died = true
    this.kill?.(step)
    return step.kind === 'pass' ? Promise.reject(new Error(`the worker died over ${step.name}`)) : new Promise(() => undefined)
  }
}

function countCalls(engine: NodeEngine, method: keyof NodeEngine, counter: StepCounter): void {
  const call = (engine[method] as (...args: unknown[]) => Promise<unknown>).bind(engine)
  const counted = (...args: unknown[]) => {
    const action = running.getStore()?.action
    return action ? counter.take({ name: `${method} of ${action.key}`, kind: 'engine call' }, () => call(...args)) : call(...args)
  }
  Object.assign(engine, { [method]: counted })
}

/** A pass is one transaction. */
function countingStore(store: MemoryPassStore, counter: StepCounter): AnyStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
      return name === 'decide'
        ? (...args: unknown[]) => counter.take({ name: `pass ${String(args[1])}`, kind: 'pass' }, () => call(...args))
        : call
    },
  })
}

function differing(found: object, expected: object): string[] {
  const text = (value: unknown) => (Array.isArray(value) ? value.join(', ') : String(value))
  return Object.entries(expected)
    .filter(([key, value]) => text(value) !== text(Reflect.get(found, key)))
    .map(([key, value]) => `${key}: ${text(Reflect.get(found, key)) || 'nothing'}, instead of ${text(value) || 'nothing'}`)
}
