import 'reflect-metadata'
import { defaultLimits } from './api/limits/limits.js'
import { createApi } from './api/create-api.js'
import { readStateFile } from './bootstrap/state-file.js'
import { keyFileAt, verifyKeyring } from './bootstrap/master-key.js'
import { agentConfigSchema } from './agent/config.js'
import { createLogger } from './log.js'
import { openDatabase } from './persistence/database.js'
import { InstallationRepository } from './persistence/installation.repository.js'
import { homePaths, readSettings } from './settings.js'
import { onShutdown } from './shutdown.js'
import { PreviewUnavailable, type PreviewRequest, type PreviewResult } from './api/application/preview.port.js'
import { NudgeClient } from './temporal/nudge.client.js'
import { runPreview } from './temporal/preview.client.js'

/** The API: GraphQL, the agents' channel, health and metrics. Writes desired state and nudges; never touches Docker. */
const settings = readSettings()
const log = createLogger('api', settings.logLevel)
const paths = homePaths(settings.home)
/** Longer than a preview's workflow may take. */
const previewMs = 30_000

try {
  await start()
} catch (error) {
  // One sentence for whoever reads the log; the stack is for those who debug.
  log.debug({ err: error }, 'the API could not start')
  log.fatal(`the API cannot start: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}

async function start(): Promise<void> {
  const { databaseUrl } = settings
  if (!databaseUrl) throw new Error('EVENKEEL_DATABASE_URL is not set: the API needs PostgreSQL')
  const database = openDatabase(databaseUrl)
  await verifyKeyring(new InstallationRepository(database), paths.masterKey)
  const nudges = NudgeClient.lazy(settings.temporalAddress, settings.temporalNamespace)
  const app = await createApi({
    settings,
    database,
    databaseUrl,
    keys: keyFileAt(paths.masterKey),
    nudges,
    temporal: { check: () => checkTemporal(nudges) },
    previews: { preview: (request) => previewOf(nudges, request) },
    localNodeId: localNode(),
    limits: defaultLimits,
    clock: Date.now,
    log,
  })
  onShutdown(() => {
    log.info('the API stops')
    void app
      .close()
      .then(() => Promise.all([nudges.close(), database.$disconnect()]))
      .catch((error: unknown) => log.warn({ err: error }, 'the API did not stop cleanly'))
  })
  await app.listen(settings.apiPort, settings.listen)
  log.info({ url: await app.getUrl() }, 'the API listens')
}

async function checkTemporal({ temporal }: NudgeClient): Promise<void> {
  await temporal.withDeadline(Date.now() + 2_000, () => temporal.workflowService.getSystemInfo({}))
}

async function previewOf(
  { temporal }: NudgeClient,
  { resourceId, projectId, name, spec }: PreviewRequest,
): Promise<PreviewResult> {
  const previewed = await temporal
    .withDeadline(Date.now() + previewMs, () => runPreview(temporal, { resourceId, projectId, name, spec }))
    .catch((error: unknown) => {
      log.warn({ err: error, application: name }, 'a preview failed')
      throw new PreviewUnavailable(
        'the plan could not be made: Temporal or the control worker does not answer; the log has the reason',
      )
    })
  if (!previewed) throw new PreviewUnavailable(`${name} was deleted while it was previewed`)
  return { ...previewed, steps: previewed.steps.map(({ node, verb, summary }) => ({ nodeId: node, verb, summary })) }
}

/** The node whose agent shares this state directory; null when the API runs alone. */
function localNode(): string | null {
  const text = readStateFile(paths.agentConfig, "the agent's configuration")
  return text === null ? null : agentConfigSchema.parse(JSON.parse(text)).node
}
