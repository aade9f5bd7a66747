import { createPublicKey } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Keyring } from '../../src/adapters/crypto/keyring.js'
import { hashToken } from '../../src/adapters/crypto/token.js'
import { readAgentConfig } from '../../src/agent/config.js'
import { ensureDemo } from '../../src/bootstrap/demo.js'
import { initialise } from '../../src/bootstrap/initialise.js'
import { openDatabase, type Database } from '../../src/persistence/database.js'
import { ResourceRepository } from '../../src/persistence/resource.repository.js'
import { homePaths, readSettings, type Settings } from '../../src/settings.js'
import { createTestDatabase, type TestDatabase } from '../setup/test-database.js'

let database: TestDatabase
let db: Database
let home: string
let settings: Settings

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, 4)
})
afterAll(async () => {
  await db?.$disconnect()
  await database?.drop()
})
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'ek-initialise-'))
  settings = readSettings({ EVENKEEL_HOME: home })
})
afterEach(async () => {
  await clearDatabase()
  await rm(home, { recursive: true, force: true })
})

/** As if an empty database had been put in the place of this one. */
async function clearDatabase(): Promise<void> {
  await db.$executeRawUnsafe(
    'TRUNCATE "Project", "Setting", "KeyCheck", "ApiToken", "Secret", "AuditEntry", "Event", "Tombstone" CASCADE',
  )
}

const start = (more: { adoptInstance?: string } = {}) => initialise({ settings, db, hostName: 'Host_1.example.org', ...more })
const paths = () => homePaths(home)
const text = (file: string) => readFile(file, 'utf8')

/** Files and rows say the same. */
async function expectAgreement(): Promise<void> {
  const config = readAgentConfig(paths().agentConfig)
  const node = await db.resource.findUniqueOrThrow({ where: { id: config.node }, include: { nodeStatus: true } })
  expect(node.kind).toBe('node')
  expect(node.nodeStatus?.channelTokenHash).toBe(hashToken(config.channelToken))
  const signing = createPublicKey(await text(paths().signingKey)).export({ type: 'spki', format: 'pem' })
  expect(config.pinnedKeys.map((k) => k.publicKey)).toContain(signing)
  const owner = await db.apiToken.findUniqueOrThrow({ where: { id: 'tok_owner' } })
  expect(owner.tokenHash).toBe(hashToken((await text(paths().ownerToken)).trim()))
  expect(owner).toMatchObject({ abilities: ['read', 'deploy', 'write', 'admin'], revokedAt: null, expiresAt: null })
  const instance = (await text(paths().instance)).trim()
  expect(config.instance).toBe(instance)
  expect((await db.setting.findUniqueOrThrow({ where: { key: 'instance' } })).value).toBe(instance)
  const keyring = Keyring.parse(await text(paths().masterKey))
  const check = await db.keyCheck.findUniqueOrThrow({ where: { keyId: keyring.currentKeyId } })
  expect(keyring.open({ keyId: check.keyId, sealed: Buffer.from(check.sealed) }, 'KeyCheck').toString()).toBe(
    'evenkeel key check',
  )
}

describe('initialise', () => {
  it('nothing there -> secrets only their owner can read, a node with a valid name, rows that agree', async () => {
    const made = await start()
    await expectAgreement()
    for (const file of [paths().signingKey, paths().masterKey, paths().ownerToken, paths().agentConfig])
      expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(paths().secrets)).mode & 0o777).toBe(0o700)
    expect((await text(paths().ownerToken)).trim()).toMatch(/^evk_[A-Za-z0-9_-]{43}$/)
    expect(made.node.name).toBe('host-1')
    expect(readAgentConfig(paths().agentConfig)).toMatchObject({
      apiUrl: 'http://127.0.0.1:4000',
      temporal: { address: '127.0.0.1:7233', namespace: 'default' },
    })
  })

  it('again -> nothing changes, in files or rows', async () => {
    await start()
    const before = await Promise.all(
      [paths().instance, paths().signingKey, paths().masterKey, paths().ownerToken, paths().agentConfig].map(text),
    )
    const rows = async () => [
      await db.resource.count(),
      await db.apiToken.count(),
      await db.keyCheck.count(),
      await db.auditEntry.count(),
    ]
    const counted = await rows()
    await start()
    expect(
      await Promise.all(
        [paths().instance, paths().signingKey, paths().masterKey, paths().ownerToken, paths().agentConfig].map(text),
      ),
    ).toEqual(before)
    expect(await rows()).toEqual(counted)
  })

  it('two at once -> one of everything', async () => {
    const [a, b] = await Promise.all([start(), start()])
    expect(a).toEqual(b)
    expect(await db.resource.count()).toBe(1)
    await expectAgreement()
  })

  // A crash leaves the files and rows of the steps before it: each is taken away in turn, and what follows with it.
  it.each([
    ['instance', async () => db.setting.deleteMany()],
    ['key check', async () => db.keyCheck.deleteMany()],
    ['owner row', async () => db.apiToken.deleteMany()],
    ['owner file', async () => unlink(paths().ownerToken)],
    ['owner row of another token', async () => db.apiToken.updateMany({ data: { tokenHash: 'other', revokedAt: new Date() } })],
    ['channel token hash', async () => db.nodeStatus.updateMany({ data: { channelTokenHash: 'other' } })],
    ['node status', async () => db.nodeStatus.deleteMany()],
    ['node row', async () => db.resource.deleteMany()],
    ['agent file', async () => unlink(paths().agentConfig)],
    ['half an agent file', async () => writeFile(paths().agentConfig, '{"instance":')],
    ['signing key', async () => unlink(paths().signingKey)],
    ['instance file', async () => unlink(paths().instance)],
    ['whole database', clearDatabase],
  ])('%s lost -> the next start makes files and rows agree', async (_what, lose) => {
    const before = await start()
    await lose()
    const after = await start()
    await expectAgreement()
    expect(after.instance).toBe(before.instance)
    expect(await db.resource.count({ where: { kind: 'node' } })).toBe(1)
  })

  it('database restored to before the node joined -> the node keeps its id', async () => {
    const before = await start()
    await db.resource.deleteMany()
    expect((await start()).node.id).toBe(before.node.id)
  })

  it('agent file lost -> the same node joins with a new token', async () => {
    const before = await start()
    const { channelToken } = readAgentConfig(paths().agentConfig)
    await unlink(paths().agentConfig)
    expect((await start()).node).toEqual(before.node)
    expect(readAgentConfig(paths().agentConfig).channelToken).not.toBe(channelToken)
  })

  it('host renamed -> still the same node', async () => {
    const before = await start()
    const after = await initialise({ settings, db, hostName: 'another-name' })
    expect(after.node).toEqual(before.node)
  })

  it("node's name taken by another kind -> another name", async () => {
    await start()
    await db.resource.deleteMany()
    await unlink(paths().agentConfig)
    const resources = new ResourceRepository(db)
    await resources.create(
      { kind: 'nginxdemo', projectId: 'prj_platform', name: 'host-1', spec: { hostPort: 1 } },
      { actor: 'test', ability: 'write', operation: 'test', now: new Date() },
    )
    expect((await start()).node.name).toBe('host-1-node')
  })

  it('pinned keys of a running rotation -> kept', async () => {
    await start()
    const config = readAgentConfig(paths().agentConfig)
    const pinnedKeys = [...config.pinnedKeys, { keyId: 'next', publicKey: 'next' }]
    await writeFile(paths().agentConfig, JSON.stringify({ ...config, pinnedKeys }))
    await start()
    expect(readAgentConfig(paths().agentConfig).pinnedKeys).toEqual(pinnedKeys)
  })

  it('API port changed -> told to the agent, the token stays', async () => {
    await start()
    const { channelToken } = readAgentConfig(paths().agentConfig)
    settings = readSettings({ EVENKEEL_HOME: home, EVENKEEL_API_PORT: '4999', EVENKEEL_LISTEN: '0.0.0.0' })
    await start()
    expect(readAgentConfig(paths().agentConfig)).toMatchObject({ apiUrl: 'http://127.0.0.1:4999', channelToken })
  })

  it('state directory and database of two instances -> refused, both named; adopting decides', async () => {
    const { instance } = await start()
    await writeFile(paths().instance, 'other\n')
    await expect(start()).rejects.toThrow(/instance other .*instance e[a-z0-9]+/)
    await expect(start()).rejects.toThrow(instance)
    expect((await start({ adoptInstance: 'other' })).instance).toBe('other')
    await expectAgreement()
    await expect(start({ adoptInstance: 'No Id' })).rejects.toThrow('is no instance id')
  })
})

describe('master key', () => {
  const key = () => paths().masterKey

  it('missing while something is sealed -> refuses, and makes none', async () => {
    await start()
    await unlink(key())
    await expect(start()).rejects.toThrow(/master\.key is missing.*Put the key file back/)
    await expect(stat(key())).rejects.toThrow('ENOENT')
  })

  it('missing while only secrets are there -> refuses', async () => {
    await start()
    await db.project.create({ data: { id: 'p', name: 'p' } })
    await db.secret.create({
      data: { id: 's', projectId: 'prj_platform', name: 'n', versions: { create: { version: 1, keyId: 'k1', sealed: new Uint8Array(1) } } },
    })
    await db.keyCheck.deleteMany()
    await unlink(key())
    await expect(start()).rejects.toThrow('k1')
  })

  it('of another installation -> refuses, and leaves the file alone', async () => {
    await start()
    const other = Keyring.generate()
    await writeFile(key(), other)
    await expect(start()).rejects.toThrow('is of another installation')
    expect(await text(key())).toBe(other)
  })

  it('another key under the right id -> refuses', async () => {
    await start()
    const { current } = JSON.parse(await text(key())) as { current: string }
    await writeFile(key(), JSON.stringify({ current, keys: { [current]: Buffer.alloc(32).toString('base64url') } }))
    await expect(start()).rejects.toThrow('does not open what this database sealed')
  })

  it.each(['', 'no json', '{}', '{"current":"a","keys":{"a":"c2hvcnQ"}}', '{"current":"a","keys":{}}'])(
    'damaged (%j) -> refuses, also before anything is sealed',
    async (damaged) => {
      await start()
      await db.keyCheck.deleteMany()
      await writeFile(key(), damaged)
      await expect(start()).rejects.toThrow(/master\.key is damaged/)
      expect(await text(key())).toBe(damaged)
    },
  )

  it('unreadable -> refuses', async () => {
    await start()
    await unlink(key())
    // A folder in its place cannot be read by root either.
    await import('node:fs/promises').then((fs) => fs.mkdir(key()))
    await expect(start()).rejects.toThrow(/master\.key cannot be read/)
    await chmod(key(), 0o700)
  })

  it('message of a refusal -> holds nothing of the key', async () => {
    await start()
    const kept = await text(key())
    const { keys, current } = JSON.parse(kept) as { keys: Record<string, string>; current: string }
    await writeFile(key(), kept.slice(0, -20))
    await expect(start()).rejects.toSatisfy((error: Error) => !error.message.includes((keys[current] ?? '').slice(0, 8)))
  })
})

describe('ensureDemo', () => {
  it('first -> a demo on the port of the settings; again -> the same', async () => {
    await start()
    const demo = await ensureDemo(db, settings)
    expect(demo).toMatchObject({ kind: 'nginxdemo', project: 'platform', name: 'demo', hostPort: 8088 })
    expect(await ensureDemo(db, settings)).toEqual(demo)
    expect((await db.resource.findUniqueOrThrow({ where: { id: demo.id } })).generation).toBe(1)
  })

  it('port setting changed -> the demo follows; but not after a person has changed it', async () => {
    await start()
    const { id } = await ensureDemo(db, settings)
    const moved = readSettings({ EVENKEEL_HOME: home, EVENKEEL_DEMO_PORT: '8099' })
    expect(await ensureDemo(db, moved)).toMatchObject({ id, hostPort: 8099 })

    const person = { actor: 'tok_somebody', ability: 'write', operation: 'nginxdemoUpdate', now: new Date() }
    await new ResourceRepository(db).patch({ id, kind: 'nginxdemo' }, null, () => ({ spec: { hostPort: 9001 } }), person)
    expect(await ensureDemo(db, settings)).toMatchObject({ id, hostPort: 9001 })
  })
})
