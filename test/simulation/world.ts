import { mkdtempSync, mkdirSync, rmSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createControlActivities, type ControlActivities } from '../../activities/control.activities.js'
import { pinnedKeyOf, signingKeyOf } from '../../src/adapters/crypto/signing.js'
import type { InventoryEntry } from '../../src/agent/drift-sweep.js'
import type { PassStore } from '../../src/persistence/pass-store.js'
import { kindOfId } from '../../src/reconcile/kind.js'
import type { Decision } from '../../src/reconcile/loop.js'
import type { DesiredState } from './desired-state.js'
import { Faults, gentle, type Profile } from './faults.js'
import { NodeView, Watch, type WatchedApplication } from './invariants.js'
import { Random } from './random.js'
import { SimAgent } from './sim-agent.js'
import { SimCaddy } from './sim-caddy.js'
import { SimDatabase } from './sim-database.js'
import { SimEngine } from './sim-engine.js'
import { SimProcess } from './sim-process.js'
import { SimTemporal, type ControlCalls } from './sim-temporal.js'
import { VirtualClock } from './virtual-clock.js'

export const instance = 'sim'
export const dnsTtlSeconds = 5
const sweepMs = 30_000
const startAt = Date.UTC(2030, 0, 1)

// One key for all worlds: making one is slow and random.
const signingPem = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----`

export interface SimNode {
  id: string
  name: string
  /** Its clock minus the control plane's. */
  skewMs: number
  engine: SimEngine
  caddy: SimCaddy
  view: NodeView
  agent: SimAgent | null
  stateDir: string
}

export type AnyStore = PassStore & DesiredState

export interface WorldOptions {
  seed: number
  profile: Profile
  store: AnyStore
  verbose: boolean
}

/** A control plane, its nodes and everything between them. */
export class World {
  readonly clock = new VirtualClock(startAt)
  readonly random: Random
  readonly faults: Faults
  readonly watch: Watch
  readonly temporal: SimTemporal
  readonly nodes: SimNode[] = []
  /** What people know of the applications that they made. */
  readonly applications = new Map<string, WatchedApplication>()
  /** Ids of those of which people said at least once that their volumes are to go. */
  readonly volumesToGo = new Set<string>()
  readonly trace: string[] = []
  readonly log: string[] = []
  passes = 0
  /** Those of agents that nobody will say again. */
  nudgesLost = 0
  private readonly activities: ControlActivities
  private control = new SimProcess('worker')
  private readonly folder: string

  constructor(readonly options: WorldOptions) {
    const { seed, profile, store } = options
    this.random = new Random(seed)
    this.faults = new Faults(profile, this.random.fork())
    this.folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'evenkeel-simulation-'))
    this.watch = new Watch({
      instance,
      clock: this.clock,
      dnsTtlSeconds,
      gentle: gentle(profile),
      applications: () => this.applications.values(),
      removesVolumes: (resource) => this.volumesToGo.has(resource),
    })
    this.activities = createControlActivities({
      instance,
      store: new SimDatabase(store, this.clock, () => this.control, this.faults.database),
      signingKey: signingKeyOf(signingPem),
      clock: () => Math.floor(this.clock.now()),
      nudge: async (resource) => this.temporal.nudge(resource),
      log: (message) => this.log.push(message),
    })
    this.temporal = new SimTemporal(
      this.clock,
      this.random.fork(),
      this.calls(),
      this.faults.transport,
      { idleEvents: this.random.pick([60, 150, 300]), quietEvents: 4_000 },
      (line) => this.note(line),
    )
  }

  async begin(): Promise<void> {
    const { profile } = this.options
    for (let i = 0; i < profile.nodes; i++) await this.addNode(i)
    this.every(sweepMs, () => void this.sweep())
  }

  /** Removes the nodes' disks. */
  end(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  note(line: string): void {
    const text = `${((this.clock.now() - startAt) / 1000).toFixed(3).padStart(9)} ${line}`
    this.trace.push(text)
    if (this.trace.length > 4_000) this.trace.splice(0, 2_000)
    if (this.options.verbose) process.stdout.write(`${text}\n`)
  }

  async run(ms: number): Promise<void> {
    await this.runUntil(ms, () => false)
  }

  /** Lets time pass; ends early when `done` answers true. */
  async runUntil(ms: number, done: () => boolean): Promise<void> {
    await this.clock.run(this.clock.now() + ms, () => {
      this.watch.look()
      if (this.watch.violation) throw this.watch.violation
      return done()
    })
  }

  /** After a mutation: told once, and it may get lost. */
  nudgeOnce(id: string): void {
    if (this.faults.nudgeLost()) return this.note(`the nudge of ${id} is lost`)
    this.clock.after(this.random.between(0.5, 5), () => {
      const kind = kindOfId(id)
      if (kind && this.temporal.isServerUp) this.temporal.nudge({ id, kind })
    })
  }

  /** From an agent, as src/api/nudge/nudger.service.ts passes it on: the row is marked where Temporal cannot be reached. */
  private nudge(id: string): void {
    const kind = kindOfId(id)
    if (!kind) return
    this.clock.after(this.random.between(0.5, 5), async () => {
      if (this.temporal.isServerUp) return this.temporal.nudge({ id, kind })
      if (!this.faults.away.database) return this.clock.hold(this.options.store.lookSoon(id, this.clock.now()))
      this.note(`a nudge of ${id} is lost for good: neither Temporal nor the database can be reached`)
      this.nudgesLost++
    })
  }

  // ——— processes ———

  killWorker(): void {
    this.note('the control worker dies')
    this.control.kill()
    this.temporal.crashControl()
  }

  startWorker(): void {
    this.note('the control worker starts')
    this.control = new SimProcess('worker')
    this.temporal.startControl()
  }

  killAgent(node: SimNode): void {
    if (!node.agent) return
    this.note(`the agent of ${node.id} dies`)
    this.temporal.detach(node.id, node.agent)
    node.agent.process.kill()
    node.agent = null
  }

  startAgent(node: SimNode): void {
    if (node.agent) return
    this.note(`the agent of ${node.id} starts`)
    node.agent = new SimAgent({
      instance,
      node: node.id,
      stateDir: node.stateDir,
      engine: node.engine,
      caddy: node.caddy,
      faults: this.faults,
      artifact: (sha256) => this.clock.hold(this.options.store.artifact(sha256)),
      clock: this.clock,
      pinnedKeys: [pinnedKeyOf(signingPem)],
      skewMs: node.skewMs,
      lookup: (name) => node.view.lookup(name),
      probeMs: () => this.random.between(1, 10),
      publishMs: () => this.random.between(1, 20),
      nudge: ({ resource }, why) => {
        this.note(`${node.id} nudges ${resource}: ${why}`)
        this.nudge(resource)
      },
      inventory: (inventory) => void this.takeInventory(node, inventory),
      heartbeat: () => {
        if (!this.faults.away.database) void this.clock.hold(this.options.store.seen(node.id, this.clock.now()))
      },
      admitted: (id, action) => {
        this.note(`${id} begins ${action.resource} ${action.key} of pass ${action.pass}`)
        this.watch.admitted(id, action)
      },
      trace: (line) => this.note(line),
    })
    node.view.touched()
    this.temporal.attach(node.id, node.agent)
  }

  private async addNode(index: number): Promise<void> {
    const id = `node_${index + 1}`
    const name = `n${index + 1}`
    const stateDir = join(this.folder, id)
    const skewMs = this.options.profile.skew ? ([90_000, -45_000][index] ?? 0) : 0
    mkdirSync(stateDir)
    await this.options.store.addNode({ id, name, subnet: `10.192.${index * 16}.0/20` }, this.clock.now())
    const engine = new SimEngine(id, this.clock, this.random.fork(), this.faults, this.watch, (line) => this.note(line), skewMs)
    const view = new NodeView(id, engine, stateDir, this.clock, this.random.fork())
    const caddy = new SimCaddy(instance, engine)
    const node: SimNode = { id, name, skewMs, engine, caddy, view, agent: null, stateDir }
    this.watch.views.push(view)
    this.nodes.push(node)
    this.startAgent(node)
  }

  /** What Temporal's Schedule starts every 30 s. */
  private async sweep(): Promise<void> {
    if (this.control.dead || !this.temporal.isServerUp) return
    const { activities } = this
    try {
      let after: string | null = ''
      while (after !== null) after = await activities.sweepPage(after)
      await activities.keepHouse()
    } catch (error) {
      this.log.push(`a sweep failed: ${String(error)}`)
    }
  }

  /** The API's answer to an inventory, as its service and its repository give it. */
  private async takeInventory(node: SimNode, inventory: InventoryEntry[]): Promise<void> {
    const { store } = this.options
    if (this.faults.away.database) return
    const ids = inventory.map((i) => i.resource)
    for (const found of await this.clock.hold(store.foundOn(node.id, ids, this.clock.now()))) {
      this.note(`${found} has something on ${node.id}, where it did not look`)
      this.nudge(found)
    }
    for (const { resource, kind } of inventory) {
      if (!(await this.clock.hold(store.buried(resource)))) continue
      this.note(`${resource} has containers on ${node.id} though it was deleted`)
      await this.clock.hold(store.revive({ id: resource, kind, node: node.name }, this.clock.now()))
      this.nudge(resource)
    }
  }

  private calls(): ControlCalls {
    const told = (id: string, pass: number, decision: Decision) => {
      this.passes++
      const started = decision.start.map((a) => a.header.key).join(' ')
      const state = decision.superseded
        ? 'superseded'
        : `${decision.ready} ${decision.reason}${decision.finalized ? ' finalized' : ''}`
      this.note(
        `${id} pass ${pass} of generation ${decision.generation}: ${state} → [${started}] ${decision.requeueAfterMs ?? ''}`,
      )
      const application = this.applications.get(id)
      if (application && decision.generation === application.generation && decision.ready === 'True' && !decision.paused)
        application.serving = true
    }
    return {
      begin: async (id, input) => {
        const begun = await this.activities.begin(id, input)
        if (begun?.decision) told(id, begun.loaded.pass, begun.decision)
        return begun
      },
      decide: async (id, input) => {
        const decision = await this.activities.decide(id, input)
        told(id, input.pass, decision)
        return decision
      },
    }
  }

  private every(ms: number, run: () => void): void {
    this.clock.after(ms, () => {
      run()
      this.every(ms, run)
    })
  }
}
