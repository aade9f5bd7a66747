import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeMigration } from './migrate.js'
import { freePort } from './ports.js'
import { startPostgres } from './postgres.js'
import { reasonOf } from './reason.js'

/** `npm run migration:new -- NAME`: writes what prisma/schema.prisma has and the migrations lack as a new migration. */
async function main(): Promise<void> {
  const name = process.argv[2]
  if (!name) throw new Error('Usage: npm run migration:new -- NAME (small letters, digits and _)')
  const stateDir = await mkdtemp(join(tmpdir(), 'evenkeel-migration-'))
  const postgres = await startPostgres({ stateDir, port: await freePort(), log: () => {} })
  try {
    const folder = await writeMigration(postgres.url, name, new Date())
    console.log(folder ? `Wrote ${folder}. Read it before you commit it.` : 'The migrations equal the schema: nothing to write.')
  } finally {
    await postgres.stop()
    await rm(stateDir, { recursive: true, force: true })
  }
}

main().catch((error: unknown) => {
  console.error(reasonOf(error))
  process.exitCode = 1
})
