import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Keyring } from '../../src/adapters/crypto/keyring.js'
import { makeBackup } from '../../src/backup/backup.js'
import { restoreBackup } from '../../src/backup/restore.js'
import { rotateKey } from '../../src/bootstrap/rotate-key.js'
import { withDatabase } from '../../src/embedded/postgres.js'
import { openDatabase } from '../../src/persistence/database.js'
import { secretPlace } from '../../src/persistence/sealed.js'
import { homePaths } from '../../src/settings.js'
import { startApi, type ApiUnderTest } from '../api/api-under-test.js'
import { SecretWorld } from '../api/secret-world.js'

const secrets = 120
class Killed extends Error {}

describe('a backup while the master key is rotated', () => {
  let api: ApiUnderTest
  let folder: string
  let backups = 0
  const databases: string[] = []

  beforeAll(async () => {
    api = await startApi()
    folder = await mkdtemp(join(tmpdir(), 'ek-rotating-'))
    const world = await SecretWorld.make(api)
    for (let n = 0; n < secrets; n++) await world.secretSet(`s${n}`, `value ${n}`)
  })
  afterAll(async () => {
    await api?.stop()
    await rm(folder, { recursive: true, force: true })
    for (const name of databases) await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  })

  const onServer = async (statement: string) => {
    const client = new pg.Client({ connectionString: inject('postgresUrl') })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  const settings = () => ({ ...api.settings, databaseUrl: api.databaseUrl })
  const file = () => homePaths(api.settings.home).masterKey
  const backup = (withKey: boolean) => {
    const now = new Date(Date.UTC(2030, 0, 1, 0, 0, ++backups))
    return makeBackup({ settings: settings(), to: join(folder, 'backups'), withKey, now, log: () => undefined })
  }
  /** Rotates until the first batch has been sealed again, and dies there. */
  const rotateHalf = () =>
    rotateKey({
      db: api.db,
      file: file(),
      now: new Date(),
      onBatch: () => {
        throw new Killed()
      },
    }).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error
    })
  const rotate = () => rotateKey({ db: api.db, file: file(), now: new Date() })

  /** Restores into another state directory and another database; answers what its secrets say there, and by how many keys. */
  const restored = async (from: string) => {
    const name = `restored_${randomUUID().replaceAll('-', '')}`
    databases.push(name)
    await onServer(`CREATE DATABASE ${name}`)
    const databaseUrl = withDatabase(inject('postgresUrl'), name)
    const home = join(folder, name)
    await restoreBackup({
      settings: { ...api.settings, home, databaseUrl },
      from,
      force: false,
      now: new Date(),
      log: () => undefined,
    })
    const ring = Keyring.parse(await readFile(homePaths(home).masterKey, 'utf8'))
    const db = openDatabase(databaseUrl, 2)
    try {
      const rows = await db.secretVersion.findMany({ include: { secret: true } })
      const opened = rows.map((r) => [
        r.secret.name,
        ring.open({ keyId: r.keyId, sealed: Buffer.from(r.sealed) }, secretPlace(r.secretId, r.version)).toString(),
      ])
      const again = await rotateKey({ db, file: homePaths(home).masterKey, now: new Date() })
      return {
        values: Object.fromEntries(opened) as Record<string, string>,
        keys: new Set(rows.map((r) => r.keyId)).size,
        resumed: again.resumed,
      }
    } finally {
      await db.$disconnect()
    }
  }
  const everyValue = Object.fromEntries(Array.from({ length: secrets }, (_, n) => [`s${n}`, `value ${n}`]))

  it(
    'half of the values sealed again -> it restores with both keys, and the rotation can be ended there',
    { timeout: 60_000 },
    async () => {
      await rotateHalf()
      const { folder: from } = await backup(true)
      await rotate()
      expect(await restored(from)).toEqual({ values: everyValue, keys: 2, resumed: true })
    },
  )

  it(
    'the same without the key -> refused, because no file would hold all its keys later; ended -> made',
    { timeout: 60_000 },
    async () => {
      const before = await readdir(join(folder, 'backups'))
      await rotateHalf()
      await expect(backup(false)).rejects.toThrow(/rotation of the master key has not ended.*key:rotate/)
      expect(await readdir(join(folder, 'backups'))).toEqual(before)
      await rotate()
      expect(await backup(false)).toMatchObject({ keyFile: null, manifest: { masterKeySha256: null } })
    },
  )

  it.each([true, false])(
    'a rotation that begins and ends meanwhile, with the key: %s -> whole or refused, never a mixture',
    { timeout: 60_000 },
    async (withKey) => {
      const [made, rotated] = await Promise.allSettled([backup(withKey), rotate()])
      expect(rotated.status).toBe('fulfilled')
      if (made.status === 'rejected') expect(String(made.reason)).toMatch(/rotat.*key:rotate/)
      else if (withKey) expect((await restored(made.value.folder)).values).toEqual(everyValue)
    },
  )
})
