import 'reflect-metadata'
import { defaultLimits } from './api/limits/limits.js'
import { createApi } from './api/create-api.js'
import { readStateFile } from './bootstrap/state-file.js'
import { verifyKeyring } from './bootstrap/master-key.js'
import { agentConfigSchema } from './agent/config.js'
import { createLogger } from './log.js'
import { openDatabase } from './persistence/database.js'
import { InstallationRepository } from './persistence/installation.repository.js'
import { homePaths, readSettings } from './settings.js'
import { onShutdown } from './shutdown.js'
import type { PreviewRequest, PreviewResult } from './api/application/preview.port.js'
import { NudgeClient } from './temporal/nudge.client.js'
import { runPreview } from './temporal/preview.client.js'

/** The API: GraphQL, the agents' channel, health and metrics. Writes desired state and nudges; never touches Docker. */
const settings = readSettings()
const log = createLogger('api', settings.logLevel)
const paths = homePaths(settings.home)
if (!settings.databaseUrl) throw new Error('EVENKEEL_DATABASE_URL is not set: the API needs PostgreSQL')

const database = openDatabase(settings.databaseUrl)
await verifyKeyring(new InstallationRepository(database), paths.masterKey)
const nudges = NudgeClient.lazy(settings.temporalAddress, settings.temporalNamespace)

const app = await createApi({
  settings,
  database,
  databaseUrl: settings.databaseUrl,
  nudges,
  temporal: { check: async () => void (await nudges.temporal.connection.withDeadline(Date.now() + 2_000, () => nudges.temporal.workflowService.getSystemInfo({}))) },
  previews: { preview: (request) => previewOf(nudges, request) },
  localNodeId: localNode(),
  limits: defaultLimits,
  clock: Date.now,
  log,
})
await app.listen(settings.apiPort, settings.listen)
log.info({ url: await app.getUrl() }, 'the API listens')

onShutdown(() => void stop())

async function stop(): Promise<void> {
  log.info('the API stops')
  await app.close()
  await nudges.close()
  await database.$disconnect()
}

async function previewOf({ temporal }: NudgeClient, { resourceId, projectId, name, spec }: PreviewRequest): Promise<PreviewResult> {
  const previewed = await runPreview(temporal, { resourceId, projectId, name, spec })
  if (!previewed) throw new Error(`${name} was deleted while it was previewed`)
  return { ...previewed, steps: previewed.steps.map(({ node, verb, summary }) => ({ nodeId: node, verb, summary })) }
}

/** The node whose agent shares this state directory; null when the API runs alone. */
function localNode(): string | null {
  const text = readStateFile(paths.agentConfig, "the agent's configuration")
  return text === null ? null : agentConfigSchema.parse(JSON.parse(text)).node
}
