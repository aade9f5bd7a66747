import { setTimeout as sleep } from 'node:timers/promises'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createNodeActivities, type NodeActivities } from '../activities/node.activities.js'
import { Agent } from './agent/agent.js'
import { readAgentConfig, type AgentConfig } from './agent/config.js'
import { holdName } from './hold-name.js'
import { createLogger } from './log.js'
import { nodeQueue } from './reconcile/kind.js'
import { readSettings } from './settings.js'
import { onShutdown } from './shutdown.js'
import { installRuntime } from './temporal/runtime.js'

/** The agent of one node: serves the node's two queues, watches its containers, and dials out only. */
const settings = readSettings()
const log = createLogger('agent', settings.logLevel)
const metricsPort = process.env['EVENKEEL_AGENT_METRICS_PORT']
installRuntime(log, metricsPort ? Number(metricsPort) : undefined)

const configPath = process.argv[2] ?? process.env['EVENKEEL_AGENT_CONFIG']
if (!configPath) throw new Error('give the path of the agent configuration as an argument or in EVENKEEL_AGENT_CONFIG')
const config = readAgentConfig(configPath)
await holdOnly(config)

const stopping = new AbortController()
const agent = new Agent(config, log)
agent.start()
onShutdown(() => stopping.abort())
log.info({ node: config.node, instance: config.instance }, 'the agent runs')
await serveQueues(createNodeActivities(agent))
await agent.stop()

/** Serves both queues until it is told to stop; a Temporal that is away is waited for. */
async function serveQueues(activities: NodeActivities): Promise<void> {
  let retryMs = 100
  while (!stopping.signal.aborted) {
    const beganAt = Date.now()
    try {
      await serveOnce(activities)
    } catch (error) {
      log.warn({ error: String(error) }, `Temporal at ${config.temporal.address} cannot be worked with; trying again`)
    }
    retryMs = Date.now() - beganAt > 60_000 ? 100 : Math.min(retryMs * 2, 5_000)
    await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
}

async function serveOnce(activities: NodeActivities): Promise<void> {
  const { address, namespace } = config.temporal
  const connection = await NativeConnection.connect({ address })
  try {
    const workers = await Promise.all([
      createWorker(connection, namespace, 'short', 32, activities),
      createWorker(connection, namespace, 'long', 8, activities),
    ])
    const shutdown = () => {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
    }
    if (stopping.signal.aborted) return
    stopping.signal.addEventListener('abort', shutdown, { once: true })
    log.info({ queues: [nodeQueue(config.node, 'short'), nodeQueue(config.node, 'long')] }, 'serving')
    try {
      await Promise.all(workers.map((worker) => worker.run()))
    } finally {
      stopping.signal.removeEventListener('abort', shutdown)
      shutdown()
    }
  } finally {
    await connection.close().catch(() => undefined)
  }
}

function createWorker(
  connection: NativeConnection,
  namespace: string,
  queue: 'short' | 'long',
  atOnce: number,
  activities: NodeActivities,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue: nodeQueue(config.node, queue),
    activities,
    maxConcurrentActivityTaskExecutions: atOnce,
    // A cancellation arrives with the answer to a heartbeat, so heartbeats must not be held back for long.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // A stop with a long grace is taken up again by the next agent, so nobody waits for it here.
    shutdownGraceTime: '2s',
    shutdownForceTime: '8s',
  })
}

/** Two agents of one node would fight over its fences and files. */
async function holdOnly({ instance, node }: AgentConfig): Promise<void> {
  if (!(await holdName(`evenkeel-agent-${instance}-${node}`)))
    throw new Error(`another agent of node ${node} runs on this machine`)
}
