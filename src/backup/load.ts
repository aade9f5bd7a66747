import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import type pg from 'pg'
import { MIGRATIONS, knownMigrations } from '../embedded/migrate.js'
import { loadOrder, quoted, tablesOf } from './catalog.js'
import { connect } from './dump.js'
import type { BackupManifest, BackupTable } from './manifest.js'

const rowsAtOnce = 500

/** As Prisma makes it: it is the one table that no migration makes. */
const migrationsTable = `
  CREATE TABLE "_prisma_migrations" (
    id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`

/**
 * Fills an empty database with a backup, in one transaction with `afterwards`: all of it is there, or nothing. The
 * schema is that of the backup's own migrations; newer ones are applied by the next start, as in any upgrade.
 */
export async function loadDatabase(
  url: string,
  folder: string,
  manifest: BackupManifest,
  afterwards: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  const client = await connect(url)
  try {
    await client.query('BEGIN')
    await requireEmpty(client)
    await makeSchema(client, manifest)
    const byName = new Map(manifest.tables.map((t) => [t.name, t]))
    for (const name of await loadOrder(client, [...byName.keys()])) await loadTable(client, folder, byName.get(name) as BackupTable)
    for (const { name, value, called } of manifest.sequences)
      await client.query('SELECT setval($1::text::regclass, $2::bigint, $3)', [`public.${quoted(name)}`, value, called])
    await afterwards(client)
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
}

async function requireEmpty(client: pg.ClientBase): Promise<void> {
  const tables = await tablesOf(client)
  if (tables.length > 0)
    throw new Error(`the database is not empty: it has the tables ${tables.map((t) => t.name).join(', ')}. Restore into a new one.`)
}

async function makeSchema(client: pg.ClientBase, { migrations, tables }: BackupManifest): Promise<void> {
  const known = new Map((await knownMigrations()).map((m) => [m.name, m.checksum]))
  for (const { name, checksum } of migrations) {
    if (!known.has(name)) throw new Error(`the backup was made by a newer Evenkeel: it has the migration ${name}, which this one does not know`)
    if (known.get(name) !== checksum) throw new Error(`the migration ${name} was changed since the backup was made: restore with the Evenkeel that made it`)
    await client.query(await readFile(join(MIGRATIONS, name, 'migration.sql'), 'utf8'))
  }
  await client.query(migrationsTable)
  const made = new Map((await tablesOf(client)).map((t) => [t.name, t.columns.map((c) => c.name)]))
  for (const { name, columns } of tables) {
    const lacking = columns.filter((c) => !made.get(name)?.includes(c.name))
    if (!made.has(name) || lacking.length > 0)
      throw new Error(`the backup's table ${name} does not fit its migrations${lacking.length > 0 ? ` (columns ${lacking.map((c) => c.name).join(', ')})` : ''}`)
  }
}

async function loadTable(client: pg.ClientBase, folder: string, table: BackupTable): Promise<void> {
  const names = table.columns.map((c) => quoted(c.name)).join(', ')
  const values = table.columns.map((c, i) => `(line->>${i})::${c.type}`).join(', ')
  const insert = `INSERT INTO ${quoted(table.name)} (${names}) SELECT ${values} FROM json_array_elements($1::json) AS line`
  let batch: string[] = []
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await client.query(insert, [`[${batch.join(',')}]`])
    batch = []
  }
  const lines = createInterface({ input: createReadStream(join(folder, table.file.path)).pipe(createGunzip()), crlfDelay: Infinity })
  for await (const line of lines) {
    batch.push(line)
    if (batch.length >= rowsAtOnce) await flush()
  }
  await flush()
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM ${quoted(table.name)}`)
  if (Number(rows[0]?.count) !== table.rows)
    throw new Error(`the table ${table.name} has ${rows[0]?.count} rows after the restore, and its backup says ${table.rows}`)
}
