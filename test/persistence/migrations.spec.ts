import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate, missingSql } from '../../src/embedded/migrate.js'
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
    const before = performance.now()
    expect(await migrate(server.url)).toEqual([])
    expect(performance.now() - before).toBeLessThan(300)
  })

  it('database of a newer Evenkeel -> refused', async () => {
    await query(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '9_later', now())`)
    await expect(migrate(server.url)).rejects.toThrow('9_later')
    await query(`DELETE FROM _prisma_migrations WHERE id = 'x'`)
  })
})
