import { join } from 'node:path'
import type { Initialised } from '../bootstrap/initialise.js'
import { controlQueue, nodeQueue } from '../reconcile/kind.js'
import type { Settings } from '../settings.js'
import { searchAttributeTypes } from '../../workflows/messages.js'
import type { Home } from './home.js'
import { nodePart } from './node-part.js'
import { requirePoller, TaskQueueType } from './pollers.js'
import { requireFreePort } from './ports.js'
import { startPostgres } from './postgres.js'
import { PROJECT_ROOT } from './project-root.js'
import type { SetupLog } from './setup-log.js'
import type { Part } from './supervisor.js'
import { startTemporal } from './temporal.js'

export function postgresPart(settings: Settings, home: Home, log: SetupLog, started: (url: string) => void): Part {
  return {
    name: 'postgres',
    async start() {
      const server = await startPostgres({ stateDir: home.postgresDir, port: settings.postgresPort, log })
      started(server.url)
      return server
    },
  }
}

/**
 * By default a history shard reads its queues at most 20 times a second, and the dev server has one shard: that made every
 * workflow task wait up to 50 ms as soon as a few were under way (measured; see docs/architecture.md).
 */
const queueReads = {
  'history.transferProcessorMaxPollRPS': 2_000,
  'history.timerProcessorMaxPollRPS': 2_000,
  'history.visibilityProcessorMaxPollRPS': 200,
}

export function temporalPart(settings: Settings, home: Home, binary: string, log: SetupLog): Part {
  const { temporalPort: grpcPort, temporalUiPort: uiPort } = settings
  return {
    name: 'temporal',
    start: () =>
      startTemporal({
        binary,
        stateDir: home.temporalDir,
        grpcPort,
        uiPort,
        log,
        searchAttributes: searchAttributeTypes,
        dynamicConfig: queueReads,
      }),
  }
}

export function apiPart(settings: Settings, home: Home, env: Readonly<Record<string, string>>): Part {
  return nodePart({
    name: 'api',
    entry: entryOf('main'),
    env,
    runDir: home.runDir,
    before: () => requireFreePort(settings.apiPort, 'the API', 'EVENKEEL_API_PORT', settings.listen),
    probe: () => requireAnswer(`${apiUrlOf(settings)}/healthz`),
  })
}

export function workerPart(settings: Settings, home: Home, env: Readonly<Record<string, string>>): Part {
  return nodePart({
    name: 'worker',
    entry: entryOf('worker.main'),
    env,
    runDir: home.runDir,
    before: () => requireFreePort(settings.workerMetricsPort, "the worker's metrics", 'EVENKEEL_WORKER_METRICS_PORT'),
    probe: (pid) => requirePoller({ ...temporalOf(settings), queue: controlQueue, type: TaskQueueType.workflow, pid }),
  })
}

export function agentPart(settings: Settings, home: Home, made: Initialised, env: Readonly<Record<string, string>>): Part {
  return nodePart({
    name: 'agent',
    entry: entryOf('agent.main'),
    args: [made.agentConfigFile],
    env,
    runDir: home.runDir,
    probe: (pid) =>
      requirePoller({ ...temporalOf(settings), queue: nodeQueue(made.node.id, 'short'), type: TaskQueueType.activity, pid }),
  })
}

function entryOf(name: string): string {
  return join(PROJECT_ROOT, 'dist', 'src', `${name}.js`)
}

function temporalOf({ temporalAddress, temporalNamespace }: Settings): { address: string; namespace: string } {
  return { address: temporalAddress, namespace: temporalNamespace }
}

/** What listens everywhere is reached from here by the loopback address. */
export function apiUrlOf({ listen, apiPort }: Settings): string {
  const everywhere = listen === '0.0.0.0' || listen === '::'
  return `http://${everywhere ? '127.0.0.1' : listen}:${apiPort}`
}

async function requireAnswer(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  if (!response.ok) throw new Error(`${url} answers ${response.status}`)
}
