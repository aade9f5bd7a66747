import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { PinnedKey } from '../../src/adapters/crypto/signing.js'
import type { EngineNetwork } from '../../src/adapters/docker/engine.js'
import { ActionGate } from '../../src/agent/action-gate.js'
import { toActionFailure } from '../../src/agent/action-failure.js'
import type { ConnectionCounter } from '../../src/agent/connections.js'
import { DriftSweep, type InventoryEntry } from '../../src/agent/drift-sweep.js'
import { createExecutor, type Executor, type ExecutorPorts } from '../../src/agent/executor.js'
import { ImageResolver } from '../../src/agent/image-resolver.js'
import { FenceJournal } from '../../src/agent/fences.js'
import { KnownResources } from '../../src/agent/known-resources.js'
import { NudgeQueue } from '../../src/agent/nudge-queue.js'
import { createObserver } from '../../src/agent/observer.js'
import { OwnEffects } from '../../src/agent/own-effects.js'
import type { Clock, NodeNetworkSource, ResourceRef, StateFolderSource } from '../../src/agent/ports.js'
import { Prober } from '../../src/agent/prober.js'
import { Publisher } from '../../src/agent/publisher.js'
import { ToldStates } from '../../src/agent/told-states.js'
import { WatchSpan } from '../../src/agent/watch-span.js'
import { Watcher } from '../../src/agent/watcher.js'
import { noLog } from '../../src/agent/testing/no-log.js'
import { secretKey, type ResultOf, type Verb } from '../../src/reconcile/action.js'
import type { SignedAction } from '../../src/reconcile/loop.js'
import type { Observation, ObserveRequest } from '../../src/reconcile/observed.js'
import { ingressOver, type SimCaddy } from './sim-caddy.js'
import type { EngineFaults, SimEngine } from './sim-engine.js'
import { SimProcess } from './sim-process.js'
import { AttemptCancelled, type NodeWorker } from './sim-temporal.js'
import type { VirtualClock } from './virtual-clock.js'

const sweepMs = 30_000
const heartbeatMs = 5_000

export interface SimAgentOptions {
  instance: string
  node: string
  /** The node's disk: outlives the agent. */
  stateDir: string
  engine: SimEngine
  caddy: SimCaddy
  /** Those of Caddy's admin socket are as those of the engine's. */
  faults: EngineFaults
  /** What the control plane keeps under this hash. */
  artifact(sha256: string): Promise<string | null>
  clock: VirtualClock
  pinnedKeys: PinnedKey[]
  /** This machine's clock minus the control plane's. */
  skewMs: number
  /** What the node's resolver answers. */
  lookup(name: string): string[]
  probeMs(): number
  publishMs(): number
  /** The channel to the API; whatever gets lost on it is lost. */
  nudge(resource: ResourceRef, why: string): void
  inventory(inventory: InventoryEntry[]): void
  heartbeat(): void
  /** An action is about to run: it passed signature, time and fence. */
  admitted(node: string, action: { resource: string; key: string; pass: number }): void
  trace(line: string): void
}

/** The real parts of an agent, put together over a simulated engine, clock and channel, in a process that can die. */
export class SimAgent implements NodeWorker {
  readonly process: SimProcess
  private readonly gate: ActionGate
  private readonly executor: Executor
  private readonly observeResource: (request: ObserveRequest) => Promise<Observation>

  constructor(private readonly options: SimAgentOptions) {
    const { instance, node, stateDir, clock, pinnedKeys, skewMs } = options
    this.process = new SimProcess(`agent ${node}`)
    const { process } = this
    const nodeClock: Clock = {
      now: () => Math.floor(clock.now() + skewMs),
      sleep: (ms, signal) => process.receives(clock.sleep(ms, signal)),
    }
    const parts = process.enter(() => {
      const engine = process.facing(options.engine)
      const effects = new OwnEffects(nodeClock)
      const fences = FenceJournal.open(join(stateDir, 'fences.jsonl'), clock.now())
      const nudges = new NudgeQueue((resources, why) => resources.forEach((r) => options.nudge(r, why)))
      const prober = new Prober({
        clock: nodeClock,
        run: async ({ address }) => {
          await nodeClock.sleep(options.probeMs())
          return options.engine.answers(address) ? { ok: true, message: 'answers' } : { ok: false, message: 'does not answer' }
        },
        onChange: (resource, why) => nudges.nudge(resource, why),
      })
      const publisher = new Publisher({
        stateDir,
        clock: nodeClock,
        names: {
          lookup: async (name) => {
            await nodeClock.sleep(options.publishMs())
            return { addresses: options.lookup(name) }
          },
        },
      })
      const told = new ToldStates(new KnownResources(join(stateDir, 'resources.log')))
      const span = new WatchSpan()
      const sweep = new DriftSweep({
        instance,
        engine,
        clock: nodeClock,
        prober,
        told,
        nudges,
        log: noLog,
        published: () => publisher.resources(),
        sendInventory: (inventory) => options.inventory(inventory),
      })
      const watcher = new Watcher({
        instance,
        engine: {
          inspect: (id) => engine.inspect(id),
          ...span.watching({
            events: (labels, since, onEvent, signal) =>
              engine.events(labels, since, (event) => process.whenAwake(() => process.enter(() => onEvent(event))), signal),
          }),
        },
        clock: nodeClock,
        prober,
        effects,
        told,
        nudges,
        log: noLog,
        onSystemEvent: () => undefined,
        onSubscribe: () => void sweep.run(),
      })
      const resolver = new ImageResolver(engine, nodeClock)
      const { caddy, faults, artifact } = options
      const ingress = ingressOver(caddy, { process, clock: nodeClock, faults, artifact })
      const executor = createExecutor({
        engine,
        prober,
        publisher,
        resolver,
        network: networkOver(engine),
        pulls: { admit: () => undefined, pulled: () => undefined },
        ...controlPlaneOf(process, nodeClock),
        ingress,
        folders,
        clock: nodeClock,
      })
      const gate = new ActionGate({
        instance,
        node,
        pinnedKeys,
        fences,
        effects,
        controlNow: () => Math.floor(clock.now()),
        onLate: (resource) => nudges.nudge(resource, 'an action ended late'),
      })
      const observe = createObserver({
        instance,
        node,
        engine,
        prober,
        publisher,
        ingress,
        folders,
        connections: {
          count: (addresses: string[]) => Promise.resolve(Object.fromEntries(addresses.map((a) => [a, 0]))),
        } as ConnectionCounter,
        resolver,
        told,
        span,
        clock: nodeClock,
        clockOffsetMs: () => -skewMs,
      })
      void watcher.run(new AbortController().signal)
      return { sweep, executor, gate, observe }
    })
    this.gate = parts.gate
    this.executor = parts.executor
    this.observeResource = parts.observe
    this.every(sweepMs, () => void parts.sweep.run())
    this.every(heartbeatMs, () => options.heartbeat())
    options.heartbeat()
  }

  get beats(): boolean {
    return this.process.beats
  }

  get dead(): boolean {
    return this.process.dead
  }

  observe(request: ObserveRequest): Promise<Observation> {
    return this.process.receives(this.process.enter(() => this.observeResource(request)))
  }

  act(signed: SignedAction, look: ObserveRequest | null, signal: AbortSignal) {
    const { process, gate, executor, options } = this
    const acted = new Promise<Awaited<ReturnType<Executor['act']>>>((resolve, reject) => {
      process.whenAwake(() =>
        process
          .enter(() =>
            gate.admit(signed, signal, (payload) => {
              options.admitted(options.node, payload)
              return process.enter(() => executor.act(payload, signal), payload)
            }),
          )
          .then(resolve, reject),
      )
    })
    return process.receives(
      acted.then(
        async (result) => ({ result, seen: look ? await this.lookAfter(look, result) : null }),
        (error: unknown) => {
          options.trace(`${options.node}: action failed: ${String(error)}`)
          throw error
        },
      ),
    )
  }

  /** As activities/node.activities.ts tells it. */
  failureOf(error: unknown): { reason: string; message: string; retryable: boolean } {
    if (error instanceof Error && error.name === 'ActionRefused')
      return { reason: 'ActionRefused', message: error.message, retryable: true }
    if (error instanceof AttemptCancelled) return { reason: 'Cancelled', message: error.message, retryable: true }
    const { reason, message, retryable } = toActionFailure(error)
    return { reason, message, retryable }
  }

  /** As activities/node.activities.ts looks. */
  private lookAfter(look: ObserveRequest, result: ResultOf[Verb]): Promise<Observation | null> {
    const images = 'resolved' in result ? [...new Set([...look.images, result.resolved])] : look.images
    return this.observe({ ...look, images }).catch(() => null)
  }

  private every(ms: number, run: () => void): void {
    const { clock } = this.options
    const again = () => {
      if (this.process.dead) return
      this.process.whenAwake(() => this.process.enter(run))
      clock.after(ms, again)
    }
    clock.after(ms, again)
  }
}

/** As src/agent/control-plane.ts asks it: it has every secret, and keeps whatever it is given. */
function controlPlaneOf(process: SimProcess, clock: Clock): Pick<ExecutorPorts, 'secrets' | 'credentials' | 'artifacts'> {
  const answered = <T>(value: T): Promise<T> => process.receives(clock.sleep(1).then(() => value))
  return {
    secrets: { values: (_, refs) => answered(new Map(refs.map((ref) => [secretKey(ref), `value of ${secretKey(ref)}`]))) },
    credentials: { credential: () => answered({ host: 'registry.test', username: 'node', password: 'open' }) },
    artifacts: { put: (content) => answered(createHash('sha256').update(content).digest('hex')) },
  }
}

/** The node's disk is never lost in here, so neither are the folders that a container mounts. */
const folders: StateFolderSource = {
  mounted: (spec) => ({ ...spec, mounts: spec.mounts.filter((m) => m.kind !== 'state') }),
  lost: () => false,
}

/** As src/agent/node-network.ts keeps it: made once, looked for again when it is found missing. */
function networkOver(engine: SimEngine): NodeNetworkSource {
  let ensured = false
  return {
    async ensure() {
      if (!ensured) await engine.ensureNetwork(network)
      ensured = true
      return network
    },
    forget: () => (ensured = false),
  }
}

const network: EngineNetwork = {
  name: 'evenkeel',
  subnet: '10.192.0.0/20',
  gateway: '10.192.0.1',
  dynamicRange: '10.192.15.0/24',
  mtu: 1380,
  dns: [],
}
