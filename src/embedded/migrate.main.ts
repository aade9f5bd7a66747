import { migrate } from './migrate.js'
import { databaseUrlOf } from '../settings.js'
import { reasonOf } from './reason.js'

/** `npm run migrate`: brings an external database (EVENKEEL_DATABASE_URL) up to date. `npm run up` does it by itself. */
async function main(): Promise<void> {
  const url = databaseUrlOf(process.env)
  if (!url) throw new Error('Set EVENKEEL_DATABASE_URL to the PostgreSQL database that is to be migrated.')
  const applied = await migrate(url)
  console.log(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

main().catch((error: unknown) => {
  console.error(reasonOf(error))
  process.exitCode = 1
})
