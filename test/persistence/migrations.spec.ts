import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { migrate, MIGRATIONS, missingSql } from '../../src/embedded/migrate.js'
import { freePort } from '../../src/embedded/ports.js'
import { startPostgres, type RunningPostgres } from '../../src/embedded/postgres.js'

describe('migrations', () => {
  let stateDir: string
  let server: RunningPostgres

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'ek-migrations-'))
    server = await startPostgres({ stateDir, port: await freePort(), log: () => {} })
  })

  afterAll(async () => {
    await server?.stop()
    await rm(stateDir, { recursive: true, force: true })
  })

  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  it('migrations -> lead to exactly what prisma/schema.prisma describes', async () => {
    expect(await missingSql(server.url)).toBe('')
  })

  it('shadow database of the comparison -> gone afterwards', async () => {
    expect(await query(`SELECT datname FROM pg_database WHERE datname LIKE 'shadow%'`)).toEqual([])
  })

  it('empty database, migrated twice at once -> applied once', async () => {
    const applied = await Promise.all([migrate(server.url), migrate(server.url)])
    expect(applied.flat().length).toBeGreaterThan(0)
    expect(new Set(applied.flat()).size).toBe(applied.flat().length)
  })

  it('up to date -> nothing to do, without starting the tool', async () => {
    vi.stubEnv('NODE_OPTIONS', '--no-such-option')
    try {
      expect(await migrate(server.url)).toEqual([])
      await expect(missingSql(server.url), 'the tool cannot be started here').rejects.toThrow()
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('database of before replicas knew since when they are in their state -> from now on, and published where they are', async () => {
    const [first, ...later] = (await readdir(MIGRATIONS, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort()
    const sqlOf = (name = '') => readFile(join(MIGRATIONS, name, 'migration.sql'), 'utf8')
    const rows = `
      INSERT INTO "Project" (id, name) VALUES ('p', 'p');
      INSERT INTO "Resource" (id, kind, "projectId", name, spec)
        VALUES ('app_a', 'application', 'p', 'a', '{}'), ('app_b', 'application', 'p', 'b', '{}');
      INSERT INTO "Endpoint" ("resourceId", release, replica, node, address, state, "createdAt")
        VALUES ('app_a', 1, 0, 'n', '10.0.0.1', 'ready', '2020-01-01'), ('app_a', 1, 1, 'n', '10.0.0.2', 'draining', '2020-01-01'),
          ('app_b', 1, 0, 'n', '10.0.0.3', 'ready', '2020-01-01');
      INSERT INTO "Release" ("resourceId", number, generation, hash, "templateHash", template, image, "resolvedImage", "resolvedFrom", "createdAt")
        VALUES ('app_a', 1, 1, 'h', 't', '{"volumes": [{"name": "data", "path": "/data"}]}', 'i', 'i', 'registry', '2020-01-01'),
          ('app_b', 1, 1, 'h', 't', '{"image": "i"}', 'i', 'i', 'registry', '2020-01-01')`
    const before = `BEGIN; CREATE SCHEMA before; SET LOCAL search_path TO before`
    await query([before, await sqlOf(first), rows, ...(await Promise.all(later.map(sqlOf))), 'COMMIT'].join(';\n'))
    expect(await query(`SELECT id, "publishedOn", "volumesOn", "removesVolumes" FROM before."Resource" ORDER BY id`)).toEqual([
      { id: 'app_a', publishedOn: ['n'], volumesOn: ['n'], removesVolumes: false },
      { id: 'app_b', publishedOn: ['n'], volumesOn: [], removesVolumes: false },
    ])
    expect(
      await query(`SELECT count(*)::int AS count FROM before."Endpoint" WHERE now() - "stateAt" < interval '1 minute'`),
    ).toEqual([{ count: 3 }])
  })

  it('database of a newer Evenkeel -> refused', async () => {
    await query(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '9_later', now())`)
    await expect(migrate(server.url)).rejects.toThrow('9_later')
    await query(`DELETE FROM _prisma_migrations WHERE id = 'x'`)
  })
})
