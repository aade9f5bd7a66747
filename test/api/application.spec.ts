import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string

beforeAll(async () => {
  api = await startApi()
  const made = await api.graphql(
    `mutation { projectCreate(input: { name: "shop" }) { project { id name } userErrors { message } } }`,
  )
  projectId = made.data.projectCreate.project.id
})
afterAll(() => api?.stop())
beforeEach(() => {
  api.nudges.nudged.length = 0
  api.nudges.failing = false
})

const fields = `application { id name generation observedGeneration deletionRequestedAt spec { image replicas command ports env { name value } readiness { path port timeoutSeconds } } }
  userErrors { field message code }`

const create = async (input: object, idempotencyKey?: string) => {
  const answer = await api.graphql(
    `mutation ($input: ApplicationCreateInput!, $key: String) { applicationCreate(input: $input, idempotencyKey: $key) { ${fields} } }`,
    {
      input: { projectId, image: 'nginx', ...input },
      key: idempotencyKey,
    },
  )
  expect(answer.errors).toEqual([])
  return answer.data.applicationCreate
}

const update = async (id: string, input: object, expectedGeneration?: number) => {
  const answer = await api.graphql(
    `mutation ($id: ID!, $input: ApplicationUpdateInput!, $expected: Int) { applicationUpdate(id: $id, input: $input, expectedGeneration: $expected) { ${fields} } }`,
    { id, input, expected: expectedGeneration },
  )
  expect(answer.errors).toEqual([])
  return answer.data.applicationUpdate
}

const remove = async (id: string, expectedGeneration?: number) =>
  (
    await api.graphql(
      `mutation ($id: ID!, $expected: Int) { applicationDelete(id: $id, expectedGeneration: $expected) { ${fields} } }`,
      { id, expected: expectedGeneration },
    )
  ).data.applicationDelete

let names = 0
const fresh = async (input: object = {}) => (await create({ name: `app${names++}`, ...input })).application

/** Everything that a refused mutation might have touched. */
const world = async () => ({
  resources: await api.db.resource.findMany({ orderBy: { id: 'asc' } }),
  revisions: await api.db.revision.count(),
  events: await api.db.event.count(),
  keys: await api.db.idempotencyKey.count(),
})

describe('applicationCreate', () => {
  it('valid input -> a row of generation 1, and one nudge with all that a workflow needs', async () => {
    const { application, userErrors } = await create({ name: 'web', replicas: 2, env: [{ name: 'A', value: "$x 'y' \n" }] })
    expect(userErrors).toEqual([])
    expect(application).toMatchObject({ name: 'web', generation: 1, observedGeneration: 0 })
    expect(application.spec).toMatchObject({
      image: 'nginx',
      replicas: 2,
      env: [{ name: 'A', value: "$x 'y' \n" }],
      readiness: null,
    })
    expect(application.id).toMatch(/^app_[a-z0-9]{16}$/)
    await expect
      .poll(() => api.nudges.nudged)
      .toEqual([{ id: application.id, kind: 'application', project: 'shop', name: 'web' }])
  })

  it("fields not given, or null -> absent in the stored spec: a later default is nobody's wish", async () => {
    const { id } = await fresh({ replicas: null, readiness: { path: '/', port: null }, ports: [80], command: null })
    const row = await api.db.resource.findUniqueOrThrow({ where: { id } })
    expect(row.spec).toEqual({ image: 'nginx', readiness: { path: '/' }, ports: [80] })
  })

  it('every change -> revision, event and audit entry of the same transaction', async () => {
    const { id } = await fresh()
    await update(id, { replicas: 3 })
    expect(
      (await api.db.revision.findMany({ where: { resourceId: id }, orderBy: { generation: 'asc' } })).map((r) => [
        r.generation,
        r.actor,
      ]),
    ).toEqual([
      [1, 'tok_owner'],
      [2, 'tok_owner'],
    ])
    expect((await api.db.event.findMany({ where: { resourceId: id }, orderBy: { id: 'asc' } })).map((e) => e.reason)).toEqual([
      'Created',
      'DesiredChanged',
    ])
    expect(await api.db.auditEntry.findMany({ where: { resourceId: id }, orderBy: { id: 'asc' } })).toMatchObject([
      {
        operation: 'applicationCreate',
        outcome: 'ok',
        before: null,
        after: { image: 'nginx' },
        workflowId: `application:${id}`,
        actor: 'tok_owner',
        ability: 'write',
      },
      {
        operation: 'applicationUpdate',
        outcome: 'ok',
        before: { image: 'nginx' },
        after: { image: 'nginx', replicas: 3 },
        workflowId: `application:${id}`,
      },
    ])
  })

  it('Temporal away -> the mutation succeeds all the same', async () => {
    api.nudges.failing = true
    const { application, userErrors } = await create({ name: 'calm' })
    expect(userErrors).toEqual([])
    expect(application.name).toBe('calm')
  })

  it('name of a deleted, not yet removed application -> still taken; after the row is gone -> free', async () => {
    const { id, name } = await fresh()
    await remove(id)
    expect((await create({ name })).userErrors).toMatchObject([{ code: 'NAME_TAKEN' }])
    await api.db.resource.delete({ where: { id } })
    expect((await create({ name })).userErrors).toEqual([])
  })
})

describe('bad input', () => {
  const long = 'x'.repeat(64)
  const big = 'y'.repeat(32 * 1024)
  it.each<[string, object, string[], string]>([
    ['empty name', { name: '' }, ['input', 'name'], 'INVALID'],
    ['name with capitals', { name: 'Web' }, ['input', 'name'], 'INVALID'],
    ['name that begins with a digit', { name: '1web' }, ['input', 'name'], 'INVALID'],
    ['name that ends with -', { name: 'web-' }, ['input', 'name'], 'INVALID'],
    ['name with a dot', { name: 'a.b' }, ['input', 'name'], 'INVALID'],
    ['name with a newline', { name: 'web\n' }, ['input', 'name'], 'INVALID'],
    ['name that is too long', { name: long }, ['input', 'name'], 'INVALID'],
    ['image with spaces', { name: 'bad', image: 'ngi nx' }, ['input', 'image'], 'INVALID'],
    ['image with capitals', { name: 'bad', image: 'Nginx' }, ['input', 'image'], 'INVALID'],
    ['empty image', { name: 'bad', image: '' }, ['input', 'image'], 'INVALID'],
    ['image with a short digest', { name: 'bad', image: 'nginx@sha256:abc' }, ['input', 'image'], 'INVALID'],
    [
      'NUL in the value of an env',
      {
        name: 'bad',
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: 'x\0y' },
        ],
      },
      ['input', 'env', '1', 'value'],
      'INVALID',
    ],
    ['NUL in the name of an env', { name: 'bad', env: [{ name: 'A\0', value: '1' }] }, ['input', 'env', '0', 'name'], 'INVALID'],
    ['= in the name of an env', { name: 'bad', env: [{ name: 'A=B', value: '1' }] }, ['input', 'env', '0', 'name'], 'INVALID'],
    ['empty name of an env', { name: 'bad', env: [{ name: '', value: '1' }] }, ['input', 'env', '0', 'name'], 'INVALID'],
    [
      'env twice',
      {
        name: 'bad',
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      ['input', 'env', '1'],
      'INVALID',
    ],
    [
      'env too big in all',
      {
        name: 'bad',
        env: [
          { name: 'A', value: big },
          { name: 'B', value: big },
        ],
      },
      ['input', 'env'],
      'INVALID',
    ],
    [
      'reserved label',
      { name: 'bad', labels: [{ key: 'evenkeel.instance', value: 'x' }] },
      ['input', 'labels', '0', 'key'],
      'INVALID',
    ],
    ['NUL in a label', { name: 'bad', labels: [{ key: 'a', value: '\0' }] }, ['input', 'labels', '0', 'value'], 'INVALID'],
    [
      'half a character in an env',
      { name: 'bad', env: [{ name: 'A', value: 'x\ud800' }] },
      ['input', 'env', '0', 'value'],
      'INVALID',
    ],
    [
      'NUL in the probe path',
      { name: 'bad', ports: [80], readiness: { path: '/\0' } },
      ['input', 'readiness', 'path'],
      'INVALID',
    ],
    ['NUL in the node', { name: 'bad', placement: { node: 'a\0' } }, ['input', 'placement', 'node'], 'INVALID'],
    ['replicas below 0', { name: 'bad', replicas: -1 }, ['input', 'replicas'], 'INVALID'],
    ['replicas above 100', { name: 'bad', replicas: 101 }, ['input', 'replicas'], 'INVALID'],
    ['port 0', { name: 'bad', ports: [0] }, ['input', 'ports', '0'], 'INVALID'],
    ['port twice', { name: 'bad', ports: [80, 80] }, ['input', 'ports', '1'], 'INVALID'],
    ['NUL in the command', { name: 'bad', command: ['sh', 'a\0'] }, ['input', 'command', '1'], 'INVALID'],
    [
      'probe path without /',
      { name: 'bad', ports: [80], readiness: { path: 'health' } },
      ['input', 'readiness', 'path'],
      'INVALID',
    ],
    ['probe without any port', { name: 'bad', readiness: { path: '/' } }, ['input', 'readiness', 'port'], 'INVALID'],
    ['endless grace', { name: 'bad', stopGraceSeconds: 100_000 }, ['input', 'stopGraceSeconds'], 'INVALID'],
    ['project that does not exist', { name: 'bad', projectId: 'prj_none' }, ['input', 'projectId'], 'PROJECT_NOT_FOUND'],
    [
      'node that does not exist',
      { name: 'bad', placement: { node: 'nowhere' } },
      ['input', 'placement', 'node'],
      'NODE_NOT_FOUND',
    ],
    ['name taken', { name: 'web' }, ['input', 'name'], 'NAME_TAKEN'],
  ])('%s -> a userError that names the field, and nothing changed', async (_what, input, field, code) => {
    const before = await world()
    const { application, userErrors } = await create(input, 'a-key-that-must-stay-free')
    expect(application).toBeNull()
    expect(userErrors).toMatchObject([{ field, code }])
    expect(userErrors[0].message).not.toBe('')
    expect(await world()).toEqual(before)
  })

  it('several mistakes -> all of them at once', async () => {
    const { userErrors } = await create({ name: 'Bad', image: 'Nginx', replicas: 101, env: [{ name: '', value: '1' }] })
    expect(userErrors.map((e: { field: string[] }) => e.field.join('.')).sort()).toEqual([
      'input.env.0.name',
      'input.image',
      'input.name',
      'input.replicas',
    ])
  })

  it('name taken by another kind -> told by whom', async () => {
    await api.graphql(
      `mutation ($p: ID!) { nginxdemoCreate(input: { projectId: $p, name: "mixed", hostPort: 9 }) { userErrors { message } } }`,
      { p: projectId },
    )
    const { userErrors } = await create({ name: 'mixed' })
    expect(userErrors[0].message).toContain('nginxdemo')
  })

  it('refused -> audited with its code, and without values', async () => {
    await create({ name: 'bad', env: [{ name: 'PASSWORD', value: 'hunter2\0' }] })
    const [entry] = await api.db.auditEntry.findMany({ orderBy: { id: 'desc' }, take: 1 })
    expect(entry).toMatchObject({
      operation: 'applicationCreate',
      outcome: 'refused: INVALID input.env.0.value',
      actor: 'tok_owner',
    })
    expect(JSON.stringify(entry, (_k, v: unknown) => (typeof v === 'bigint' ? String(v) : v))).not.toContain('hunter2')
  })
})

describe('applicationUpdate', () => {
  it('absent -> unchanged, null -> back to the default, lists -> as a whole, objects -> field by field', async () => {
    const { id } = await fresh({
      replicas: 2,
      ports: [80, 81],
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      readiness: { path: '/a', timeoutSeconds: 5 },
    })
    const { application } = await update(id, { replicas: null, env: [{ name: 'C', value: '3' }], readiness: { path: '/b' } })
    expect(application.spec).toMatchObject({
      replicas: null,
      ports: [80, 81],
      env: [{ name: 'C', value: '3' }],
      readiness: { path: '/b', timeoutSeconds: 5 },
    })
    expect((await update(id, { readiness: null })).application.spec.readiness).toBeNull()
    expect((await update(id, { readiness: { path: '/c', timeoutSeconds: null } })).application.spec.readiness).toMatchObject({
      path: '/c',
      timeoutSeconds: null,
    })
  })

  it('nothing new -> no generation, no revision, no nudge, but an audit entry', async () => {
    const { id } = await fresh({ replicas: 2 })
    await expect.poll(() => api.nudges.nudged.length).toBe(1)
    const { application, userErrors } = await update(id, { replicas: 2, image: 'nginx' })
    expect(userErrors).toEqual([])
    expect(application.generation).toBe(1)
    expect(await api.db.revision.count({ where: { resourceId: id } })).toBe(1)
    expect(api.nudges.nudged.length).toBe(1)
    expect(await api.db.auditEntry.findFirst({ where: { resourceId: id }, orderBy: { id: 'desc' } })).toMatchObject({
      outcome: 'unchanged',
    })
  })

  it.each<[string, object, string[], string]>([
    ['image null', { image: null }, ['input', 'image'], 'INVALID'],
    ['another name', { name: 'renamed' }, ['input', 'name'], 'NAME_IMMUTABLE'],
    ['name null', { name: null }, ['input', 'name'], 'NAME_IMMUTABLE'],
    ['replicas above 100', { replicas: 1000 }, ['input', 'replicas'], 'INVALID'],
    ['last port away under a probe', { ports: null }, ['input', 'readiness', 'port'], 'INVALID'],
    ['node that does not exist', { placement: { node: 'nowhere' } }, ['input', 'placement', 'node'], 'NODE_NOT_FOUND'],
  ])('%s -> refused with its field, and nothing changed', async (_what, input, field, code) => {
    const { id } = await fresh({ ports: [80], readiness: { path: '/' } })
    const before = await world()
    const { userErrors } = await update(id, input)
    expect(userErrors).toMatchObject([{ field, code }])
    expect(await world()).toEqual(before)
  })

  it('its own name -> accepted', async () => {
    const { id, name } = await fresh()
    expect((await update(id, { name, replicas: 4 })).userErrors).toEqual([])
  })

  it('stale expectedGeneration -> refused, with the present state to decide anew', async () => {
    const { id } = await fresh()
    await update(id, { replicas: 2 }, 1)
    const { application, userErrors } = await update(id, { replicas: 5 }, 1)
    expect(userErrors).toMatchObject([{ field: ['expectedGeneration'], code: 'STALE_GENERATION' }])
    expect(application).toMatchObject({ generation: 2, spec: { replicas: 2 } })
  })

  it('ten updates race from the same generation -> exactly one wins', async () => {
    const { id } = await fresh()
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => update(id, { replicas: n + 10 }, 1)))
    const winners = answers.filter((a) => a.userErrors.length === 0)
    expect(winners).toHaveLength(1)
    const row = await api.db.resource.findUniqueOrThrow({ where: { id } })
    expect(row).toMatchObject({ generation: 2, spec: { replicas: winners[0].application.spec.replicas } })
  })

  it('ten updates of different fields without expectation -> none is lost', async () => {
    const { id } = await fresh()
    const changes = [
      { replicas: 7 },
      { ports: [80] },
      { command: ['a'] },
      { stopGraceSeconds: 3 },
      { drainSeconds: 4 },
      { startupBudgetSeconds: 5 },
      { env: [{ name: 'A', value: '1' }] },
    ]
    await Promise.all(changes.map((change) => update(id, change)))
    const row = await api.db.resource.findUniqueOrThrow({ where: { id } })
    expect(row.generation).toBe(1 + changes.length)
    expect(row.spec).toEqual(Object.assign({ image: 'nginx' }, ...changes))
  })

  it.each(['app_none', 'prj_platform', ''])('unknown id %j -> NOT_FOUND', async (id) => {
    expect((await update(id, { replicas: 1 })).userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
  })

  it.each([
    ['application(id: $x) { id }', 'id'],
    ['applications(projectId: $x) { nodes { id } }', 'projectId'],
    ['event(id: $x) { id }', 'id'],
  ])('NUL in an id of %s -> malformed input, and no accident', async (query, name) => {
    const { errors } = await api.graphql(`query ($x: ID!) { ${query} }`, { x: 'app_\0' })
    expect(errors).toMatchObject([{ message: expect.stringContaining(`"${name}"`), extensions: { code: 'BAD_USER_INPUT' } }])
    const created = await api.graphql(
      `mutation { applicationCreate(input: { projectId: "p\\u0000", name: "a", image: "b" }) { userErrors { code } } }`,
    )
    expect(created.errors).toMatchObject([
      { message: expect.stringContaining('"input.projectId"'), extensions: { code: 'BAD_USER_INPUT' } },
    ])
  })

  it('id of another kind -> NOT_FOUND', async () => {
    expect((await update(api.initialised.node.id, { replicas: 1 })).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
  })
})

describe('applicationDelete', () => {
  it('first -> a new generation that is being deleted, and nudged; again -> the same answer', async () => {
    const { id } = await fresh()
    const { application } = await remove(id)
    expect(application).toMatchObject({ generation: 2 })
    expect(application.deletionRequestedAt).not.toBeNull()
    expect((await remove(id)).application).toEqual(application)
    expect((await update(id, { replicas: 2 })).userErrors).toMatchObject([{ code: 'BEING_DELETED' }])
  })

  it('paused -> deletion goes on all the same', async () => {
    const { id } = await fresh()
    await api.graphql(`mutation ($id: ID!) { resourcePause(id: $id, reason: "look") { userErrors { message } } }`, { id })
    await remove(id)
    expect(await api.db.resource.findUniqueOrThrow({ where: { id } })).toMatchObject({ paused: false, pausedReason: null })
  })

  it('stale expectedGeneration -> refused', async () => {
    const { id } = await fresh()
    await update(id, { replicas: 2 })
    expect((await remove(id, 1)).userErrors).toMatchObject([{ code: 'STALE_GENERATION' }])
  })
})

describe('idempotency keys', () => {
  it('same key and input -> the first answer, one row, one nudge', async () => {
    const first = await create({ name: 'once' }, 'key-1')
    const second = await create({ name: 'once' }, 'key-1')
    expect(second).toEqual(first)
    await expect.poll(() => api.nudges.nudged.length).toBe(1)
    expect(await api.db.resource.count({ where: { name: 'once' } })).toBe(1)
  })

  it('ten at once -> one row, and ten answers with its id', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: 'crowd' }, 'key-crowd')))
    expect(new Set(answers.map((a) => a.application?.id)).size).toBe(1)
    expect(answers.flatMap((a) => a.userErrors)).toEqual([])
  })

  it('same key, other input or other mutation -> refused', async () => {
    await create({ name: 'first-use' }, 'key-2')
    expect((await create({ name: 'second-use' }, 'key-2')).userErrors).toMatchObject([
      { field: ['idempotencyKey'], code: 'IDEMPOTENCY_KEY_REUSED' },
    ])
    const { data } = await api.graphql(
      `mutation { projectCreate(input: { name: "other" }, idempotencyKey: "key-2") { userErrors { code } } }`,
    )
    expect(data.projectCreate.userErrors).toEqual([{ code: 'IDEMPOTENCY_KEY_REUSED' }])
  })

  it('a refused call -> its key is free again', async () => {
    expect((await create({ name: 'web' }, 'key-3')).userErrors).toMatchObject([{ code: 'NAME_TAKEN' }])
    expect((await create({ name: 'free-again' }, 'key-3')).userErrors).toEqual([])
  })

  it('what it made is gone -> told so, and nothing made', async () => {
    const { application } = await create({ name: 'gone' }, 'key-4')
    await api.db.resource.delete({ where: { id: application.id } })
    expect((await create({ name: 'gone' }, 'key-4')).userErrors).toMatchObject([{ code: 'IDEMPOTENCY_RESULT_GONE' }])
  })

  it('keys of two tokens -> are not the same', async () => {
    const made = await api.graphql(`mutation { tokenCreate(input: { name: "ci", abilities: [WRITE] }) { secret } }`)
    const call = `mutation ($p: ID!, $n: String!) { applicationCreate(input: { projectId: $p, name: $n, image: "nginx" }, idempotencyKey: "key-5") { userErrors { code } } }`
    expect((await api.graphql(call, { p: projectId, n: 'mine' })).data.applicationCreate.userErrors).toEqual([])
    expect(
      (await api.graphql(call, { p: projectId, n: 'theirs' }, made.data.tokenCreate.secret)).data.applicationCreate.userErrors,
    ).toEqual([])
  })

  it.each(['', 'x'.repeat(201), 'a\0'])('key %j -> refused', async (key) => {
    expect((await create({ name: 'keyed' }, key)).userErrors).toMatchObject([{ field: ['idempotencyKey'], code: 'INVALID' }])
  })
})

describe('reading', () => {
  it('what passes have written -> releases, endpoints, replicas, conditions, transitions, last pass, reconciler', async () => {
    const { id } = await fresh({ replicas: 2 })
    const at = new Date('2030-01-01T00:00:00Z')
    const release = {
      resourceId: id,
      generation: 1,
      templateHash: 't',
      template: {},
      image: 'nginx:latest',
      resolvedFrom: 'registry',
      createdAt: at,
    }
    await api.db.release.createMany({
      data: [
        { ...release, number: 1, hash: 'h1', resolvedImage: 'sha256:1', servingAt: at },
        { ...release, number: 2, hash: 'h2', resolvedImage: 'sha256:2', verdictReason: 'CrashLoop', verdictMessage: 'exit 1' },
      ],
    })
    const endpoint = { resourceId: id, node: api.initialised.node.id, stateAt: at, createdAt: at }
    await api.db.endpoint.createMany({
      data: [
        { ...endpoint, release: 1, replica: 0, address: '10.192.0.10', state: 'ready', readyAt: at },
        { ...endpoint, release: 1, replica: 1, address: '10.192.0.11', state: 'starting' },
      ],
    })
    const condition = {
      resourceId: id,
      type: 'Ready',
      status: 'False',
      reason: 'RollingOut',
      message: '1 of 2',
      observedGeneration: 1,
    }
    await api.db.condition.create({ data: { ...condition, lastTransitionAt: at } })
    await api.db.conditionTransition.createMany({
      data: [
        { ...condition, at },
        { ...condition, status: 'True', at },
      ],
    })
    await api.db.resource.update({
      where: { id },
      data: { observedGeneration: 1, passNumber: 4, lastPassAt: at, lastError: 'pull: gone' },
    })

    const { data, errors } = await api.graphql(
      `query ($id: ID!) {
        application(id: $id) {
          kind project { name } replicas { desired ready } servingRelease { number }
          endpoints { release replica nodeId address state readyAt }
          releases { nodes { number resolvedImage servingAt verdict { reason message } } pageInfo { hasNextPage } }
          conditions { type status reason message observedGeneration lastTransitionAt }
          transitions(first: 1) { nodes { status } pageInfo { hasNextPage endCursor } }
          events { nodes { reason severity resourceId projectId generation } }
          lastPass { number at error } reconciler { workflowId temporalUrl }
        }
        lastResult(id: $id) { controller generation pass error conditions { type } }
        resource(id: $id) { __typename id ... on Application { spec { image } } }
      }`,
      { id },
    )
    expect(errors).toEqual([])
    expect(data.application).toMatchObject({
      kind: 'application',
      project: { name: 'shop' },
      replicas: { desired: 2, ready: 1 },
      servingRelease: { number: 1 },
      endpoints: [
        {
          release: 1,
          replica: 0,
          nodeId: api.initialised.node.id,
          address: '10.192.0.10',
          state: 'ready',
          readyAt: at.toISOString(),
        },
        { release: 1, replica: 1, state: 'starting', readyAt: null },
      ],
      releases: {
        nodes: [
          { number: 2, resolvedImage: 'sha256:2', servingAt: null, verdict: { reason: 'CrashLoop', message: 'exit 1' } },
          { number: 1, servingAt: at.toISOString(), verdict: null },
        ],
      },
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'RollingOut',
          message: '1 of 2',
          observedGeneration: 1,
          lastTransitionAt: at.toISOString(),
        },
      ],
      transitions: { nodes: [{ status: 'True' }], pageInfo: { hasNextPage: true } },
      events: { nodes: [{ reason: 'Created', severity: 'Normal', resourceId: id, projectId, generation: 1 }] },
      lastPass: { number: 4, at: at.toISOString(), error: 'pull: gone' },
      reconciler: {
        workflowId: `application:${id}`,
        temporalUrl: `http://127.0.0.1:8233/namespaces/default/workflows/application%3A${id}`,
      },
    })
    expect(data.lastResult).toMatchObject({
      controller: `application/${data.lastResult.controller.split('/')[1]}`,
      generation: 1,
      pass: 4,
      error: 'pull: gone',
      conditions: [{ type: 'Ready' }],
    })
    expect(data.resource).toMatchObject({ __typename: 'Application', id, spec: { image: 'nginx' } })
  })

  it('never run -> LastResult is empty and without error; no such resource, or one without a loop -> null', async () => {
    const { id } = await fresh()
    const query = `query ($id: ID!) { lastResult(id: $id) { resourceId controller generation pass at error conditions { type } } }`
    const name = (await api.db.resource.findUniqueOrThrow({ where: { id } })).name
    expect((await api.graphql(query, { id })).data.lastResult).toEqual({
      resourceId: id,
      controller: `application/${name}`,
      generation: 0,
      pass: 0,
      at: null,
      error: null,
      conditions: [],
    })
    expect((await api.graphql(query, { id: 'app_none' })).data.lastResult).toBeNull()
    expect((await api.graphql(query, { id: api.initialised.node.id })).data.lastResult).toBeNull()
  })

  it('pages -> every application once, in order of names, also while some are added', async () => {
    const project = (await api.graphql(`mutation { projectCreate(input: { name: "paged" }) { project { id } } }`)).data
      .projectCreate.project.id
    const add = (name: string) => create({ projectId: project, name })
    for (const name of ['e', 'a', 'c', 'b', 'd']) await add(name)
    const seen: string[] = []
    let after: string | null = null
    for (;;) {
      const { data } = await api.graphql(
        `query ($p: ID!, $after: String) { applications(projectId: $p, first: 2, after: $after) { edges { cursor node { name } } nodes { name } pageInfo { hasNextPage hasPreviousPage endCursor startCursor } } }`,
        { p: project, after },
      )
      const { edges, nodes, pageInfo } = data.applications
      expect(nodes).toEqual(edges.map((e: { node: object }) => e.node))
      expect(pageInfo).toMatchObject({
        hasPreviousPage: after !== null,
        endCursor: edges.at(-1).cursor,
        startCursor: edges[0].cursor,
      })
      seen.push(...nodes.map((n: { name: string }) => n.name))
      if (seen.length === 2) await add('aa') // before what was read: never seen, and moves nothing
      if (!pageInfo.hasNextPage) break
      after = pageInfo.endCursor
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'])
    const { data } = await api.graphql(`query ($p: ID!) { applications(projectId: $p, name: "c") { nodes { name } } }`, {
      p: project,
    })
    expect(data.applications.nodes).toEqual([{ name: 'c' }])
  })

  it.each([
    ['first: 0', '"first" must be between 1 and 100'],
    ['first: 101', '"first" must be between 1 and 100'],
    ['after: "no cursor"', '"after" is no cursor'],
    ['after: "eyJmb28iOjF9"', '"after" is no cursor'],
  ])('%s -> a top-level error that names the argument', async (args, message) => {
    const { errors } = await api.graphql(`{ applications(${args}) { nodes { id } } }`)
    expect(errors).toMatchObject([{ message: expect.stringContaining(message), extensions: { code: 'BAD_USER_INPUT' } }])
  })
})
