import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { ProgramError, run } from './program.js'
import { PROJECT_ROOT } from './project-root.js'

const SCHEMA = join(PROJECT_ROOT, 'prisma', 'schema.prisma')
export const MIGRATIONS = join(PROJECT_ROOT, 'prisma', 'migrations')
const CONFIG = join(PROJECT_ROOT, 'prisma', 'migrate.config.mjs')

/** Any fixed number: those who migrate the same database wait for each other under it. */
const MIGRATION_LOCK = 7_236_545
/** The exit code of `migrate diff --exit-code` when there is a difference. */
const DIFFERENT = 2

/** One folder of prisma/migrations. */
export interface Migration {
  readonly name: string
  /** sha256 of its SQL, as Prisma stores it. */
  readonly checksum: string
}

/** A row of `_prisma_migrations`. */
export interface AppliedMigration extends Migration {
  readonly finished: boolean
}

/** Brings the database to the newest migration. Returns the names of those that were applied. */
export async function migrate(url: string): Promise<string[]> {
  const known = await knownMigrations()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    if (pendingMigrations(known, await appliedMigrations(client)).length === 0) return []
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    const pending = pendingMigrations(known, await appliedMigrations(client))
    if (pending.length > 0) await prismaMigrate(url, () => ['deploy'])
    return pending
  } finally {
    await client.end()
  }
}

/**
 * What is still to be applied, or an error when the database is not a past of this code: a migration that the code
 * does not know (written by a newer Evenkeel), that was changed after it was applied, or that stopped half-way.
 */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): string[] {
  const byName = new Map(known.map((migration) => [migration.name, migration]))
  for (const { name, checksum, finished } of applied) {
    const ours = byName.get(name)
    if (!finished) {
      throw new Error(
        `The migration ${name} stopped half-way in this database. Restore the backup that was made before it, or repair it by hand.`,
      )
    }
    if (!ours) {
      throw new Error(
        `This database has the migration ${name}, which this Evenkeel does not know: it was written by a newer one. Start that, or restore an older backup.`,
      )
    }
    if (ours.checksum !== checksum) {
      throw new Error(
        `The migration ${name} was changed after it was applied to this database. Put prisma/migrations/${name} back as it was and make a new migration.`,
      )
    }
  }
  const done = new Set(applied.map((migration) => migration.name))
  return known.map((migration) => migration.name).filter((name) => !done.has(name))
}

export async function knownMigrations(): Promise<Migration[]> {
  const entries = await readdir(MIGRATIONS, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(MIGRATIONS, name, 'migration.sql'))
      return { name, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function appliedMigrations(client: pg.Client): Promise<AppliedMigration[]> {
  const table = await client.query(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS present`)
  if (!(table.rows[0] as { present: boolean }).present) return []
  const rows = await client.query(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  )
  return rows.rows as AppliedMigration[]
}

/** The SQL that leads from the migrations to prisma/schema.prisma; empty when they are equal. Needs a running server. */
export async function missingSql(url: string): Promise<string> {
  try {
    await prismaMigrate(url, (schema) => [
      'diff',
      ...['--from-migrations', MIGRATIONS],
      ...['--to-schema-datamodel', schema],
      ...['--script', '--exit-code'],
    ])
    return ''
  } catch (error) {
    if (error instanceof ProgramError && error.exitCode === DIFFERENT) return error.stdout
    throw error
  }
}

/** Writes a new migration folder with what prisma/schema.prisma has and the migrations lack; nothing when they are equal. */
export async function writeMigration(url: string, name: string, now: Date): Promise<string | undefined> {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`A migration's name has small letters, digits and _ only: ${name}`)
  const sql = await missingSql(url)
  if (sql === '') return undefined
  const folder = join(MIGRATIONS, `${now.toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'migration.sql'), sql)
  return folder
}

async function prismaMigrate(url: string, args: (schema: string) => readonly string[]): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), 'evenkeel-migrate-'))
  try {
    const schema = join(scratch, 'schema.prisma')
    await writeFile(schema, forPrisma6(await readFile(SCHEMA, 'utf8')))
    return await run(process.execPath, [prismaProgram(), 'migrate', ...args(schema), '--config', CONFIG], {
      cwd: PROJECT_ROOT,
      env: {
        DATABASE_URL: url,
        EVENKEEL_MIGRATION_SCHEMA: schema,
        // The engine is WebAssembly: these keep the tool from downloading native ones that nothing would run.
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_QUERY_ENGINE_LIBRARY: process.execPath,
        CHECKPOINT_DISABLE: '1',
      },
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The two Prismas refuse each other's datasource block: 7 wants no url in it, 6 wants one (and then ignores it). */
export function forPrisma6(schema: string): string {
  const derived = schema.replace(/^datasource \w+ \{$/m, '$&\n  url = env("DATABASE_URL")')
  if (derived === schema) throw new Error(`${SCHEMA} has no datasource block`)
  return derived
}

function prismaProgram(): string {
  const manifest = createRequire(import.meta.url).resolve('prisma-migrate/package.json')
  const program = join(dirname(manifest), 'build', 'index.js')
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm ci\` again`)
  return program
}
