import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAgentConfig } from '../../src/agent/config.js'
import { hello } from '../../src/agent/testing/frames.js'
import { createLogger } from '../../src/log.js'
import { PostgresPassStore } from '../../src/persistence/postgres-pass-store.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { FakeAgent } from './fake-agent.js'
import { SecretWorld } from './secret-world.js'

/**
 * Field case B1: what was put in as a secret is looked for everywhere that people or programs read, plain and in the
 * forms that it takes on the way. Histories and the engine are looked through by the live tests.
 */
const planted = ['S3CR3T-abc$1', 'p@s/s:w?r#d%41& "öl"\n', 'hunter2-hunter2']
const forms = planted.flatMap((value) => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  // Base64 of a part of a longer text begins at any of three places.
  ...[0, 1, 2].map((shift) =>
    Buffer.from(`${'x'.repeat(shift)}${value}`)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4)
      .replace(/.{0,4}=*$/, ''),
  ),
  Buffer.from(value).toString('hex'),
])

let api: ApiUnderTest
let world: SecretWorld
const answers: string[] = []
const logged: string[] = []

beforeAll(async () => {
  api = await startApi({ log: createLogger('api', 'trace', { write: (line) => void logged.push(line) }) })
  const { graphql } = api
  api.graphql = async (...asked) => {
    const answer = await graphql(...asked)
    answers.push(JSON.stringify(answer))
    return answer
  }
  world = await SecretWorld.make(api, 'shop')
})
afterAll(() => api?.stop())

function leaksIn(text: string): string[] {
  return forms.filter((form) => text.includes(form))
}

async function rows(): Promise<Record<string, string>> {
  const tables = await Promise.all([
    api.db.event.findMany(),
    api.db.auditEntry.findMany(),
    api.db.release.findMany(),
    api.db.revision.findMany(),
    api.db.resource.findMany(),
    api.db.condition.findMany(),
    api.db.conditionTransition.findMany(),
    api.db.actionFailure.findMany(),
    api.db.idempotencyKey.findMany(),
    api.db.secret.findMany(),
    api.db.setting.findMany(),
    api.db.domain.findMany(),
  ])
  const names = [
    'Event',
    'AuditEntry',
    'Release',
    'Revision',
    'Resource',
    'Condition',
    'ConditionTransition',
    'ActionFailure',
    'IdempotencyKey',
    'Secret',
    'Setting',
    'Domain',
  ]
  return Object.fromEntries(
    names.map((name, at) => [name, JSON.stringify(tables[at], (_k, v: unknown) => (typeof v === 'bigint' ? String(v) : v))]),
  )
}

const everything = `query ($p: ID!) {
  project(id: $p) { env { name value } secrets { nodes { name versions { version createdBy usedBy { applicationName } } usedBy { release version } } } }
  registryCredentials(projectId: $p) { nodes { name host username } }
  applications(projectId: $p) { nodes { name spec { image env { name value } domains { basicAuth { username } } } releases { nodes { number verdict { message } } } events { nodes { message } } transitions { nodes { message } } } }
  audit(first: 100) { nodes { operation before after outcome } }
}`

describe('a planted secret', () => {
  it('set, used, replaced, refused, handed out -> in no answer, row or line of the log, in any form', async () => {
    const [one, two, password] = planted as [string, string, string]
    await world.secretSet('key', one)
    await world.secretSet('key', { valueBase64: Buffer.from(two).toString('base64') })
    await world.credentialSet('hub', { password })
    const secretEnv = [{ name: 'KEY', secret: 'key' }]
    const id = await world.application('web', {
      secretEnv,
      files: [{ path: '/k', secret: 'key', version: 1 }],
      registryCredential: 'hub',
    })
    await passOf(id)

    await basicAuth(password)

    const agent = new FakeAgent(api.url, readAgentConfig(api.initialised.agentConfigFile).channelToken)
    await agent.opened()
    agent.send(hello())
    await agent.next('welcome')
    const refs = [1, 2].map((version) => ({ secret: 'key', version }))
    expect(await agent.call('secretValues', { resource: id, refs })).toEqual({ values: [one, two] })
    expect(await agent.call('registryCredential', { resource: id, name: 'hub' })).toMatchObject({ password })
    agent.close()

    for (const wrong of wrongCalls()) await api.graphql(wrong.query, wrong.variables)
    await world.ask(`mutation ($id: ID!) { secretDelete(id: $id) { userErrors { message } } }`, {
      id: (await api.db.secret.findFirstOrThrow({ where: { name: 'key' } })).id,
    })
    await api.graphql(everything, { p: world.projectId })
    await brokenWrites()

    expect(leaksIn(answers.join('\n')), 'in an answer').toEqual([])
    for (const [table, text] of Object.entries(await rows())) expect(leaksIn(text), `in ${table}`).toEqual([])
    expect(leaksIn(logged.join('\n')), 'in the log').toEqual([])
    expect(answers.length).toBeGreaterThan(15)
    expect(logged.length).toBeGreaterThan(3)
  })

  async function basicAuth(password: string): Promise<void> {
    const create = `mutation ($input: ApplicationCreateInput!, $k: String) { applicationCreate(input: $input, idempotencyKey: $k) {
      application { id spec { domains { host basicAuth { username } } } } userErrors { field message } } }`
    const update = `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { userErrors { field message } } }`
    const domains = [{ host: 'leaks.test', basicAuth: [{ username: 'ann', password }] }]
    const input = { projectId: world.projectId, name: 'guarded', image: 'nginx', ports: [80], domains }
    const { data } = await api.graphql(create, { input, k: 'leaks' })
    expect(data.applicationCreate.userErrors).toEqual([])
    const { id } = data.applicationCreate.application
    await api.graphql(update, { id, input: { domains: [{ ...domains[0], compression: true }] } })
    const both = [{ username: 'ann', password, passwordHash: password }]
    for (const wrong of [
      both,
      [{ username: 'ann', password: `${password}${'x'.repeat(80)}` }],
      [{ username: 'ann', passwordHash: password }],
    ])
      await api.graphql(update, { id, input: { domains: [{ host: 'leaks.test', basicAuth: wrong }] } })
    await api.graphql(update, { id, input: { domains: [{ host: 'leaks.test', basicAuth: password }] } })
    const hash = /\$2[aby]\$10\$[./A-Za-z0-9]{53}/
    expect(JSON.stringify(await api.db.resource.findMany({ where: { id } }))).toMatch(hash)
    expect(
      [...answers, ...logged, JSON.stringify(await api.db.auditEntry.findMany({ select: { before: true, after: true } }))].join(
        '',
      ),
    ).not.toMatch(hash)
  }

  it('something that does leak -> is found, in each form', () => {
    for (const form of forms) expect(leaksIn(`before ${form} after`)).toContain(form)
    expect(leaksIn(Buffer.from(`{"value":"${planted[0]}","more":1}`).toString('base64'))).not.toEqual([])
  })

  /** What people get wrong, with the secret in the wrong place. */
  function wrongCalls(): { query: string; variables: object }[] {
    const set = `mutation ($input: SecretSetInput!) { secretSet(input: $input) { secret { name } userErrors { field message code } } }`
    const credential = `mutation ($input: RegistryCredentialSetInput!) { registryCredentialSet(input: $input) { userErrors { message } } }`
    const projectId = world.projectId
    return planted.flatMap((value) => [
      { query: set, variables: { input: { projectId, name: 'n', value, bogus: 1 } } },
      { query: set, variables: { input: { projectId, name: 'n', value: [value] } } },
      { query: set, variables: { input: { projectId, name: 'n', value: { value } } } },
      { query: set, variables: { input: { name: 'n', value } } },
      { query: set, variables: { input: value } },
      { query: set, variables: { input: { projectId, name: 'n', value: `${value}\0` } } },
      { query: set, variables: { input: { projectId, name: 'n', value, valueBase64: value } } },
      { query: set, variables: { input: { projectId, name: 'n', valueBase64: value } } },
      { query: set, variables: { input: { projectId: 'prj_none', name: 'n', value } } },
      { query: `mutation { secretSet(input: ${JSON.stringify(value)}) { userErrors { message } } }`, variables: {} },
      { query: `mutation { secretSet ${JSON.stringify(value)} }`, variables: {} },
      { query: credential, variables: { input: { projectId, name: 'n', host: 'h', username: 'a:b', password: value } } },
      { query: credential, variables: { input: { projectId, name: 'n', host: 'h', password: value } } },
      { query: credential, variables: { input: { projectId, name: 'n', host: 'h', username: 'u', password: `${value}\0` } } },
    ])
  }

  /** A database that fails in the middle: what is told of it holds no parameters. */
  async function brokenWrites(): Promise<void> {
    await api.db.$executeRawUnsafe(`ALTER TABLE "SecretVersion" ADD CONSTRAINT broken CHECK (version < 3) NOT VALID`)
    await api.db.$executeRawUnsafe(`ALTER TABLE "RegistryCredential" ADD CONSTRAINT broken CHECK (name <> 'broken') NOT VALID`)
    const answer = await api.graphql(
      `mutation ($a: SecretSetInput!, $b: RegistryCredentialSetInput!) { secretSet(input: $a) { userErrors { message } } registryCredentialSet(input: $b) { userErrors { message } } }`,
      {
        a: { projectId: world.projectId, name: 'key', value: planted[0] },
        b: { projectId: world.projectId, name: 'broken', host: 'h', username: 'u', password: planted[2] },
      },
    )
    expect(answer.errors[0]?.extensions['code']).toBe('INTERNAL')
    expect(logged.join('\n')).toContain('an operation failed')
  }

  /** A release and a decision, as a pass of the planner leaves them. */
  async function passOf(id: string): Promise<void> {
    const store = new PostgresPassStore(api.db, { dnsTtlSeconds: 5 })
    const claimed = await store.claim(id)
    expect(claimed).not.toBeNull()
    await world.release(id, 1, {
      secretEnv: [{ name: 'KEY', secret: 'key', version: 2 }],
      files: [{ path: '/k', secret: 'key', version: 1 }],
    })
    await world.endpoint(id, 1)
    await api.db.resource.update({ where: { id }, data: { decision: JSON.parse(JSON.stringify(claimed)) } })
    expect(JSON.stringify(claimed)).toContain('"secretVersions":{"key":2}')
  }
})
