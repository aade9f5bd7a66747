import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashToken } from '../../src/adapters/crypto/token.js'
import { readAgentConfig } from '../../src/agent/config.js'
import { hello } from '../../src/agent/testing/frames.js'
import { NodeRepository } from '../../src/persistence/node.repository.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { FakeAgent } from './fake-agent.js'
import { SecretWorld } from './secret-world.js'

let api: ApiUnderTest
let world: SecretWorld
/** The node of this machine, which joined first, and another one. */
let local: FakeAgent
let other: FakeAgent
let otherId: string

async function dial(token: string): Promise<FakeAgent> {
  const agent = new FakeAgent(api.url, token)
  await agent.opened()
  agent.send(hello())
  await agent.next('welcome')
  return agent
}

beforeAll(async () => {
  api = await startApi()
  world = await SecretWorld.make(api, 'shop')
  local = await dial(readAgentConfig(api.initialised.agentConfigFile).channelToken)
  const token = `evn_${'x'.repeat(43)}`
  const nodes = new NodeRepository(api.db)
  otherId = (await nodes.ensureLocal({ id: null, name: 'other' }, new Date())).id
  await nodes.setChannelToken(otherId, hashToken(token))
  other = await dial(token)
  for (const value of ['one', 'two\n', 'thr€e']) await world.secretSet('key', value)
  await world.secretSet('unnamed', 'not for you')
  await world.credentialSet('hub', { password: 'p@s/s:w?r#d%41&' })
  await world.credentialSet('spare')
})
afterAll(async () => {
  local?.close()
  other?.close()
  await api?.stop()
})

const secretValues = (agent: FakeAgent, resource: string, ...refs: [string, number][]) =>
  agent.call('secretValues', { resource, refs: refs.map(([secret, version]) => ({ secret, version })) })
const entries = (resourceId: string) =>
  api.db.auditEntry.findMany({ where: { resourceId, ability: 'agent' }, orderBy: { id: 'asc' } })

describe('secretValues', () => {
  it('what releases and the spec name -> values in the order of the refs, audited without them', async () => {
    const id = await world.application('web', { secretEnv: [{ name: 'A', secret: 'key' }] })
    await world.release(id, 1, { files: [{ path: '/k', secret: 'key', version: 1 }] })
    await world.release(id, 2, { secretEnv: [{ name: 'A', secret: 'key', version: 2 }] })
    expect(await secretValues(local, id, ['key', 3], ['key', 1], ['key', 2])).toEqual({ values: ['thr€e', 'one', 'two\n'] })
    expect(await secretValues(local, id)).toEqual({ values: [] })
    const [first, second, ...more] = await entries(id)
    expect(more).toEqual([])
    expect(second).toMatchObject({ outcome: 'ok', after: { refs: [] } })
    expect(first).toMatchObject({
      actor: api.initialised.node.id,
      operation: 'secretValues',
      outcome: 'ok',
      after: {
        refs: [
          { secret: 'key', version: 3 },
          { secret: 'key', version: 1 },
          { secret: 'key', version: 2 },
        ],
      },
    })
  })

  it('what nothing of the resource names -> Forbidden, none of it handed out', async () => {
    const id = await world.application('modest', { secretEnv: [{ name: 'A', secret: 'key' }] })
    await world.release(id, 1, { secretEnv: [{ name: 'A', secret: 'key', version: 1 }] })
    for (const ref of [
      ['unnamed', 1],
      ['key', 2],
      ['none', 1],
    ] as [string, number][])
      expect(await secretValues(local, id, ['key', 1], ref)).toEqual({
        refused: 'Forbidden',
        message: `neither a release nor the spec of ${id} names version ${ref[1]} of secret ${ref[0]}`,
      })
    expect((await entries(id)).map((e) => e.outcome)).toEqual(Array(3).fill('refused: Forbidden'))
  })

  it('a version that is named and not there -> RequiredSecretMissing', async () => {
    const id = await world.staleApplication('waiting', {
      secretEnv: [
        { name: 'A', secret: 'gone' },
        { name: 'B', secret: 'key' },
      ],
    })
    await world.release(id, 1, { secretEnv: [{ name: 'A', secret: 'gone', version: 4 }] })
    for (const [secret, version] of [
      ['gone', 4],
      ['gone', 1],
      ['key', 9],
    ] as [string, number][])
      expect(await secretValues(local, id, [secret, version])).toEqual({
        refused: 'RequiredSecretMissing',
        message: `there is no version ${version} of secret ${secret}`,
      })
  })

  it('a node without endpoint and placement -> Forbidden; with either -> values', async () => {
    const id = await world.application('placed', {
      secretEnv: [{ name: 'A', secret: 'key', version: 1 }],
      placement: { node: 'other' },
    })
    const unplaced = await world.application('unplaced', { secretEnv: [{ name: 'A', secret: 'key', version: 1 }] })
    expect(await secretValues(other, id, ['key', 1])).toEqual({ values: ['one'] })
    expect(await secretValues(other, unplaced, ['key', 1])).toMatchObject({ refused: 'Forbidden' })
    expect(await secretValues(local, id, ['key', 1])).toMatchObject({
      refused: 'Forbidden',
      message: `${id} is no application that this node runs`,
    })
    await world.release(id, 1, {})
    await world.endpoint(id, 1)
    await world.release(unplaced, 1, {})
    await world.endpoint(unplaced, 1, otherId)
    expect(await secretValues(local, id, ['key', 1])).toEqual({ values: ['one'] })
    expect(await secretValues(other, unplaced, ['key', 1])).toEqual({ values: ['one'] })
  })

  it("another project's secret of the same name, an unknown resource, a node -> nothing", async () => {
    const foreign = await SecretWorld.make(api)
    const id = await foreign.staleApplication('web', { secretEnv: [{ name: 'A', secret: 'key', version: 1 }] })
    expect(await secretValues(local, id, ['key', 1])).toMatchObject({ refused: 'RequiredSecretMissing' })
    expect(await secretValues(local, 'app_none', ['key', 1])).toMatchObject({ refused: 'Forbidden' })
    expect(await secretValues(local, api.initialised.node.id, ['key', 1])).toMatchObject({ refused: 'Forbidden' })
  })

  it('a value that does not open -> SecretUnreadable, and never garbage', async () => {
    const { secret } = await world.secretSet('damaged', 'x')
    await api.db.secretVersion.updateMany({
      where: { secretId: secret.id },
      data: { sealed: Uint8Array.from({ length: 40 }, () => 7) },
    })
    const id = await world.application('damaged', { secretEnv: [{ name: 'A', secret: 'damaged' }] })
    expect(await secretValues(local, id, ['damaged', 1])).toMatchObject({ refused: 'SecretUnreadable' })
  })

  it.each([
    {},
    { resource: 'x', refs: [{ secret: 'key' }] },
    { resource: 'x\0', refs: [] },
    { resource: 'x', refs: 'VERY-SECRET' },
  ])('params %j -> BadParams, which repeats none of them', async (params) => {
    const answer = await local.call('secretValues', params)
    expect(answer).toMatchObject({ refused: 'BadParams' })
    expect(JSON.stringify(answer)).not.toContain('VERY')
  })

  it('a call that fails by itself -> told without its reason', async () => {
    const answer = await local.call('secretValues', { resource: 'x', refs: [{ secret: 'key', version: 2 ** 40 }] })
    expect(answer).toEqual({ refused: 'Forbidden', message: 'x is no application that this node runs' })
    const id = await world.application('odd', {})
    expect(await secretValues(local, id, ['key', 2 ** 40])).toEqual({
      refused: 'CallFailed',
      message: 'secretValues failed inside the API; its log has the reason',
    })
  })
})

describe('registryCredential', () => {
  const credential = (agent: FakeAgent, resource: string, name: string) => agent.call('registryCredential', { resource, name })

  it('the one that the spec names -> host, username and password, audited without it', async () => {
    const id = await world.application('pulling', { registryCredential: 'hub' })
    expect(await credential(local, id, 'hub')).toEqual({
      host: 'registry.example.org:5000',
      username: 'robot',
      password: 'p@s/s:w?r#d%41&',
    })
    expect(await credential(local, id, 'spare')).toMatchObject({
      refused: 'Forbidden',
      message: expect.stringContaining('spare'),
    })
    expect(await credential(other, id, 'hub')).toMatchObject({ refused: 'Forbidden' })
    expect((await entries(id)).map((e) => [e.outcome, e.after])).toEqual([
      ['ok', { registryCredential: 'hub', host: 'registry.example.org:5000', username: 'robot' }],
      ['refused: Forbidden', null],
      ['refused: Forbidden', null],
    ])
    const lost = await world.staleApplication('lost', { registryCredential: 'nowhere' })
    expect(await credential(local, lost, 'nowhere')).toMatchObject({ refused: 'CredentialMissing' })
  })
})

describe('putArtifact', () => {
  const put = (bytes: Buffer) => local.call('putArtifact', { content: bytes.toString('base64') })

  it('twice -> one artifact, which can be read again; more than 64 KB -> refused', async () => {
    const bytes = Buffer.from([0, 255, 1])
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    expect(await put(bytes)).toEqual({ sha256 })
    expect(await put(bytes)).toEqual({ sha256 })
    expect(await local.call('artifact', { sha256 })).toBe(bytes.toString('base64'))
    expect(await put(Buffer.alloc(64 * 1024))).toHaveProperty('sha256')
    expect(await put(Buffer.alloc(64 * 1024 + 1))).toMatchObject({ refused: 'ArtifactTooBig' })
  })
})
