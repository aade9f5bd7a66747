import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { KeyFile } from '../../src/adapters/crypto/key-file.js'
import { Keyring } from '../../src/adapters/crypto/keyring.js'
import { verifyKeyring } from '../../src/bootstrap/master-key.js'
import { initialise } from '../../src/bootstrap/initialise.js'
import { rotateKey } from '../../src/bootstrap/rotate-key.js'
import { InstallationRepository } from '../../src/persistence/installation.repository.js'
import { RotationRepository } from '../../src/persistence/rotation.repository.js'
import { credentialPlace, secretPlace } from '../../src/persistence/sealed.js'
import { homePaths } from '../../src/settings.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { SecretWorld } from './secret-world.js'

let api: ApiUnderTest
let world: SecretWorld
let file: string

beforeAll(async () => {
  api = await startApi()
  file = homePaths(api.settings.home).masterKey
  world = await SecretWorld.make(api)
  for (let n = 0; n < 120; n++) await world.secretSet(`s${n % 60}`, `value ${n}`)
  await world.credentialSet('hub', { password: 'password' })
})
afterAll(() => api?.stop())

const ring = async () => Keyring.parse(await readFile(file, 'utf8'))
const rotate = (more: Partial<Parameters<typeof rotateKey>[0]> = {}) => rotateKey({ db: api.db, file, now: new Date(), ...more })

/** Every value opens with what the file holds now; answers the ids of the keys that are in use. */
async function keysInUse(): Promise<string[]> {
  const keys = await ring()
  const [secrets, credentials] = await Promise.all([
    api.db.secretVersion.findMany({ include: { secret: true } }),
    api.db.registryCredential.findMany(),
  ])
  for (const { secretId, version, keyId, sealed, secret } of secrets) {
    const opened = keys.open({ keyId, sealed: Buffer.from(sealed) }, secretPlace(secretId, version)).toString()
    expect(opened).toBe(secret.name.startsWith('s') ? `value ${Number(secret.name.slice(1)) + (version - 1) * 60}` : opened)
  }
  for (const { id, keyId, sealed } of credentials)
    expect(keys.open({ keyId, sealed: Buffer.from(sealed) }, credentialPlace(id)).toString()).toBe('password')
  return [...new Set([...secrets, ...credentials].map((r) => r.keyId))].sort()
}

class Killed extends Error {}

describe('rotateKey', () => {
  it('all values -> sealed with the new key, the old one gone from file and database, 0600', async () => {
    const before = (await ring()).currentKeyId
    const { keyId, resealed, resumed } = await rotate()
    expect({ resealed, resumed }).toEqual({ resealed: 121, resumed: false })
    expect(keyId).not.toBe(before)
    expect(await keysInUse()).toEqual([keyId])
    expect((await ring()).oldKeyIds).toEqual([])
    expect(await api.db.keyCheck.findMany({ select: { keyId: true } })).toEqual([{ keyId }])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await api.db.auditEntry.findFirst({ orderBy: { id: 'desc' } })).toMatchObject({
      operation: 'keyRotate',
      before: { keys: [before] },
      after: { keys: [keyId] },
    })
  })

  it.each(['the file was written', 'the first batch', 'the second batch', 'the old key was dropped from the database'])(
    'killed after %s -> everything opens, a start goes well, and the next one ends it with the same key',
    async (moment) => {
      const old = (await ring()).currentKeyId
      let batches = 0
      const die = () => {
        throw new Killed()
      }
      const killed = rotate({
        onFile: () => {
          if (moment === 'the file was written') die()
        },
        onBatch: () => {
          batches++
          if (moment === 'the first batch' || (moment === 'the second batch' && batches === 2)) die()
        },
        ...(moment.startsWith('the old key') ? { db: failingAfterDrop() } : {}),
      })
      await expect(killed).rejects.toThrow(Killed)
      const half = await ring()
      expect(half.oldKeyIds).toEqual([old])
      await keysInUse()
      const text = await readFile(file, 'utf8')
      await initialise({ settings: api.settings, db: api.db, hostName: 'test-host' })
      await verifyKeyring(new InstallationRepository(api.db), file)
      expect(await readFile(file, 'utf8')).toBe(text)
      expect((await world.secretSet('while-half', `at ${moment}`)).userErrors).toEqual([])

      const { keyId, resumed } = await rotate()
      expect({ keyId, resumed }).toEqual({ keyId: half.currentKeyId, resumed: true })
      expect(await keysInUse()).toEqual([keyId])
      expect((await ring()).oldKeyIds).toEqual([])
    },
  )

  /** Dies when the last transaction has committed, and before the file is written. */
  function failingAfterDrop() {
    const drop = RotationRepository.prototype.dropOtherKeys
    RotationRepository.prototype.dropOtherKeys = async function (...args) {
      await drop.apply(this, args)
      RotationRepository.prototype.dropOtherKeys = drop
      throw new Killed()
    }
    return api.db
  }

  it('an API that runs meanwhile -> seals, opens and loses nothing', async () => {
    let more = true
    const writes: Promise<unknown>[] = []
    const writing = (async () => {
      for (let n = 0; more; n++) {
        const write = world.secretSet(`busy${n % 5}`, `${n}`).then((a) => expect(a.userErrors).toEqual([]))
        writes.push(write)
        await write
      }
    })()
    // Some rotations, and as many more as it takes for writes to have met them.
    for (let n = 0; n < 4 || writes.length < 10; n++) await rotate()
    more = false
    await writing
    await Promise.all(writes)
    const { currentKeyId } = await ring()
    expect(await keysInUse()).toEqual([currentKeyId])
  })

  it('something is sealed with the old key after the last batch -> that is sealed again, too', async () => {
    const old = await ring()
    const drop = RotationRepository.prototype.dropOtherKeys
    const answers: boolean[] = []
    RotationRepository.prototype.dropOtherKeys = async function (...args) {
      if (answers.length === 0) {
        const { secretId, version } = await api.db.secretVersion.findFirstOrThrow({
          where: { secret: { name: 's0' }, version: 1 },
        })
        const { keyId, sealed } = old.seal(Buffer.from('value 0'), secretPlace(secretId, version))
        await api.db.secretVersion.update({
          where: { secretId_version: { secretId, version } },
          data: { keyId, sealed: Uint8Array.from(sealed) },
        })
      }
      const answer = await drop.apply(this, args)
      answers.push(answer)
      return answer
    }
    const { keyId } = await rotate().finally(() => (RotationRepository.prototype.dropOtherKeys = drop))
    expect(answers).toEqual([false, true])
    expect(await keysInUse()).toEqual([keyId])
  })

  it('two at once -> one after the other, and nothing is lost', async () => {
    const made = await Promise.all([rotate(), rotate()])
    expect(new Set(made.map((m) => m.keyId)).size).toBe(2)
    expect(await keysInUse()).toEqual([(await ring()).currentKeyId])
  })
})

describe('a copy of the key file that was left behind', () => {
  it('sealing -> refused with what to do, nothing stored', async () => {
    const stale = await readFile(file, 'utf8')
    await rotate()
    const left = await startApiOn(() => stale)
    try {
      const answer = await left.secretSet('late', 'x')
      expect(answer).toMatchObject([
        { extensions: { code: 'NOT_AVAILABLE' }, message: expect.stringContaining('bring its copy of the key file up to date') },
      ])
      expect(await api.db.secret.count({ where: { name: 'late' } })).toBe(0)
    } finally {
      await left.stop()
    }
  })

  /** Another API process over the same database, whose key file reads as given. */
  async function startApiOn(read: () => string) {
    const second = await startApi({
      database: api.db,
      databaseUrl: api.databaseUrl,
      keys: new KeyFile('copy of master.key', read),
    })
    const query = `mutation ($input: SecretSetInput!) { secretSet(input: $input) { userErrors { code } } }`
    return {
      stop: () => second.stop(),
      secretSet: async (name: string, value: string) =>
        (await second.graphql(query, { input: { projectId: world.projectId, name, value } }, api.ownerToken)).errors,
    }
  }
})

describe('the key file at a start', () => {
  let kept: string
  beforeEach(async () => void (kept = await readFile(file, 'utf8')))
  const verify = () => verifyKeyring(new InstallationRepository(api.db), file)
  const start = () => initialise({ settings: api.settings, db: api.db, hostName: 'test-host' })

  it('another key than secrets were sealed with (C6) -> no start, and the file stays as it is', async () => {
    const other = Keyring.generate()
    await writeFile(file, other)
    await expect(verify()).rejects.toThrow('is of another installation')
    await expect(start()).rejects.toThrow('is of another installation')
    expect(await readFile(file, 'utf8')).toBe(other)
    await writeFile(file, kept)
    await expect(verify()).resolves.not.toBeNull()
  })

  it('missing while only a registry credential is sealed -> no start, and none is made', async () => {
    await api.db.keyCheck.deleteMany()
    await api.db.secret.deleteMany()
    await rm(file)
    await expect(start()).rejects.toThrow('is missing')
    await expect(stat(file)).rejects.toThrow('ENOENT')
    await writeFile(file, kept, { mode: 0o600 })
    await start()
  })
})
