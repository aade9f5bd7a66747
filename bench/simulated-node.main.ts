import { noIngress } from '../src/agent/testing/no-ingress.js'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createNodeActivities } from '../activities/node.activities.js'
import { ActionGate } from '../src/agent/action-gate.js'
import { Channel } from '../src/agent/channel.js'
import { ClockOffset } from '../src/agent/clock-offset.js'
import { agentConfigSchema } from '../src/agent/config.js'
import { ConnectionCounter } from '../src/agent/connections.js'
import { ControlPlane } from '../src/agent/control-plane.js'
import { DriftSweep } from '../src/agent/drift-sweep.js'
import { createExecutor } from '../src/agent/executor.js'
import { ImageResolver } from '../src/agent/image-resolver.js'
import { FenceJournal } from '../src/agent/fences.js'
import { NudgeQueue } from '../src/agent/nudge-queue.js'
import { createObserver } from '../src/agent/observer.js'
import { OwnEffects } from '../src/agent/own-effects.js'
import { systemClock } from '../src/agent/ports.js'
import { Prober } from '../src/agent/prober.js'
import { protocolVersion } from '../src/agent/protocol.js'
import { Publisher } from '../src/agent/publisher.js'
import { ToldStates } from '../src/agent/told-states.js'
import { WatchSpan } from '../src/agent/watch-span.js'
import { Watcher } from '../src/agent/watcher.js'
import { createLogger } from '../src/log.js'
import type { EngineNetwork } from '../src/adapters/docker/engine.js'
import type { Publication } from '../src/reconcile/action.js'
import { nodeQueue } from '../src/reconcile/kind.js'
import { installRuntime } from '../src/temporal/runtime.js'
import { MemoryEngine } from './simulated-engine.js'

/**
 * An agent made of the real parts over an engine in memory, without a resolver: what `idle` and `scale` load the
 * control plane with. Sends its count of engine calls to its parent whenever it is asked.
 */
const sweepMs = 30_000
const config = agentConfigSchema.parse(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')))
const log = createLogger('simulated-node', 'warn')
installRuntime(log)

const engine = new MemoryEngine()
const clock = systemClock
const { signal } = new AbortController()
const stateDir = mkdtempSync(join(tmpdir(), 'evenkeel-simulated-node-'))
const offset = new ClockOffset()
const effects = new OwnEffects(clock)
const told = new ToldStates()
const span = new WatchSpan()
const { instance, node } = config

const channel = new Channel({
  apiUrl: config.apiUrl,
  token: config.channelToken,
  log,
  hello: () =>
    Promise.resolve({
      type: 'hello' as const,
      protocolVersion,
      agentVersion: 'simulated',
      architecture: 'x86_64',
      engineVersion: 'simulated',
      cpuCount: 1,
      memoryBytes: 0,
      hostRoutes: [],
    }),
  heartbeat: () =>
    Promise.resolve({
      type: 'heartbeat' as const,
      sentAt: Date.now(),
      diskTotalBytes: 1,
      diskFreeBytes: 1,
      clockOffsetMs: offset.ms,
      conditions: [],
    }),
  onWelcome: (welcome, sentAt) => offset.measure(sentAt, Date.now(), welcome.now),
  onHeartbeatAnswer: ({ sentAt, now }) => offset.measure(sentAt, Date.now(), now),
  serve: () => Promise.reject(new Error('a simulated node serves no calls')),
})
const nudges = new NudgeQueue((resources, why) => channel.nudge(resources, why))
const prober = new Prober({
  run: () => Promise.resolve({ ok: true, message: 'simulated' }),
  clock,
  onChange: (resource, why) => nudges.nudge(resource, why),
})
// Nobody answers names here, so publications are live when their files are written.
const published = new Map<string, string[]>()
const namesOf = new Map<string, string[]>()
function showNames(resource: string, publication: Publication | null): void {
  for (const name of namesOf.get(resource) ?? []) published.delete(name)
  for (const name of publication?.names ?? []) published.set(name, publication?.addresses ?? [])
  namesOf.set(resource, publication?.names ?? [])
}
const publisher = new Publisher({
  stateDir,
  clock,
  names: { lookup: (name) => Promise.resolve({ addresses: published.get(name) ?? [] }) },
})
const network: EngineNetwork = {
  name: 'simulated',
  subnet: '192.0.2.0/24',
  gateway: '192.0.2.1',
  dynamicRange: '192.0.2.0/24',
  mtu: 1380,
  dns: [],
}
const common = { instance, engine, clock, log }
const sweep = new DriftSweep({
  ...common,
  prober,
  told,
  nudges,
  published: () => publisher.resources(),
  sendInventory: (resources) => channel.sendInventory(resources),
})
const watcher = new Watcher({
  ...common,
  engine: { ...span.watching(engine), inspect: (id) => engine.inspect(id) },
  prober,
  effects,
  told,
  nudges,
  onSystemEvent: () => undefined,
  onSubscribe: () => void sweep.run(),
})
const controlNow = () => Date.now() + (offset.ms ?? 0)
const gate = new ActionGate({
  instance,
  node,
  pinnedKeys: config.pinnedKeys,
  fences: FenceJournal.open(join(stateDir, 'fences.log'), Date.now()),
  effects,
  controlNow,
  onLate: (resource) => nudges.nudge(resource, 'an action ended late'),
})
const resolver = new ImageResolver(engine, clock)
const controlPlane = new ControlPlane(channel)
const executor = createExecutor({
  engine,
  resolver,
  prober,
  publisher: {
    publish: async (resource, publication, revision, aborted) => {
      showNames(resource, publication)
      await publisher.publish(resource, publication, revision, aborted)
    },
    liveRevision: (resource) => publisher.liveRevision(resource),
    names: (resource, address) => publisher.names(resource, address),
  },
  network: { ensure: () => Promise.resolve(network), forget: () => undefined },
  pulls: { admit: () => undefined, pulled: () => undefined },
  secrets: controlPlane,
  credentials: controlPlane,
  artifacts: controlPlane,
  ...noIngress,
  clock,
})
const observe = createObserver({
  instance,
  node,
  engine,
  prober,
  publisher,
  ...noIngress,
  connections: new ConnectionCounter({ has: () => false }),
  resolver,
  told,
  span,
  clock,
  clockOffsetMs: () => offset.ms ?? 0,
})

const connection = await NativeConnection.connect({ address: config.temporal.address })
const activities = createNodeActivities({
  observe,
  act: (signed, aborted) => gate.admit(signed, aborted, (payload) => executor.act(payload, aborted)),
})
const workers = await Promise.all(
  (['short', 'long'] as const).map((queue) =>
    Worker.create({ connection, namespace: config.temporal.namespace, taskQueue: nodeQueue(node, queue), activities }),
  ),
)
void watcher.run(signal)
void channel.run(signal)
setInterval(() => void sweep.run(), sweepMs)
process.on('message', () => process.send?.({ calls: engine.calls, memoryBytes: process.memoryUsage().rss }))
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })
await Promise.all(workers.map((worker) => worker.run()))
