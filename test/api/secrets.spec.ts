import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ApplicationResolver } from '../../src/api/application/application.resolver.js'
import { LoaderFactory } from '../../src/api/graphql/loaders.js'
import { projectEnvBytesMost } from '../../src/api/project/project-env.resolver.js'
import { PostgresPassStore } from '../../src/persistence/postgres-pass-store.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { SecretWorld } from './secret-world.js'

let api: ApiUnderTest
let world: SecretWorld
beforeAll(async () => void (api = await startApi()))
afterAll(() => api?.stop())
beforeEach(async () => {
  world = await SecretWorld.make(api)
  api.nudges.failing = false
  api.nudges.nudged.length = 0
})

const usedBy = 'usedBy { applicationName release version }'
const list = () =>
  world.ask(`query ($p: ID!) { secrets(projectId: $p) { nodes { id name versions { version ${usedBy} } ${usedBy} } } }`)
const secretDelete = (id: string) =>
  world.ask(`mutation ($id: ID!) { secretDelete(id: $id) { deletedId userErrors { field code message } } }`, { id })
const versionDelete = (id: string, version: number) =>
  world.ask(
    `mutation ($id: ID!, $version: Int!) { secretVersionDelete(id: $id, version: $version) { secret { versions { version } } userErrors { field code message } } }`,
    { id, version },
  )
const row = (id: string) => api.db.resource.findUniqueOrThrow({ where: { id } })
const audit = (id: string) => api.db.auditEntry.findMany({ where: { resourceId: id }, orderBy: { id: 'asc' } })

/** Makes them look as after a pass, and answers which a change has made due. */
async function dueAfter(change: () => Promise<unknown>): Promise<string[]> {
  const later = new Date('2100-01-01')
  await api.db.resource.updateMany({ where: { projectId: world.projectId }, data: { nextPassDueAt: later } })
  await change()
  const due = await api.db.resource.findMany({
    where: { projectId: world.projectId, nextPassDueAt: { not: later } },
    orderBy: { name: 'asc' },
  })
  return due.map((r) => r.name)
}

describe('secretSet', () => {
  it('first -> version 1; another value -> version 2; the same again -> nothing new', async () => {
    const first = await world.secretSet('db-password', 'one')
    expect(first).toMatchObject({
      userErrors: [],
      secret: { name: 'db-password', versions: [{ version: 1, createdBy: 'tok_owner' }] },
    })
    const second = await world.secretSet('db-password', { valueBase64: Buffer.from('two').toString('base64') })
    expect(second.secret.versions.map((v: { version: number }) => v.version)).toEqual([2, 1])
    expect(await world.secretSet('db-password', 'two')).toEqual(second)
    const entries = await audit(first.secret.id)
    expect(entries.map((e) => [e.operation, e.before, e.after, e.outcome])).toEqual([
      ['secretSet', null, { name: 'db-password', version: 1 }, 'ok'],
      ['secretSet', { name: 'db-password', version: 1 }, { name: 'db-password', version: 2 }, 'ok'],
      ['secretSet', null, null, 'unchanged'],
    ])
  })

  it('stored -> sealed, and opens at its own place only', async () => {
    const { secret } = await world.secretSet('sealed', 'S3CR3T-abc$1')
    await world.secretSet('sealed', 'S3CR3T-abc$2')
    const [one, two] = await api.db.secretVersion.findMany({ where: { secretId: secret.id }, orderBy: { version: 'asc' } })
    expect(Buffer.from(one?.sealed ?? []).includes('S3CR3T')).toBe(false)
    expect(two?.keyId).toBe((await api.db.keyCheck.findFirst())?.keyId)
    await api.db.secretVersion.updateMany({
      where: { secretId: secret.id, version: 2 },
      data: { sealed: Uint8Array.from(one?.sealed ?? []) },
    })
    // What does not open any more is replaced by what is given.
    expect((await world.secretSet('sealed', 'S3CR3T-abc$1')).secret.versions).toHaveLength(3)
  })

  it('many at once -> one version each, none lost', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => world.secretSet('race', `value ${n}`)))
    expect(answers.flatMap((a) => a.userErrors)).toEqual([])
    expect((await list()).nodes[0].versions.map((v: { version: number }) => v.version)).toEqual([8, 7, 6, 5, 4, 3, 2, 1])
  })

  it.each<[string, string, object, string[], string]>([
    ['name', 'No Name', { value: 'x' }, ['input', 'name'], 'INVALID'],
    ['NUL', 'n', { value: 'x\0' }, ['input', 'value'], 'INVALID'],
    ['no text', 'n', { valueBase64: '//8=' }, ['input', 'valueBase64'], 'INVALID'],
    ['project', 'n', { value: 'x', projectId: 'prj_none' }, ['input', 'projectId'], 'PROJECT_NOT_FOUND'],
  ])('wrong %s -> refused with its field, nothing stored', async (_what, name, given, field, code) => {
    const before = await api.db.secret.count()
    expect(await world.secretSet(name, given)).toMatchObject({ secret: null, userErrors: [{ field, code }] })
    expect(await api.db.secret.count()).toBe(before)
  })

  it('a new version -> applications that take the newest are due and nudged; pinned, paused and others are not', async () => {
    await world.secretSet('key', 'one')
    await world.secretSet('other', 'one')
    const inEnv = await world.application('in-env', { secretEnv: [{ name: 'KEY', secret: 'key' }] })
    const inFile = await world.application('in-file', { files: [{ path: '/run/key', secret: 'key' }] })
    await world.application('pinned', { secretEnv: [{ name: 'KEY', secret: 'key', version: 1 }] })
    await world.application('elsewhere', { secretEnv: [{ name: 'KEY', secret: 'other' }] })
    const paused = await world.application('paused', { secretEnv: [{ name: 'KEY', secret: 'key' }] })
    await api.db.resource.update({ where: { id: paused }, data: { paused: true } })
    await expect.poll(() => api.nudges.nudged.length).toBe(5)
    api.nudges.nudged.length = 0
    expect(await dueAfter(() => world.secretSet('key', 'two'))).toEqual(['in-env', 'in-file'])
    await expect.poll(() => api.nudges.nudged.map((n) => n.id).sort()).toEqual([inEnv, inFile].sort())
    expect(await dueAfter(() => world.secretSet('key', 'two'))).toEqual([])
  })

  it('Temporal away -> set all the same, and the sweep finds who is concerned', async () => {
    await world.secretSet('key', 'one')
    const id = await world.application('web', { secretEnv: [{ name: 'KEY', secret: 'key' }] })
    await api.db.resource.update({ where: { id }, data: { observedGeneration: 1, nextPassDueAt: new Date('2100-01-01') } })
    api.nudges.failing = true
    expect((await world.secretSet('key', 'two')).userErrors).toEqual([])
    const due = await new PostgresPassStore(api.db, { dnsTtlSeconds: 5 }).due('', 1000, Date.now())
    expect(due.map((d) => d.id)).toContain(id)
  })
})

describe('usedBy', () => {
  it('specs and releases that still have replicas -> named with the version that they use', async () => {
    const { secret } = await world.secretSet('key', 'one')
    await world.secretSet('key', 'two')
    const web = await world.application('web', {
      secretEnv: [
        { name: 'A', secret: 'key' },
        { name: 'B', secret: 'key' },
      ],
    })
    await world.application('api', { files: [{ path: '/k', secret: 'key', version: 1 }] })
    for (const number of [1, 2, 3])
      await world.release(web, number, { secretEnv: [{ name: 'A', secret: 'key', version: number === 3 ? 2 : 1 }] })
    await world.endpoint(web, 2)
    await world.endpoint(web, 3)
    const other = await SecretWorld.make(api)
    await other.secretSet('key', 'one')
    await other.application('namesake', { secretEnv: [{ name: 'A', secret: 'key' }] })

    const { nodes } = await list()
    const [apiSpec, webSpec] = [
      { applicationName: 'api', release: null, version: 1 },
      { applicationName: 'web', release: null, version: null },
    ]
    const [release2, release3] = [
      { applicationName: 'web', release: 2, version: 1 },
      { applicationName: 'web', release: 3, version: 2 },
    ]
    expect(nodes).toEqual([
      {
        id: secret.id,
        name: 'key',
        usedBy: [apiSpec, webSpec, release2, release3],
        versions: [
          { version: 2, usedBy: [webSpec, release3] },
          { version: 1, usedBy: [apiSpec, release2] },
        ],
      },
    ])
  })

  it('project { secrets } -> the same in pages', async () => {
    for (const name of ['c', 'a', 'b', 'null']) await world.secretSet(name, 'x')
    const page = (after: string | null) =>
      world.ask(
        `query ($p: ID!, $after: String) { project(id: $p) { secrets(first: 3, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } } }`,
        { after },
      )
    const first = (await page(null)).secrets
    expect(first.nodes).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    const second = (await page(first.pageInfo.endCursor)).secrets
    expect(second).toMatchObject({ nodes: [{ name: 'null' }], pageInfo: { hasNextPage: false } })
  })
})

describe('secretDelete', () => {
  it('named by a spec or run by a release -> refused with who it is; free -> gone', async () => {
    const { secret } = await world.secretSet('key', 'one')
    const web = await world.application('web', { secretEnv: [{ name: 'KEY', secret: 'key' }] })
    expect(await secretDelete(secret.id)).toMatchObject({
      deletedId: null,
      userErrors: [{ field: ['id'], code: 'SECRET_IN_USE', message: expect.stringContaining('application web names it') }],
    })
    await api.db.resource.update({ where: { id: web }, data: { spec: { image: 'nginx' } } })
    await world.release(web, 1, { files: [{ path: '/k', secret: 'key', version: 1 }] })
    await world.endpoint(web, 1)
    expect((await secretDelete(secret.id)).userErrors).toMatchObject([
      { code: 'SECRET_IN_USE', message: expect.stringContaining('release 1 of application web') },
    ])
    await api.db.endpoint.deleteMany({ where: { resourceId: web } })
    expect(await secretDelete(secret.id)).toEqual({ deletedId: secret.id, userErrors: [] })
    expect((await secretDelete(secret.id)).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
    expect(await api.db.secretVersion.count({ where: { secretId: secret.id } })).toBe(0)
    expect((await audit(secret.id)).at(-3)).toMatchObject({ operation: 'secretDelete', outcome: 'refused: SECRET_IN_USE id' })
    expect((await audit(secret.id)).at(-2)).toMatchObject({
      operation: 'secretDelete',
      before: { name: 'key', versions: [1] },
      after: null,
      outcome: 'ok',
    })
  })

  it('one version -> refused while it is the newest or used, gone else', async () => {
    const { secret } = await world.secretSet('key', 'one')
    await world.secretSet('key', 'two')
    await world.secretSet('key', 'three')
    await world.application('web', { secretEnv: [{ name: 'KEY', secret: 'key', version: 1 }] })
    expect((await versionDelete(secret.id, 3)).userErrors).toMatchObject([{ field: ['version'], code: 'NEWEST_VERSION' }])
    expect((await versionDelete(secret.id, 1)).userErrors).toMatchObject([{ field: ['version'], code: 'SECRET_IN_USE' }])
    expect((await versionDelete(secret.id, 9)).userErrors).toMatchObject([{ code: 'VERSION_NOT_FOUND' }])
    expect((await versionDelete('sec_none', 1)).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
    expect(await versionDelete(secret.id, 2)).toEqual({ secret: { versions: [{ version: 3 }, { version: 1 }] }, userErrors: [] })
  })

  it('project deleted -> its secrets, credentials and env go with it', async () => {
    await world.secretSet('key', 'one')
    await world.credentialSet('hub')
    await world.ask(
      `mutation ($p: ID!) { projectEnvSet(projectId: $p, env: [{ name: "A", value: "b" }]) { userErrors { code } } }`,
    )
    expect(await world.ask(`mutation ($p: ID!) { projectDelete(id: $p) { deletedId } }`)).toEqual({ deletedId: world.projectId })
    const where = { projectId: world.projectId }
    const left = await Promise.all([
      api.db.secret.count({ where }),
      api.db.registryCredential.count({ where }),
      api.db.projectEnv.count({ where }),
    ])
    expect(left).toEqual([0, 0, 0])
  })
})

describe('what a spec names', () => {
  const create = async (name: string, more: object, key?: string) => {
    // As the input that has every field gives it: this goes past the schema, and the checks are the same.
    const context = {
      actor: { tokenId: 'tok_owner', name: 'owner', abilities: ['write'], expiresAt: null },
      loaders: api.app.get(LoaderFactory).create(),
    }
    const input = { projectId: world.projectId, name, image: 'nginx', ...more }
    return api.app.get(ApplicationResolver).applicationCreate(input, key, context)
  }
  const unknown = {
    secretEnv: [
      { name: 'A', secret: 'there' },
      { name: 'B', secret: 'missing' },
      { name: 'C', secret: 'there', version: 7 },
    ],
    files: [{ path: '/f', secret: 'missing' }],
    registryCredential: 'nowhere',
  }
  const errors = [
    {
      field: ['input', 'secretEnv', '1', 'secret'],
      code: 'SECRET_NOT_FOUND',
      message: expect.stringMatching(/no secret «missing».*there are «there»/),
    },
    {
      field: ['input', 'secretEnv', '2', 'version'],
      code: 'SECRET_NOT_FOUND',
      message: expect.stringContaining('there are «1»'),
    },
    { field: ['input', 'files', '0', 'secret'], code: 'SECRET_NOT_FOUND', message: expect.stringContaining('secretSet') },
    {
      field: ['input', 'registryCredential'],
      code: 'CREDENTIAL_NOT_FOUND',
      message: expect.stringContaining('registryCredentialSet'),
    },
  ]

  it('create naming what is not there -> each told at its place, nothing made; the key stays free', async () => {
    await world.secretSet('there', 'x')
    expect(await create('web', unknown, 'the-key')).toMatchObject({ application: null, userErrors: errors })
    expect(await api.db.resource.count({ where: { projectId: world.projectId } })).toBe(0)
    await world.credentialSet('hub')
    const right = { secretEnv: [{ name: 'A', secret: 'there' }], registryCredential: 'hub' }
    expect(await create('web', right, 'the-key')).toMatchObject({ application: { name: 'web' }, userErrors: [] })
  })

  it("update, and a plan of it -> the same, and another project's secret does not count", async () => {
    await world.secretSet('there', 'x')
    await (await SecretWorld.make(api)).secretSet('missing', 'x')
    const id = await world.staleApplication('web', unknown)
    const before = await row(id)
    const update = `mutation ($id: ID!) { applicationUpdate(id: $id, input: { replicas: 3 }) { userErrors { field code message } } }`
    expect((await world.ask(update, { id })).userErrors).toMatchObject(errors)
    expect(await row(id)).toEqual(before)
    const plan = `query ($id: ID!) { applicationPlan(id: $id, changes: { replicas: 3 }) { userErrors { field code } } }`
    expect((await world.ask(plan, { id })).userErrors[0]).toEqual({
      field: ['changes', 'secretEnv', '1', 'secret'],
      code: 'SECRET_NOT_FOUND',
    })
  })

  it('a secret deleted while an application that names it is created -> never the one without the other', async () => {
    for (let n = 0; n < 8; n++) {
      const { secret } = await world.secretSet(`key${n}`, 'x')
      await Promise.all([secretDelete(secret.id), create(`web${n}`, { secretEnv: [{ name: 'A', secret: `key${n}` }] })])
      const [secrets, applications] = await Promise.all([
        api.db.secret.count({ where: { id: secret.id } }),
        api.db.resource.count({ where: { projectId: world.projectId, name: `web${n}` } }),
      ])
      expect(secrets).toBe(applications)
    }
  })
})

describe('projectEnvSet', () => {
  const set = (env: object[], projectId = world.projectId) =>
    world.ask(
      `mutation ($projectId: ID!, $env: [EnvInput!]!) { projectEnvSet(projectId: $projectId, env: $env) { project { env { name value } } userErrors { field code message } } }`,
      { projectId, env },
    )

  it('whole list -> replaced; audited by names; all its applications are due', async () => {
    await world.application('web', {})
    await world.application('api', {})
    const first = [
      { name: 'B', value: '' },
      { name: 'A', value: 'x=y "z"' },
    ]
    expect(await set(first)).toEqual({ project: { env: [...first].reverse() }, userErrors: [] })
    expect(
      await dueAfter(() =>
        set([
          { name: 'A', value: 'changed' },
          { name: 'C', value: 'c' },
        ]),
      ),
    ).toEqual(['api', 'web'])
    expect((await audit(world.projectId)).at(-1)).toMatchObject({
      operation: 'projectEnvSet',
      before: { names: ['A', 'B'] },
      after: { names: ['A', 'C'], changed: ['A', 'B', 'C'] },
    })
    expect(
      await dueAfter(() =>
        set([
          { name: 'C', value: 'c' },
          { name: 'A', value: 'changed' },
        ]),
      ),
    ).toEqual([])
  })

  it.each<[string, object[], string[]]>([
    ['= in a name', [{ name: 'A=B', value: '' }], ['env', '0', 'name']],
    [
      'a name twice',
      [
        { name: 'A', value: '' },
        { name: 'A', value: '' },
      ],
      ['env', '1'],
    ],
    ['NUL', [{ name: 'A', value: '\0' }], ['env', '0', 'value']],
    ['too much', [{ name: 'A', value: 'x'.repeat(projectEnvBytesMost) }], ['env']],
  ])('%s -> refused with its field', async (_what, env, field) => {
    expect(await set(env)).toMatchObject({ project: null, userErrors: [{ field, code: 'INVALID' }] })
    expect(await api.db.projectEnv.count({ where: { projectId: world.projectId } })).toBe(0)
  })

  it('no such project -> NOT_FOUND', async () => {
    expect((await set([], 'prj_none')).userErrors).toMatchObject([{ field: ['projectId'], code: 'NOT_FOUND' }])
  })
})

describe('registry credentials', () => {
  const all = () => world.ask(`query ($p: ID!) { registryCredentials(projectId: $p) { nodes { name host username } } }`)
  const remove = (id: string) =>
    world.ask(`mutation ($id: ID!) { registryCredentialDelete(id: $id) { deletedId userErrors { code message } } }`, { id })

  it('set, changed, deleted -> listed without the password; in use -> refused', async () => {
    const { registryCredential } = await world.credentialSet('hub')
    await world.application('web', { registryCredential: 'hub' })
    await world.application('other', {})
    expect(await dueAfter(() => world.credentialSet('hub'))).toEqual([])
    expect(await dueAfter(() => world.credentialSet('hub', { password: 'next' }))).toEqual(['web'])
    expect(await all()).toEqual({ nodes: [{ name: 'hub', host: 'registry.example.org:5000', username: 'robot' }] })
    const entries = await audit(registryCredential.id)
    expect(entries.map((e) => [e.outcome, e.after])).toEqual([
      ['ok', { name: 'hub', host: 'registry.example.org:5000', username: 'robot', passwordChanged: true }],
      ['unchanged', null],
      ['ok', { name: 'hub', host: 'registry.example.org:5000', username: 'robot', passwordChanged: true }],
    ])
    expect(await remove(registryCredential.id)).toMatchObject({
      deletedId: null,
      userErrors: [{ code: 'CREDENTIAL_IN_USE', message: expect.stringContaining('web') }],
    })
    await api.db.resource.deleteMany({ where: { projectId: world.projectId } })
    expect(await remove(registryCredential.id)).toEqual({ deletedId: registryCredential.id, userErrors: [] })
    expect((await remove(registryCredential.id)).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
  })

  it.each<[string, object]>([
    ['name', { name: 'No' }],
    ['host', { host: 'https://registry.example.org' }],
    ['host', { host: 'registry.example.org/team' }],
    ['username', { username: 'a:b' }],
    ['username', { username: 'a\nb' }],
    ['password', { password: '' }],
    ['password', { password: 'x\0' }],
  ])('wrong %s -> refused with its field', async (field, more) => {
    expect(await world.credentialSet('hub', more)).toMatchObject({
      registryCredential: null,
      userErrors: [{ field: ['input', field], code: 'INVALID' }],
    })
    expect(await all()).toEqual({ nodes: [] })
  })
})
