import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import pg from 'pg'
import { quoted, sequencesOf, tablesOf, type CatalogTable } from './catalog.js'
import type { BackupManifest, BackupTable } from './manifest.js'

const rowsAtOnce = 1_000
const tablesFolder = 'tables'

/** What is needed so that a value's text is the same on every server. */
const textSettings = [`SET DateStyle = 'ISO, YMD'`, `SET IntervalStyle = 'iso_8601'`, `SET TimeZone = 'UTC'`, `SET extra_float_digits = 1`, `SET bytea_output = 'hex'`]

export type Dumped = Pick<BackupManifest, 'postgresVersion' | 'migrations' | 'tables' | 'sequences'>

/**
 * Every table of one moment: all are read in one REPEATABLE READ transaction, while others go on writing. One file a
 * table, one line a row, each value as PostgreSQL's own text of it or null. (The packaged PostgreSQL has no pg_dump.)
 */
export async function dumpDatabase(url: string, folder: string): Promise<Dumped> {
  await mkdir(join(folder, tablesFolder), { mode: 0o700 })
  const client = await connect(url)
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const tables: BackupTable[] = []
    for (const table of await tablesOf(client)) tables.push(await dumpTable(client, table, folder))
    const migrations = await client.query<{ name: string; checksum: string }>(
      `SELECT migration_name AS name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name`,
    )
    const version = await client.query<{ server_version: string }>('SHOW server_version')
    // Read last: sequences stand outside of the moment, and may only be ahead of the rows.
    const sequences = await sequencesOf(client)
    await client.query('COMMIT')
    return { postgresVersion: version.rows[0]?.server_version ?? '', migrations: migrations.rows, tables, sequences }
  } finally {
    await client.end()
  }
}

/** A connection whose values read and write alike everywhere. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  await client.connect()
  for (const setting of textSettings) await client.query(setting)
  return client
}

async function dumpTable(client: pg.Client, table: CatalogTable, folder: string): Promise<BackupTable> {
  const path = join(tablesFolder, `${table.name}.jsonl.gz`)
  const hash = createHash('sha256')
  const hashing = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  let rows = 0
  const lines = async function* (): AsyncGenerator<string> {
    for await (const line of readRows(client, table)) {
      rows++
      yield `${line}\n`
    }
  }
  const file = createWriteStream(join(folder, path), { mode: 0o600, flags: 'wx', flush: true })
  await pipeline(Readable.from(lines()), createGzip(), hashing, file)
  return { ...table, rows, file: { path, bytes: (await stat(join(folder, path))).size, sha256: hash.digest('hex') } }
}

async function* readRows(client: pg.Client, { name, columns }: CatalogTable): AsyncGenerator<string> {
  const values = columns.map((c) => `t.${quoted(c.name)}::text`).join(', ')
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR SELECT json_build_array(${values})::text AS line FROM ${quoted(name)} t`)
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM rows`)
    for (const { line } of rows) yield line
    if (rows.length < rowsAtOnce) break
  }
  await client.query('CLOSE rows')
}
