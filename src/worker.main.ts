import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createControlActivities } from '../activities/control.activities.js'
import { signingKeyOf } from './adapters/crypto/signing.js'
import { createLogger } from './log.js'
import { openDatabase } from './persistence/database.js'
import { PostgresPassStore } from './persistence/postgres-pass-store.js'
import { controlQueue } from './reconcile/kind.js'
import { homePaths, readSettings } from './settings.js'
import { onShutdown } from './shutdown.js'
import { NudgeClient } from './temporal/nudge.client.js'
import { installRuntime } from './temporal/runtime.js'
import { ensureSweepSchedule } from './temporal/sweep.schedule.js'

/** The control worker: all workflows, and the activities that read and write PostgreSQL. It alone holds the signing key. */
const settings = readSettings()
const log = createLogger('worker', settings.logLevel)
installRuntime(log, settings.workerMetricsPort, settings.metricsListen)

const paths = homePaths(settings.home)
if (!settings.databaseUrl) throw new Error('EVENKEEL_DATABASE_URL is not set: the control worker needs PostgreSQL')
const db = openDatabase(settings.databaseUrl)
const nudges = await NudgeClient.connect(settings.temporalAddress, settings.temporalNamespace)
const connection = await NativeConnection.connect({ address: settings.temporalAddress })

const worker = await Worker.create({
  connection,
  namespace: settings.temporalNamespace,
  taskQueue: controlQueue,
  ...workflowSource(),
  activities: createControlActivities({
    instance: readFileSync(paths.instance, 'utf8').trim(),
    store: new PostgresPassStore(db, { dnsTtlSeconds: settings.dnsTtlSeconds }),
    signingKey: signingKeyOf(readFileSync(paths.signingKey, 'utf8')),
    clock: Date.now,
    nudge: (resource) => nudges.nudge(resource),
    log: (message, error) => log.warn({ err: error }, message),
  }),
  maxConcurrentWorkflowTaskExecutions: 20,
  maxConcurrentLocalActivityExecutions: 20,
  maxCachedWorkflows: 2_000,
  shutdownGraceTime: '5s',
})
onShutdown(() => worker.shutdown())
await ensureSweepSchedule(nudges.temporal)
log.info('the control worker runs')
await worker.run()
await nudges.close()
await connection.close()
await db.$disconnect()

/** Built: the bundle that the build made. From a checkout without one: bundled now, about a second. */
function workflowSource() {
  const bundle = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url))
  try {
    readFileSync(bundle)
    return { workflowBundle: { codePath: bundle } }
  } catch {
    return { workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)) }
  }
}
