import { mkdirSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { DockerodeEngine } from '../adapters/docker/dockerode-engine.js'
import { bridgeName } from '../adapters/docker/network-body.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { kindOfId } from '../reconcile/kind.js'
import type { Observation, ObserveRequest } from '../reconcile/observed.js'
import type { ResultOf, Verb } from '../reconcile/action.js'
import type { SignedAction } from '../reconcile/loop.js'
import { ActionGate } from './action-gate.js'
import { Canary } from './canary.js'
import { Channel } from './channel.js'
import { ClockOffset } from './clock-offset.js'
import type { AgentConfig } from './config.js'
import { ConnectionCounter } from './connections.js'
import { ControlPlane } from './control-plane.js'
import { dnsContainerName, DnsServer } from './dns-server.js'
import { DriftSweep } from './drift-sweep.js'
import { serveExec } from './exec-calls.js'
import { createExecutor, type Executor } from './executor.js'
import { ExecProbes } from './exec-probe.js'
import { FenceJournal } from './fences.js'
import { hostRoutes } from './host-routes.js'
import { Housekeeping } from './housekeeping.js'
import { ImageResolver } from './image-resolver.js'
import { Ingress } from './ingress.js'
import { KnownResources } from './known-resources.js'
import type { AgentLog } from './log.js'
import { serveLogs } from './log-calls.js'
import { NodeConditions, type NodeCondition } from './node-conditions.js'
import { networkName, NodeNetwork } from './node-network.js'
import { NudgeQueue, type SendNudges } from './nudge-queue.js'
import { createObserver } from './observer.js'
import { OwnEffects } from './own-effects.js'
import { systemClock } from './ports.js'
import { ProbeRunner, runProbes } from './probe.js'
import { Prober } from './prober.js'
import { protocolVersion, type AgentFrame, type ApiFrame } from './protocol.js'
import { Publisher } from './publisher.js'
import { ResolverClient } from './resolver-client.js'
import { serveCalls } from './serve-calls.js'
import { StateFolders } from './state-folders.js'
import { ToldStates } from './told-states.js'
import { WatchSpan } from './watch-span.js'
import { Watcher } from './watcher.js'

export const agentVersion = '0.1.0'

const sweepMs = 30_000
const collectMs = 10 * 60_000
/** Time for the first probes of what is found at the start, so that each resource is told once. */
const firstLookMs = 300

type Frame<T extends AgentFrame['type']> = Extract<AgentFrame, { type: T }>

/** All parts of one node's agent, wired. It works without the API and without Temporal; they tell it what to do. */
export class Agent {
  private readonly stopping = new AbortController()
  private readonly timers: NodeJS.Timeout[] = []
  private flying: Promise<void> = Promise.resolve()
  private readonly offset = new ClockOffset()
  // People wait for the first verdicts at a start; they are not left to the next beat.
  private readonly conditions = new NodeConditions(() => this.channel.heartbeatNow())
  private readonly engine: NodeEngine
  private readonly network: NodeNetwork
  private readonly dns: DnsServer
  private readonly publisher: Publisher
  private readonly housekeeping: Housekeeping
  private readonly prober: Prober
  private readonly nudges: NudgeQueue
  private readonly watcher: Watcher
  private readonly sweep: DriftSweep
  private readonly channel: Channel
  private readonly canary: Canary
  private readonly gate: ActionGate
  private readonly executor: Executor
  private readonly observer: (request: ObserveRequest) => Promise<Observation>

  /** Also hears what is told to the API. */
  onNudges: SendNudges | null = null

  constructor(
    private readonly config: AgentConfig,
    private readonly log: AgentLog,
    engine?: NodeEngine,
  ) {
    const { instance, node, stateDir } = config
    mkdirSync(stateDir, { recursive: true })
    const clock = systemClock
    this.engine = engine ?? new DockerodeEngine(config.dockerSocket)
    const client = new ResolverClient()
    const effects = new OwnEffects(clock)
    const told = new ToldStates(new KnownResources(join(stateDir, 'resources.log')))
    const runner = new ProbeRunner()
    const { signal } = this.stopping
    const common = { instance, stateDir, engine: this.engine, clock, log, conditions: this.conditions, signal }

    this.channel = new Channel({
      apiUrl: config.apiUrl,
      token: config.channelToken,
      log,
      hello: () => this.hello(),
      heartbeat: () => Promise.resolve(this.heartbeat()),
      onWelcome: (welcome, sentAt) => this.welcomed(welcome, sentAt),
      onHeartbeatAnswer: ({ sentAt, now, keepImages }) => {
        this.offset.measure(sentAt, Date.now(), now)
        this.housekeeping.setKeepImages(keepImages)
      },
      serve: serveCalls({ logs: serveLogs(instance, this.engine), exec: serveExec(instance, this.engine, log) }),
    })
    this.nudges = new NudgeQueue((resources, why) => {
      this.channel.nudge(resources, why)
      this.onNudges?.(resources, why)
    })
    this.prober = new Prober({
      run: runProbes(runner, new ExecProbes(this.engine)),
      clock,
      onChange: (resource, why) => this.nudges.nudge(resource, why),
    })
    this.network = new NodeNetwork({
      instance,
      stateDir,
      engine: this.engine,
      resolvers: (subnet) => this.dns.resolversFor(subnet),
    })
    this.dns = new DnsServer({ ...common, network: this.network, client })
    this.publisher = new Publisher({ stateDir, clock, names: this.dns, onSilent: () => void this.dns.ensure() })
    this.housekeeping = new Housekeeping(common)
    this.canary = new Canary({ ...common, network: this.network, dns: this.dns, client })
    this.sweep = new DriftSweep({
      ...common,
      prober: this.prober,
      told,
      nudges: this.nudges,
      published: () => this.publisher.resources(),
      sendInventory: (resources) => this.channel.sendInventory(resources),
    })
    const span = new WatchSpan()
    this.watcher = new Watcher({
      ...common,
      engine: { ...span.watching(this.engine), inspect: (id) => this.engine.inspect(id) },
      prober: this.prober,
      effects,
      told,
      nudges: this.nudges,
      onSystemEvent: ({ action, containerName }) => {
        if (containerName === dnsContainerName(instance)) this.dns.noticed(action)
      },
      onSubscribe: () => void this.lookAround(),
    })
    this.gate = new ActionGate({
      instance,
      node,
      pinnedKeys: config.pinnedKeys,
      fences: FenceJournal.open(join(stateDir, 'fences.log'), Date.now()),
      effects,
      controlNow: () => this.controlNow(),
      onLate: (resource) => this.nudges.nudge(resource, 'an action ended late'),
    })
    const resolver = new ImageResolver(this.engine, clock)
    const controlPlane = new ControlPlane(this.channel)
    const folders = new StateFolders(stateDir)
    const ingress = new Ingress({
      instance,
      engine: this.engine,
      stateDir,
      clock,
      secrets: controlPlane,
      artifacts: controlPlane,
    })
    this.executor = createExecutor({
      engine: this.engine,
      prober: this.prober,
      publisher: this.publisher,
      resolver,
      network: this.network,
      pulls: this.housekeeping,
      secrets: controlPlane,
      credentials: controlPlane,
      artifacts: controlPlane,
      ingress,
      folders,
      clock,
    })
    this.observer = createObserver({
      instance,
      node,
      engine: this.engine,
      prober: this.prober,
      publisher: this.publisher,
      ingress,
      folders,
      connections: new ConnectionCounter(runner),
      resolver,
      told,
      span,
      clock,
      clockOffsetMs: () => this.offset.ms ?? 0,
    })
  }

  start(): void {
    const { signal } = this.stopping
    this.nudges.hold(firstLookMs)
    void this.watcher.run(signal)
    void this.channel.run(signal)
    this.timers.push(setInterval(() => void this.lookAround(), sweepMs))
    this.timers.push(setInterval(() => void this.quietly(this.housekeeping.collect()), collectMs))
    this.flying = this.canary.run()
  }

  observe(request: ObserveRequest): Promise<Observation> {
    return this.observer(request)
  }

  act(signed: SignedAction, signal: AbortSignal): Promise<ResultOf[Verb]> {
    return this.gate.admit(signed, signal, (payload) => this.executor.act(payload, signal))
  }

  /** Containers go on running; the next agent finds everything by labels and files. Returns when nothing is under way. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('the agent stops'))
    for (const timer of this.timers) clearInterval(timer)
    this.prober.stop()
    await this.flying
    await this.dns.idle()
  }

  /** Whether the API is reached over the channel. */
  get connected(): boolean {
    return this.channel.connected
  }

  /** What the next heartbeat tells of this node. */
  get nodeConditions(): NodeCondition[] {
    return this.conditions.all()
  }

  private controlNow(): number {
    return Date.now() + (this.offset.ms ?? 0)
  }

  /** Everything that events may have missed: containers, network, resolver, endpoint files, disk. */
  private async lookAround(): Promise<void> {
    await this.sweep.run()
    for (const resource of this.publisher.repair())
      this.nudges.nudge({ kind: kindOfId(resource) ?? '', resource }, 'endpoint files were lost')
    await this.quietly(this.housekeeping.measure())
    this.network.forget()
    if (this.network.subnet) await this.dns.ensure()
  }

  private welcomed(welcome: Extract<ApiFrame, { type: 'welcome' }>, sentAt: number): void {
    this.offset.measure(sentAt, Date.now(), welcome.now)
    this.housekeeping.setKeepImages(welcome.keepImages)
    this.network.adopt(welcome.subnet)
    this.dns.setTtl(welcome.dnsTtlSeconds)
    void this.dns.ensure()
    this.canary.wake()
  }

  private async hello(): Promise<Frame<'hello'>> {
    const info = await this.engine.info().catch(() => null)
    return {
      type: 'hello',
      protocolVersion,
      agentVersion,
      architecture: info?.architecture ?? process.arch,
      engineVersion: info?.version ?? null,
      cpuCount: availableParallelism(),
      memoryBytes: totalmem(),
      hostRoutes: await hostRoutes(bridgeName(networkName(this.config.instance))),
      currentSubnet: this.network.subnet?.cidr ?? null,
      conditions: this.conditions.all(),
    }
  }

  private heartbeat(): Frame<'heartbeat'> {
    const disk = this.housekeeping.lastUse
    return {
      type: 'heartbeat',
      sentAt: Date.now(),
      diskTotalBytes: disk?.totalBytes ?? 0,
      diskFreeBytes: disk?.freeBytes ?? 0,
      clockOffsetMs: this.offset.ms,
      conditions: this.conditions.all(),
    }
  }

  private async quietly(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => this.log.debug({ error: String(error) }, 'housekeeping has to wait'))
  }
}
