import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { abilities, abilityOf, type Ability } from '../../src/api/auth/ability.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
let applicationId: string
const tokens = {} as Record<Ability, string>

const tokenCreate = (input: object, token?: string, key?: string) =>
  api
    .graphql(
      `mutation ($input: TokenCreateInput!, $key: String) { tokenCreate(input: $input, idempotencyKey: $key) { token { id name abilities createdBy expiresAt } secret userErrors { field message code } } }`,
      { input, key },
      token,
    )
    .then(({ data, errors }) => ({ ...data?.tokenCreate, errors }))

beforeAll(async () => {
  api = await startApi()
  for (const ability of abilities)
    tokens[ability] = (await tokenCreate({ name: ability, abilities: [ability.toUpperCase()] })).secret
  const made = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)
  projectId = made.data.projectCreate.project.id
  const app = await api.graphql(
    `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "web", image: "nginx" }) { application { id } } }`,
    { p: projectId },
  )
  applicationId = app.data.applicationCreate.application.id
})
afterAll(() => api?.stop())

/** One call of each operation, with arguments under which it may well refuse: only the permission matters here. */
const calls: Record<'Query' | 'Mutation', Record<string, string>> = {
  Query: {
    viewer: '{ viewer { name } }',
    project: '{ project(id: "x") { id } }',
    projects: '{ projects { nodes { id } } }',
    secrets: '{ secrets(projectId: "x") { nodes { id } } }',
    registryCredentials: '{ registryCredentials(projectId: "x") { nodes { id } } }',
    resource: '{ resource(id: "x") { id } }',
    application: '{ application(id: "x") { id } }',
    applications: '{ applications { nodes { id } } }',
    applicationPlan: '{ applicationPlan(id: "x") { plan { converges } } }',
    applicationLogTail: '{ applicationLogTail(id: "x") { cursor } }',
    nginxdemo: '{ nginxdemo(id: "x") { id } }',
    nginxdemos: '{ nginxdemos { nodes { id } } }',
    node: '{ node(id: "x") { id } }',
    nodes: '{ nodes { nodes { id } } }',
    event: '{ event(id: "1") { id } }',
    events: '{ events { nodes { id } } }',
    lastResult: '{ lastResult(id: "x") { pass } }',
    orphans: '{ orphans { nodes { resourceId } } }',
    tokens: '{ tokens { nodes { id } } }',
    audit: '{ audit { nodes { id } } }',
  },
  Mutation: {
    projectCreate: 'mutation { projectCreate(input: { name: "-" }) { userErrors { code } } }',
    projectDelete: 'mutation { projectDelete(id: "x") { userErrors { code } } }',
    projectEnvSet: 'mutation { projectEnvSet(projectId: "x", env: []) { userErrors { code } } }',
    secretSet: 'mutation { secretSet(input: { projectId: "x", name: "-" }) { userErrors { code } } }',
    secretDelete: 'mutation { secretDelete(id: "x") { userErrors { code } } }',
    secretVersionDelete: 'mutation { secretVersionDelete(id: "x", version: 1) { userErrors { code } } }',
    registryCredentialSet:
      'mutation { registryCredentialSet(input: { projectId: "x", name: "-", host: "", username: "", password: "" }) { userErrors { code } } }',
    registryCredentialDelete: 'mutation { registryCredentialDelete(id: "x") { userErrors { code } } }',
    applicationCreate: 'mutation { applicationCreate(input: { projectId: "x", name: "-", image: "-" }) { userErrors { code } } }',
    applicationUpdate: 'mutation { applicationUpdate(id: "x", input: { image: "y" }) { userErrors { code } } }',
    applicationDelete: 'mutation { applicationDelete(id: "x") { userErrors { code } } }',
    applicationExec: 'mutation { applicationExec(id: "x", command: ["y"]) { userErrors { code } } }',
    nginxdemoCreate: 'mutation { nginxdemoCreate(input: { projectId: "x", name: "-", hostPort: 0 }) { userErrors { code } } }',
    nginxdemoUpdate: 'mutation { nginxdemoUpdate(id: "x", input: { hostPort: 0 }) { userErrors { code } } }',
    nginxdemoDelete: 'mutation { nginxdemoDelete(id: "x") { userErrors { code } } }',
    resourcePause: 'mutation { resourcePause(id: "x") { userErrors { code } } }',
    resourceResume: 'mutation { resourceResume(id: "x") { userErrors { code } } }',
    restoreConfirm: 'mutation { restoreConfirm { resources userErrors { code } } }',
    resyncAll: 'mutation { resyncAll { resources userErrors { code } } }',
    actionCancel: 'mutation { actionCancel(id: "x", key: "y") { userErrors { code } } }',
    tokenCreate: 'mutation { tokenCreate(input: { name: "", abilities: [] }) { userErrors { code } } }',
    tokenRevoke: 'mutation { tokenRevoke(id: "x") { userErrors { code } } }',
    orphanAdopt:
      'mutation { orphanAdopt(orphan: { nodeId: "x", resourceId: "y" }, input: { projectId: "x", name: "z" }) { userErrors { code } } }',
    orphanRemove: 'mutation { orphanRemove(orphan: { nodeId: "x", resourceId: "y" }) { userErrors { code } } }',
  },
}
const matrix = (['Query', 'Mutation'] as const).flatMap((root) =>
  Object.entries(abilityOf[root]).flatMap(([field, needed]) => abilities.map((held) => ({ root, field, needed, held }))),
)

describe('abilities', () => {
  it.each(matrix)(
    '$field needs $needed; a token with $held -> allowed exactly when it is enough',
    async ({ root, field, needed, held }) => {
      const call = calls[root][field]
      expect(call, `no call for ${field}`).toBeDefined()
      const { errors } = await api.graphql(call ?? '', {}, tokens[held])
      const forbidden = errors.some((e) => e.extensions['code'] === 'FORBIDDEN')
      expect(forbidden).toBe(abilities.indexOf(held) < abilities.indexOf(needed))
      if (forbidden) expect(errors[0]?.message).toContain(needed)
    },
  )

  it('a forbidden mutation -> changes nothing, and is audited', async () => {
    const before = await api.db.resource.findMany()
    const { data } = await api.graphql(
      `mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { code } } }`,
      { id: applicationId },
      tokens.deploy,
    )
    expect(data).toBeNull()
    expect(await api.db.resource.findMany()).toEqual(before)
    expect(await api.db.auditEntry.findFirst({ orderBy: { id: 'desc' } })).toMatchObject({
      operation: 'applicationDelete',
      outcome: 'refused: FORBIDDEN',
      resourceId: applicationId,
      ability: 'write',
    })
  })

  it('one forbidden field among allowed ones -> only that one is refused', async () => {
    const { data, errors } = await api.graphql(
      'mutation { resyncAll { resources } projectCreate(input: { name: "sly" }) { project { id } } }',
      {},
      tokens.deploy,
    )
    expect(data).toBeNull() // both are non-null at the root, so the error takes the whole answer …
    expect(errors).toMatchObject([{ path: ['projectCreate'], extensions: { code: 'FORBIDDEN' } }])
    expect(await api.db.project.count({ where: { name: 'sly' } })).toBe(0)
  })

  it('deploy -> may bring a new image, and no other field', async () => {
    const update = `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { application { spec { image } } userErrors { field code } } }`
    const allowed = await api.graphql(update, { id: applicationId, input: { image: 'nginx:2' } }, tokens.deploy)
    expect(allowed.data.applicationUpdate).toEqual({ application: { spec: { image: 'nginx:2' } }, userErrors: [] })
    const refused = await api.graphql(
      update,
      { id: applicationId, input: { image: 'nginx:3', replicas: 9, env: null } },
      tokens.deploy,
    )
    expect(refused.data.applicationUpdate.userErrors).toEqual([
      { field: ['input', 'env'], code: 'ABILITY_MISSING' },
      { field: ['input', 'replicas'], code: 'ABILITY_MISSING' },
    ])
    expect((await api.db.resource.findUniqueOrThrow({ where: { id: applicationId } })).spec).toEqual({ image: 'nginx:2' })
  })
})

describe('authentication', () => {
  it.each<[string, string | null]>([
    ['none', null],
    ['empty', ''],
    ['unknown', `evk_${'a'.repeat(43)}`],
    ['malformed', 'secret'],
    ["an agent's", `evn_${'a'.repeat(43)}`],
  ])('%s token -> 401, for queries and for the schema alike', async (_what, token) => {
    for (const query of ['{ viewer { name } }', '{ __schema { types { name } } }', '{ __typename }']) {
      const answer = await api.graphql(query, {}, token)
      expect(answer).toMatchObject({ status: 401, data: null, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    }
  })

  it('viewer -> who asks, never the token', async () => {
    const { data } = await api.graphql('{ viewer { tokenId name abilities } }', {}, tokens.deploy)
    expect(data.viewer).toEqual({ tokenId: expect.stringMatching(/^tok_/), name: 'deploy', abilities: ['DEPLOY'] })
  })

  it('revoked -> ends at once; expired -> ends by itself', async () => {
    const { token, secret } = await tokenCreate({ name: 'short', abilities: ['READ'] })
    expect((await api.graphql('{ viewer { name } }', {}, secret)).status).toBe(200)
    await api.graphql('mutation ($id: ID!) { tokenRevoke(id: $id) { token { revokedAt } userErrors { code } } }', {
      id: token.id,
    })
    expect((await api.graphql('{ viewer { name } }', {}, secret)).status).toBe(401)

    const expiring = await tokenCreate({
      name: 'expiring',
      abilities: ['READ'],
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
    })
    expect((await api.graphql('{ viewer { name } }', {}, expiring.secret)).status).toBe(200)
    api.time.now = Date.now() + 61_000
    expect((await api.graphql('{ viewer { name } }', {}, expiring.secret)).status).toBe(401)
    api.time.now = null
  })

  it('guessing from one address -> told to wait after a while, while good tokens go on', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 60; n++)
      statuses.push((await api.graphql('{ viewer { name } }', {}, `evk_${String(n).padStart(43, 'z')}`)).status)
    expect(statuses).toContain(429)
    expect((await api.graphql('{ viewer { name } }')).status).toBe(200)
  })
})

describe('tokens', () => {
  it('made -> shown once; only its hash is kept anywhere', async () => {
    const { secret, token } = await tokenCreate({ name: 'ci', abilities: ['DEPLOY', 'DEPLOY'] })
    expect(secret).toMatch(/^evk_[A-Za-z0-9_-]{43}$/)
    expect(token).toMatchObject({ name: 'ci', abilities: ['DEPLOY'], createdBy: 'tok_owner', expiresAt: null })
    const dump = JSON.stringify(
      [await api.db.apiToken.findMany(), await api.db.auditEntry.findMany(), await api.db.idempotencyKey.findMany()],
      (_k, v: unknown) => (typeof v === 'bigint' ? String(v) : v),
    )
    expect(dump).toContain(token.id)
    expect(dump).not.toContain(secret)
    expect(dump).not.toContain(secret.slice(4))
  })

  it.each<[string, Ability, object, string]>([
    ['write makes admin', 'write', { abilities: ['ADMIN'] }, 'STRONGER_THAN_MAKER'],
    ['write makes read and admin', 'write', { abilities: ['READ', 'ADMIN'] }, 'STRONGER_THAN_MAKER'],
    ['no ability', 'write', { abilities: [] }, 'INVALID'],
    ['empty name', 'write', { name: ' ', abilities: ['READ'] }, 'INVALID'],
    ['expiry in the past', 'write', { abilities: ['READ'], expiresAt: '2001-01-01T00:00:00Z' }, 'INVALID'],
  ])('%s -> refused, and no token made', async (_what, held, input, code) => {
    const before = await api.db.apiToken.count()
    const { token, secret, userErrors } = await tokenCreate({ name: 'bad', ...input }, tokens[held])
    expect([token, secret]).toEqual([null, null])
    expect(userErrors).toMatchObject([{ code }])
    expect(await api.db.apiToken.count()).toBe(before)
  })

  it.each(abilities.slice(2))('%s -> may hand on all that it may do itself', async (held) => {
    const { userErrors, secret } = await tokenCreate({ name: 'child', abilities: [held.toUpperCase(), 'READ'] }, tokens[held])
    expect(userErrors).toEqual([])
    expect((await api.graphql('{ viewer { abilities } }', {}, secret)).data.viewer.abilities).toContain(held.toUpperCase())
  })

  it('maker that expires -> its children end with it', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const maker = await tokenCreate({ name: 'maker', abilities: ['WRITE'], expiresAt })
    expect((await tokenCreate({ name: 'child', abilities: ['READ'] }, maker.secret)).token.expiresAt).toBe(expiresAt)
    const later = new Date(Date.now() + 7_200_000).toISOString()
    expect((await tokenCreate({ name: 'child', abilities: ['READ'], expiresAt: later }, maker.secret)).userErrors).toMatchObject([
      { code: 'STRONGER_THAN_MAKER' },
    ])
  })

  it('idempotency key -> one token, and its secret not again', async () => {
    const first = await tokenCreate({ name: 'once', abilities: ['READ'] }, undefined, 'k1')
    const second = await tokenCreate({ name: 'once', abilities: ['READ'] }, undefined, 'k1')
    expect(second).toMatchObject({ token: { id: first.token.id }, secret: null, userErrors: [] })
    expect((await tokenCreate({ name: 'once', abilities: ['ADMIN'] }, undefined, 'k1')).userErrors).toMatchObject([
      { code: 'IDEMPOTENCY_KEY_REUSED' },
    ])
  })

  it("the owner's -> cannot be revoked; unknown -> NOT_FOUND; twice -> the same", async () => {
    const revoke = (id: string) =>
      api
        .graphql('mutation ($id: ID!) { tokenRevoke(id: $id) { token { revokedAt } userErrors { code } } }', { id })
        .then((a) => a.data.tokenRevoke)
    expect((await revoke('tok_owner')).userErrors).toEqual([{ code: 'OWNER' }])
    expect((await revoke('tok_none')).userErrors).toEqual([{ code: 'NOT_FOUND' }])
    const { token } = await tokenCreate({ name: 'twice', abilities: ['READ'] })
    expect(await revoke(token.id)).toEqual(await revoke(token.id))
  })

  it('used -> its time is told, and written at most once a minute whatever it does', async () => {
    const start = Date.now() + 10_000
    api.time.now = start
    const { token, secret } = await tokenCreate({ name: 'busy', abilities: ['READ'] })
    const lastUsed = async () => (await api.db.apiToken.findUniqueOrThrow({ where: { id: token.id } })).lastUsedAt?.getTime() ?? null
    const use = (times: number) => Promise.all(Array.from({ length: times }, () => api.graphql('{ viewer { name } }', {}, secret)))
    expect(await lastUsed()).toBeNull()
    await use(10)
    expect(await lastUsed()).toBe(start)
    const writes = async () => (await api.db.$queryRaw<{ xmin: string }[]>`SELECT xmin::text FROM "ApiToken" WHERE id = ${token.id}`)[0]?.xmin
    const written = await writes()
    api.time.now = start + 60_000
    await use(10)
    expect([await lastUsed(), await writes()]).toEqual([start, written])
    api.time.now = start + 60_001
    await use(10)
    expect(await lastUsed()).toBe(start + 60_001)
    const { data } = await api.graphql('{ tokens(first: 100) { nodes { name lastUsedAt } } }')
    expect(data.tokens.nodes).toContainEqual({ name: 'busy', lastUsedAt: new Date(start + 60_001).toISOString() })
    api.time.now = null
  })

  it('expired -> refused at that moment, over HTTP and for what it would have made; still listed, with its end', async () => {
    const expiresAt = new Date(Date.now() + 30_000)
    const { secret } = await tokenCreate({ name: 'ending', abilities: ['WRITE'], expiresAt: expiresAt.toISOString() })
    api.time.now = expiresAt.getTime() - 1
    expect((await api.graphql('{ viewer { expiresAt } }', {}, secret)).data.viewer).toEqual({ expiresAt: expiresAt.toISOString() })
    api.time.now = expiresAt.getTime()
    expect(await api.graphql('{ viewer { name } }', {}, secret)).toMatchObject({
      status: 401,
      errors: [{ extensions: { code: 'UNAUTHENTICATED' }, message: 'this token is unknown, expired or revoked' }],
    })
    const { data } = await api.graphql('{ viewer { expiresAt } tokens(first: 100) { nodes { name expiresAt } } }')
    expect(data.tokens.nodes).toContainEqual({ name: 'ending', expiresAt: expiresAt.toISOString() })
    expect(data.viewer).toEqual({ expiresAt: null })
    api.time.now = null
  })

  it('listed -> in pages by name, without any hash in the schema', async () => {
    const { data } = await api.graphql('{ tokens(first: 100) { nodes { id name abilities lastUsedAt } } }')
    const names = data.tokens.nodes.map((n: { name: string }) => n.name)
    expect(names).toEqual([...names].sort())
    expect(data.tokens.nodes).toContainEqual(
      expect.objectContaining({
        id: 'tok_owner',
        abilities: ['READ', 'DEPLOY', 'WRITE', 'ADMIN'],
        lastUsedAt: expect.any(String),
      }),
    )
  })
})

describe('audit', () => {
  it('of one resource -> who, what, workflow, before and after, newest first', async () => {
    const { data } = await api.graphql(
      'query ($id: ID!) { audit(resourceId: $id) { nodes { id actor actorName ability operation resourceId workflowId before after outcome at } } }',
      { id: applicationId },
    )
    const { nodes } = data.audit
    expect(nodes.map((n: { operation: string; outcome: string }) => [n.operation, n.outcome])).toEqual([
      ['applicationUpdate', 'refused: ABILITY_MISSING input.env, ABILITY_MISSING input.replicas'],
      ['applicationUpdate', 'ok'],
      ['applicationDelete', 'refused: FORBIDDEN'],
      ['applicationCreate', 'ok'],
    ])
    expect(nodes[1]).toMatchObject({
      actorName: 'deploy',
      ability: 'deploy',
      resourceId: applicationId,
      workflowId: `application:${applicationId}`,
      before: '{"image":"nginx"}',
      after: '{"image":"nginx:2"}',
    })
    expect(nodes[3]).toMatchObject({ actor: 'tok_owner', actorName: 'owner', before: null })
  })

  it('pages -> every entry once', async () => {
    const seen: string[] = []
    let after: string | null = null
    do {
      const { data } = await api.graphql(
        'query ($after: String) { audit(first: 7, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }',
        { after },
      )
      seen.push(...data.audit.nodes.map((n: { id: string }) => n.id))
      after = data.audit.pageInfo.hasNextPage ? data.audit.pageInfo.endCursor : null
    } while (after !== null)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBe(await api.db.auditEntry.count())
  })
})
