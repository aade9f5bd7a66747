import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../src/embedded/migrate.js'
import { withDatabase } from '../../src/embedded/postgres.js'

/** Migrated once, then copied: a copy takes 50 ms where the migrations take a second. */
const TEMPLATE = 'evenkeel_template'
/** Held while the template is made, so that two test files do not make it at once. */
const TEMPLATE_LOCK = 4_711

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A new database with all tables and no rows, on the suite's PostgreSQL. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(server, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
    await ensureTemplate(client, server)
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  })
  return {
    url: withDatabase(server, name),
    drop: () => onServer(server, async (client) => void (await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
  }
}

async function ensureTemplate(client: pg.Client, server: string): Promise<void> {
  const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE])
  if (found.rowCount === 0) await client.query(`CREATE DATABASE ${TEMPLATE}`)
  await migrate(withDatabase(server, TEMPLATE))
}

async function onServer(url: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}
