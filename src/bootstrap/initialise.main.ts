import { openDatabase } from '../persistence/database.js'
import { readSettings } from '../settings.js'
import { initialise } from './initialise.js'

/** Makes what an installation needs, then ends: for set-ups without `up`, after the migrations. Safe to run at every start. */
const settings = readSettings()
if (!settings.databaseUrl) throw new Error('EVENKEEL_DATABASE_URL is not set: there is no database to initialise')
const db = openDatabase(settings.databaseUrl, 4)
try {
  const { instance, node, ownerTokenFile } = await initialise({ settings, db })
  process.stdout.write(`instance ${instance}, node ${node.name} (${node.id}), owner's token in ${ownerTokenFile}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
} finally {
  await db.$disconnect()
}
