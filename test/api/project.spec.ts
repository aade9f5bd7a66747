import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
beforeAll(async () => void (api = await startApi()))
afterAll(() => api?.stop())

const create = (name: string, key?: string) =>
  api
    .graphql(
      `mutation ($name: String!, $key: String) { projectCreate(input: { name: $name }, idempotencyKey: $key) { project { id name createdAt } userErrors { field message code } } }`,
      { name, key },
    )
    .then((a) => a.data.projectCreate)
const remove = (id: string) =>
  api
    .graphql(`mutation ($id: ID!) { projectDelete(id: $id) { deletedId userErrors { field message code } } }`, { id })
    .then((a) => a.data.projectDelete)

describe('projects', () => {
  it('made -> found by id, by name and in the list', async () => {
    const { project, userErrors } = await create('shop')
    expect(userErrors).toEqual([])
    const { data } = await api.graphql(
      `query ($id: ID!) { project(id: $id) { name } projects { nodes { name } } named: projects(name: "shop") { nodes { id } } none: project(id: "prj_none") { id } }`,
      { id: project.id },
    )
    expect(data).toEqual({
      project: { name: 'shop' },
      projects: { nodes: [{ name: 'platform' }, { name: 'shop' }] },
      named: { nodes: [{ id: project.id }] },
      none: null,
    })
  })

  it.each(['', 'Shop', 'a_b', '-a', 'a'.repeat(64), 'a\0'])('name %j -> refused with its field', async (name) => {
    expect(await create(name)).toMatchObject({ project: null, userErrors: [{ field: ['input', 'name'], code: 'INVALID' }] })
  })

  it('name taken -> refused; the same key again -> the same project', async () => {
    expect(await create('platform')).toMatchObject({ project: null, userErrors: [{ code: 'NAME_TAKEN' }] })
    const first = await create('keyed', 'k')
    expect(await create('keyed', 'k')).toEqual(first)
    expect((await create('other', 'k')).userErrors).toMatchObject([{ code: 'IDEMPOTENCY_KEY_REUSED' }])
  })

  it('two at once with one name -> one project', async () => {
    const answers = await Promise.all([create('race'), create('race'), create('race')])
    expect(answers.filter((a) => a.project !== null)).toHaveLength(1)
  })

  it('deleted when empty; refused while it holds something, which is named; the platform stays', async () => {
    const { project } = await create('going')
    const app = await api.graphql(
      `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "web", image: "nginx" }) { application { id } } }`,
      { p: project.id },
    )
    expect(await remove(project.id)).toMatchObject({
      deletedId: null,
      userErrors: [{ code: 'NOT_EMPTY', message: expect.stringContaining('application web') }],
    })
    await api.db.resource.delete({ where: { id: app.data.applicationCreate.application.id } })
    expect(await remove(project.id)).toEqual({ deletedId: project.id, userErrors: [] })
    expect((await remove(project.id)).userErrors).toMatchObject([{ code: 'NOT_FOUND' }])
    expect((await remove('prj_platform')).userErrors).toMatchObject([{ code: 'PLATFORM' }])
  })

  it('an application created while its project is deleted -> never one without the other', async () => {
    for (let n = 0; n < 5; n++) {
      const { project } = await create(`racing${n}`)
      await Promise.all([
        remove(project.id),
        api.graphql(
          `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "web", image: "nginx" }) { application { id } userErrors { code } } }`,
          { p: project.id },
        ),
      ])
      const [projects, resources] = await Promise.all([
        api.db.project.count({ where: { id: project.id } }),
        api.db.resource.count({ where: { projectId: project.id } }),
      ])
      expect([projects, resources]).toEqual(projects === 1 ? [1, 1] : [0, 0])
    }
  })
})

describe('nginxdemo', () => {
  const fields = `nginxdemo { id name generation spec { image hostPort } conditions { type } reconciler { workflowId } } userErrors { field code }`
  const call = async (query: string, variables: object) =>
    Object.values((await api.graphql(query, variables)).data)[0] as never as Record<string, any>

  it('created, changed, deleted -> one generation each', async () => {
    const made = await call(
      `mutation { nginxdemoCreate(input: { projectId: "prj_platform", name: "demo", hostPort: 8088 }) { ${fields} } }`,
      {},
    )
    expect(made).toMatchObject({
      nginxdemo: { generation: 1, spec: { image: null, hostPort: 8088 }, conditions: [] },
      userErrors: [],
    })
    const { id } = made['nginxdemo']
    expect(made['nginxdemo'].reconciler.workflowId).toBe(`nginxdemo:${id}`)
    const update = `mutation ($id: ID!, $input: NginxdemoUpdateInput!, $g: Int) { nginxdemoUpdate(id: $id, input: $input, expectedGeneration: $g) { ${fields} } }`
    expect(await call(update, { id, input: { image: 'nginx:1' } })).toMatchObject({
      nginxdemo: { generation: 2, spec: { image: 'nginx:1', hostPort: 8088 } },
    })
    expect(await call(update, { id, input: { image: null } })).toMatchObject({
      nginxdemo: { generation: 3, spec: { image: null } },
    })
    expect(await call(update, { id, input: { hostPort: null } })).toMatchObject({
      userErrors: [{ field: ['input', 'hostPort'], code: 'INVALID' }],
    })
    expect(await call(update, { id, input: { hostPort: 70000 } })).toMatchObject({
      userErrors: [{ field: ['input', 'hostPort'], code: 'INVALID' }],
    })
    expect(await call(update, { id, input: { name: 'other' } })).toMatchObject({
      userErrors: [{ field: ['input', 'name'], code: 'NAME_IMMUTABLE' }],
    })
    expect(await call(update, { id, input: { hostPort: 1 }, g: 1 })).toMatchObject({ userErrors: [{ code: 'STALE_GENERATION' }] })
    expect(await call(`mutation ($id: ID!) { nginxdemoDelete(id: $id) { ${fields} } }`, { id })).toMatchObject({
      nginxdemo: { generation: 4 },
      userErrors: [],
    })
    expect(api.nudges.nudged.filter((n) => n.id === id)).toHaveLength(4)
    const { data } = await api.graphql('{ nginxdemos { nodes { id } } }')
    expect(data.nginxdemos.nodes).toEqual([{ id }])
  })
})
