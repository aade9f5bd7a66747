import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PreviewRequest } from '../../src/api/application/preview.port.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
let nodeId: string
beforeAll(async () => {
  api = await startApi()
  nodeId = api.initialised.node.id
  projectId = (await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
    .project.id
})
afterAll(() => api?.stop())
beforeEach(() => void (api.nudges.nudged.length = 0))

let names = 0
async function application(): Promise<string> {
  const { data } = await api.graphql(
    `mutation ($p: ID!, $n: String!) { applicationCreate(input: { projectId: $p, name: $n, image: "nginx" }) { application { id } } }`,
    { p: projectId, n: `app${names++}` },
  )
  api.nudges.nudged.length = 0
  return data.applicationCreate.application.id
}
const payload = async (mutation: string, variables: object = {}) =>
  Object.values((await api.graphql(mutation, variables)).data)[0] as Record<string, any>
const fields = `resource { __typename id paused pausedReason generation } userErrors { field code }`

describe('resourcePause and resourceResume', () => {
  it('paused with a reason, then resumed -> no new generation, a nudge each, events that tell it', async () => {
    const id = await application()
    expect(await payload(`mutation ($id: ID!) { resourcePause(id: $id, reason: "moving house") { ${fields} } }`, { id })).toEqual(
      {
        resource: { __typename: 'Application', id, paused: true, pausedReason: 'moving house', generation: 1 },
        userErrors: [],
      },
    )
    expect(await payload(`mutation ($id: ID!) { resourceResume(id: $id) { ${fields} } }`, { id })).toMatchObject({
      resource: { paused: false, pausedReason: null, generation: 1 },
    })
    expect(api.nudges.nudged.map((n) => n.id)).toEqual([id, id])
    const { data } = await api.graphql('query ($id: ID!) { events(resourceId: $id) { nodes { reason message } } }', { id })
    expect(data.events.nodes.map((e: { reason: string }) => e.reason)).toEqual(['Resumed', 'Paused', 'Created'])
  })

  it.each(['app_none', ''])('%j -> NOT_FOUND', async (id) => {
    expect(await payload(`mutation ($id: ID!) { resourcePause(id: $id) { ${fields} } }`, { id })).toMatchObject({
      resource: null,
      userErrors: [{ field: ['id'], code: 'NOT_FOUND' }],
    })
  })

  it('a node, which has no loop -> NOT_FOUND', async () => {
    expect(await payload(`mutation ($id: ID!) { resourcePause(id: $id) { ${fields} } }`, { id: nodeId })).toMatchObject({
      userErrors: [{ code: 'NOT_FOUND' }],
    })
  })

  it.each(['', 'x'.repeat(501), 'a\0'])('reason %j -> refused', async (reason) => {
    const id = await application()
    expect(
      await payload(`mutation ($id: ID!, $r: String) { resourcePause(id: $id, reason: $r) { ${fields} } }`, { id, r: reason }),
    ).toMatchObject({ userErrors: [{ field: ['reason'], code: 'INVALID' }] })
  })
})

describe('actionCancel', () => {
  it('a key -> a durable hold for this generation, and a nudge', async () => {
    const id = await application()
    expect(
      await payload(`mutation ($id: ID!) { actionCancel(id: $id, key: "pull:nginx:latest") { ${fields} } }`, { id }),
    ).toMatchObject({ userErrors: [] })
    expect(await api.db.actionHold.findMany({ where: { resourceId: id } })).toMatchObject([
      { key: 'pull:nginx:latest', generation: 1, actor: 'tok_owner' },
    ])
    expect(api.nudges.nudged.map((n) => n.id)).toEqual([id])
    expect(await payload(`mutation ($id: ID!) { actionCancel(id: $id, key: "") { ${fields} } }`, { id })).toMatchObject({
      userErrors: [{ field: ['key'], code: 'INVALID' }],
    })
  })
})

describe('resyncAll', () => {
  it('all loops but paused ones -> due for the sweep, and nudged', async () => {
    const [a, paused] = [await application(), await application()]
    await payload(`mutation ($id: ID!) { resourcePause(id: $id) { ${fields} } }`, { id: paused })
    await api.db.resource.updateMany({ data: { nextPassDueAt: new Date('2100-01-01') } })
    api.nudges.nudged.length = 0
    const { resources } = await payload('mutation { resyncAll { resources userErrors { code } } }')
    await expect.poll(() => api.nudges.nudged.length).toBe(resources)
    expect(api.nudges.nudged.map((n) => n.id)).toContain(a)
    expect(api.nudges.nudged.map((n) => n.id)).not.toContain(paused)
    expect((await api.db.resource.findUniqueOrThrow({ where: { id: a } })).nextPassDueAt?.getTime()).toBeLessThan(
      Date.now() + 1_000,
    )
    expect(await api.db.auditEntry.findFirst({ where: { operation: 'resyncAll' } })).toMatchObject({ outcome: 'ok' })
  })
})

describe('orphans', () => {
  const orphan = (resourceId: string, kind = 'application') =>
    api.db.orphan.create({ data: { node: nodeId, resourceId, kind, containers: ['c1', 'c2'], seenAt: new Date() } })
  const mutate = (name: string, resourceId: string, input?: object) =>
    payload(
      `mutation ($o: OrphanSelector!${input ? ', $i: OrphanAdoptInput!' : ''}) { ${name}(orphan: $o${input ? ', input: $i' : ''}) { resource { __typename id name paused deletionRequestedAt project { name } } userErrors { field code } } }`,
      {
        o: { nodeId, resourceId },
        ...(input ? { i: input } : {}),
      },
    )

  it('listed -> by node', async () => {
    await orphan('app_listed')
    const { data } = await api.graphql('{ orphans { nodes { nodeId resourceId kind containers seenAt } } }')
    expect(data.orphans.nodes).toEqual([
      { nodeId, resourceId: 'app_listed', kind: 'application', containers: ['c1', 'c2'], seenAt: expect.any(String) },
    ])
    await api.db.orphan.deleteMany()
  })

  it('removed -> a resource of that id in deletion, nudged, so that its usual teardown runs', async () => {
    await orphan('app_2bcdf')
    const { resource, userErrors } = await mutate('orphanRemove', 'app_2bcdf')
    expect(userErrors).toEqual([])
    expect(resource).toMatchObject({
      __typename: 'Application',
      id: 'app_2bcdf',
      name: 'orphan-app-2bcdf',
      project: { name: 'platform' },
    })
    expect(resource.deletionRequestedAt).not.toBeNull()
    expect(api.nudges.nudged).toEqual([{ id: 'app_2bcdf', kind: 'application', project: 'platform', name: 'orphan-app-2bcdf' }])
    expect(await api.db.orphan.count()).toBe(0)
    expect(await mutate('orphanRemove', 'app_2bcdf')).toMatchObject({ userErrors: [{ code: 'NOT_FOUND' }] })
  })

  it('adopted -> a paused resource of that id with what the person said, not nudged', async () => {
    await orphan('app_adopted')
    const { resource, userErrors } = await mutate('orphanAdopt', 'app_adopted', { projectId, name: 'found', image: 'nginx:1' })
    expect(userErrors).toEqual([])
    expect(resource).toMatchObject({
      id: 'app_adopted',
      name: 'found',
      paused: true,
      deletionRequestedAt: null,
      project: { name: 'shop' },
    })
    expect((await api.db.resource.findUniqueOrThrow({ where: { id: 'app_adopted' } })).spec).toEqual({
      image: 'nginx:1',
      replicas: 2,
      placement: { node: 'test-host' },
    })
    expect(api.nudges.nudged).toEqual([])
  })

  it('a demo -> adopted with its port', async () => {
    await orphan('demo_found', 'nginxdemo')
    expect(await mutate('orphanAdopt', 'demo_found', { projectId, name: 'old-demo' })).toMatchObject({
      userErrors: [{ field: ['input', 'hostPort'], code: 'INVALID' }],
    })
    expect(await mutate('orphanAdopt', 'demo_found', { projectId, name: 'old-demo', hostPort: 81 })).toMatchObject({
      resource: { __typename: 'Nginxdemo', paused: true },
    })
  })

  it.each([
    ['no image', { name: 'x' }, ['input', 'image'], 'INVALID'],
    ['bad name', { name: 'X', image: 'nginx' }, ['input', 'name'], 'INVALID'],
    ['name taken', { name: 'found', image: 'nginx' }, ['input', 'name'], 'NAME_TAKEN'],
    ['no project', { name: 'x', image: 'nginx', projectId: 'prj_none' }, ['input', 'projectId'], 'PROJECT_NOT_FOUND'],
  ])('adopting with %s -> refused, and still an orphan', async (_what, input, field, code) => {
    await api.db.orphan.deleteMany()
    await orphan('app_refused')
    expect(await mutate('orphanAdopt', 'app_refused', { projectId, ...input })).toMatchObject({
      resource: null,
      userErrors: [{ field, code }],
    })
    expect(await api.db.orphan.count()).toBe(1)
    expect(await api.db.resource.count({ where: { id: 'app_refused' } })).toBe(0)
  })

  it('a kind that a newer Evenkeel made -> left alone', async () => {
    await orphan('db_x', 'database')
    expect(await mutate('orphanRemove', 'db_x')).toMatchObject({ resource: null, userErrors: [{ code: 'KIND_UNKNOWN' }] })
  })
})

describe('events', () => {
  it('listed -> newest first, by resource and project, in pages without gaps; one by its id', async () => {
    const id = await application()
    await api.db.event.createMany({
      data: Array.from({ length: 25 }, (_, n) => ({
        resourceId: id,
        projectId,
        severity: 'Warning',
        reason: 'R',
        message: `m${n}`,
        generation: 1,
        at: new Date(),
      })),
    })
    const seen: string[] = []
    let after: string | null = null
    do {
      const { data } = await api.graphql(
        'query ($id: ID!, $p: ID!, $a: String) { events(resourceId: $id, projectId: $p, first: 10, after: $a) { nodes { id message } pageInfo { endCursor hasNextPage } } }',
        { id, p: projectId, a: after },
      )
      seen.push(...data.events.nodes.map((n: { message: string }) => n.message))
      after = data.events.pageInfo.hasNextPage ? data.events.pageInfo.endCursor : null
    } while (after !== null)
    expect(seen).toEqual([...Array.from({ length: 25 }, (_, n) => `m${24 - n}`), expect.stringContaining('was created')])
    const newest = await api.db.event.findFirstOrThrow({ orderBy: { id: 'desc' } })
    const { data } = await api.graphql(
      'query ($id: ID!) { event(id: $id) { id severity resourceId } none: event(id: "999999999") { id } no: event(id: "x") { id } }',
      { id: String(newest.id) },
    )
    expect(data).toEqual({ event: { id: String(newest.id), severity: 'Warning', resourceId: id }, none: null, no: null })
  })
})

describe('applicationPlan', () => {
  const requests: PreviewRequest[] = []
  let planner: ApiUnderTest
  let ids: { id: string; p: string }
  beforeAll(async () => {
    planner = await startApi({
      previews: {
        async preview(request) {
          requests.push(request)
          return {
            steps: [{ nodeId: 'node_1', summary: 'create replica 0', verb: 'ensureContainer' }],
            converges: true,
            notes: [],
          }
        },
      },
    })
    const p = (await planner.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
      .project.id
    const made = await planner.graphql(
      `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "planned", image: "nginx" }) { application { id } } }`,
      { p },
    )
    ids = { p, id: made.data.applicationCreate.application.id }
  })
  afterAll(() => planner?.stop())

  it.each<[string, string, object | null, object[]]>([
    ['as it is desired', 'id: $id', { name: 'planned', spec: { image: 'nginx' } }, []],
    ['as a change would make it', 'id: $id, changes: { replicas: 3 }', { spec: { image: 'nginx', replicas: 3 } }, []],
    [
      'a new one',
      'input: { projectId: $p, name: "new", image: "caddy" }',
      { resourceId: null, name: 'new', project: 'shop', spec: { image: 'caddy' } },
      [],
    ],
    [
      'a change that is wrong',
      'id: $id, changes: { replicas: 101 }',
      null,
      [{ field: ['changes', 'replicas'], code: 'INVALID' }],
    ],
    [
      'a new one that is wrong',
      'input: { projectId: "prj_none", name: "New", image: "caddy" }',
      null,
      [{ field: ['input', 'name'], code: 'INVALID' }],
    ],
    ['unknown', 'id: "app_none"', null, [{ field: ['id'], code: 'NOT_FOUND' }]],
    ['both', 'id: $id, input: { projectId: $p, name: "new", image: "caddy" }', null, [{ field: null, code: 'INVALID' }]],
    [
      'changes of a new one',
      'input: { projectId: $p, name: "new", image: "caddy" }, changes: { replicas: 1 }',
      null,
      [{ field: null, code: 'INVALID' }],
    ],
  ])('%s -> the preview is asked for exactly that, and nothing is written', async (_what, args, asked, userErrors) => {
    requests.length = 0
    const before = [await planner.db.resource.findMany(), await planner.db.event.count(), await planner.db.auditEntry.count()]
    const { data, errors } = await planner.graphql(
      `query ${args.includes('$') ? `(${args.includes('$id') ? '$id: ID!' : ''} ${args.includes('$p') ? '$p: ID!' : ''})` : ''} { applicationPlan(${args}) { plan { steps { nodeId summary verb } converges notes } userErrors { field code } } }`,
      ids,
    )
    expect(errors).toEqual([])
    expect(data.applicationPlan.userErrors).toEqual(userErrors)
    expect(requests).toMatchObject(asked ? [asked] : [])
    if (asked)
      expect(data.applicationPlan.plan).toEqual({
        steps: [{ nodeId: 'node_1', summary: 'create replica 0', verb: 'ensureContainer' }],
        converges: true,
        notes: [],
      })
    expect([await planner.db.resource.findMany(), await planner.db.event.count(), await planner.db.auditEntry.count()]).toEqual(
      before,
    )
  })

  it('previews not wired -> a clear error', async () => {
    const { errors } = await api.graphql('query ($id: ID!) { applicationPlan(id: $id) { plan { converges } } }', {
      id: await application(),
    })
    expect(errors).toMatchObject([{ message: expect.stringContaining('previews'), extensions: { code: 'NOT_AVAILABLE' } }])
  })
})
