import { chmodSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { searchAttributeTypes } from '../../workflows/messages.js'
import { migrate } from '../embedded/migrate.js'
import { reasonOf } from '../embedded/reason.js'
import { openDatabase } from '../persistence/database.js'
import { readSettings } from '../settings.js'
import { ensureNamespace } from '../temporal/namespace.js'
import { handOut, recipientOf } from './hand-out.js'
import { initialise } from './initialise.js'

/**
 * What a composition of containers needs before its processes start: a migrated database, keys and the local node's
 * records, Temporal's namespace, and for each process the files that it may read. Ends when all is there; safe to repeat.
 *
 * EVENKEEL_NODE_NAME names the machine, because a container does not know its host's name. EVENKEEL_AGENT_TEMPORAL_ADDRESS
 * is Temporal as the agent reaches it, which lives in the host's network and not in the composition's.
 */
const patienceMs = 120_000

const { values } = parseArgs({ options: { api: { type: 'string' }, worker: { type: 'string' } } })

try {
  await prepare()
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}

async function prepare(): Promise<void> {
  const settings = readSettings()
  const { databaseUrl } = settings
  if (!databaseUrl) throw new Error('EVENKEEL_DATABASE_URL is not set: there is no database to prepare')
  const applied = await migrate(databaseUrl)
  console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)

  const db = openDatabase(databaseUrl, 2)
  try {
    const seenByAgent = process.env['EVENKEEL_AGENT_TEMPORAL_ADDRESS'] || settings.temporalAddress
    const hostName = process.env['EVENKEEL_NODE_NAME']
    const made = await initialise({
      settings: { ...settings, temporalAddress: seenByAgent },
      db,
      ...(hostName ? { hostName } : {}),
    })
    // An engine that makes a missing mount source makes it for everybody.
    chmodSync(settings.home, 0o700)
    console.log(`instance ${made.instance}, node ${made.node.name}, owner's token in ${made.ownerTokenFile}`)
  } finally {
    await db.$disconnect()
  }
  if (values.api) handOut(settings.home, 'api', recipientOf(values.api))
  if (values.worker) handOut(settings.home, 'worker', recipientOf(values.worker))

  const { temporalAddress, temporalNamespace } = settings
  await patiently('Temporal', () => ensureNamespace(temporalAddress, temporalNamespace, searchAttributeTypes))
  console.log(`Temporal's namespace ${temporalNamespace} is ready`)
}

/** Temporal answers before it can do everything, and takes its time after a cold start. */
async function patiently<T>(what: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`${what} could not be prepared within ${patienceMs / 1000} s: ${reasonOf(error)}`)
      await sleep(1_000)
    }
  }
}
