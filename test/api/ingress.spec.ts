import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureIngress } from '../../src/bootstrap/ingress.js'
import { lockHostPorts } from '../../src/persistence/application-claims.js'
import { makeIngressesDue } from '../../src/persistence/domain-claims.js'
import { NodeRepository } from '../../src/persistence/node.repository.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
let writer: string
let numbers = 0

beforeAll(async () => {
  api = await startApi()
  projectId = (await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
    .project.id
  writer = (await api.graphql(`mutation { tokenCreate(input: { name: "w", abilities: [WRITE] }) { secret } }`)).data.tokenCreate
    .secret
  await new NodeRepository(api.db).ensureLocal({ id: null, name: 'second' }, new Date())
})
afterAll(() => api?.stop())
beforeEach(async () => {
  await api.db.resource.deleteMany({ where: { kind: { not: 'node' } } })
  api.nudges.nudged.length = 0
})

const fields = `ingress { id kind name generation spec { image node httpPort httpsPort defaultTls acme { directory email trustedRoots } defaultHost trustedProxies http3 }
  deletionRequestedAt reconciler { workflowId } } userErrors { field message code }`
const create = async (input: object = {}, token = api.ownerToken) => {
  const { data, errors } = await api.graphql(
    `mutation ($input: IngressCreateInput!) { ingressCreate(input: $input) { ${fields} } }`,
    { input: { projectId, name: `door-${numbers++}`, ...input } },
    token,
  )
  return data?.ingressCreate ?? { errors }
}
const update = async (id: string, input: object, expectedGeneration: number | null = null) =>
  (
    await api.graphql(
      `mutation ($id: ID!, $input: IngressUpdateInput!, $g: Int) { ingressUpdate(id: $id, input: $input, expectedGeneration: $g) { ${fields} } }`,
      { id, input, g: expectedGeneration },
    )
  ).data.ingressUpdate
const remove = async (id: string, expectedGeneration: number | null = null) =>
  (
    await api.graphql(`mutation ($id: ID!, $g: Int) { ingressDelete(id: $id, expectedGeneration: $g) { ${fields} } }`, {
      id,
      g: expectedGeneration,
    })
  ).data.ingressDelete

const fresh = async (input: object = {}) => {
  const { ingress, userErrors } = await create(input)
  expect(userErrors).toEqual([])
  return ingress
}

const application = async (publishedPorts: object[]) =>
  (
    await api.graphql(
      `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { field message code } } }`,
      { input: { projectId, name: `app-${numbers++}`, image: 'nginx', ports: [80], publishedPorts } },
    )
  ).data.applicationCreate

const whole = {
  image: 'caddy:2.11',
  node: 'test-host',
  httpPort: 8080,
  httpsPort: 8443,
  defaultTls: 'ACME',
  acme: { directory: 'https://acme.test/dir', email: 'a@example.test', trustedRoots: null },
  defaultHost: 'shop.example.test',
  trustedProxies: ['10.0.0.0/8'],
  http3: false,
}

describe('ingressCreate', () => {
  it('with everything -> told as it was said, and nudged', async () => {
    const { id, name, ...ingress } = await fresh(whole)
    expect(ingress).toMatchObject({ kind: 'ingress', generation: 1, spec: whole, reconciler: { workflowId: `ingress:${id}` } })
    await expect.poll(() => api.nudges.nudged).toEqual([{ id, kind: 'ingress', project: 'shop', name }])
  })

  it('read again, alone and in the list', async () => {
    const { id, name } = await fresh()
    const { data } = await api.graphql(
      `query ($id: ID!, $p: ID) { ingress(id: $id) { name } ingresses(projectId: $p) { nodes { id } } resource(id: $id) { __typename } }`,
      { id, p: projectId },
    )
    expect(data).toEqual({ ingress: { name }, ingresses: { nodes: [{ id }] }, resource: { __typename: 'Ingress' } })
  })

  it.each([
    [{ name: 'No' }, 'name', 'INVALID'],
    [{ httpPort: 0 }, 'httpPort', 'INVALID'],
    [{ httpPort: 443 }, 'httpsPort', 'INVALID'],
    [{ acme: { directory: 'http://a.test' } }, 'acme.directory', 'INVALID'],
    [{ trustedProxies: ['x'] }, 'trustedProxies.0', 'INVALID'],
    [{ projectId: 'prj_none' }, 'projectId', 'PROJECT_NOT_FOUND'],
    [{ node: 'nowhere' }, 'node', 'NODE_NOT_FOUND'],
  ])('%j -> refused at %s', async (input, field, code) => {
    const { ingress, userErrors } = await create(input)
    expect(ingress).toBeNull()
    expect(userErrors).toMatchObject([{ field: ['input', ...field.split('.')], code }])
    expect(await api.db.resource.count({ where: { kind: 'ingress' } })).toBe(0)
  })

  it('a name that is taken -> refused', async () => {
    const { name } = await fresh()
    expect((await create({ name, node: 'second' })).userErrors).toMatchObject([{ field: ['input', 'name'], code: 'NAME_TAKEN' }])
  })

  it.each([{}, { node: 'test-host' }])('a second one on its node, as %j -> refused, naming the first', async (input) => {
    const { id } = await fresh()
    const { userErrors } = await create({ httpPort: 81, httpsPort: 444, ...input })
    expect(userErrors).toMatchObject([{ field: ['input', 'node'], code: 'NODE_HAS_INGRESS' }])
    expect(userErrors[0].message).toContain(id)
  })

  it('two at one instant -> one of them', async () => {
    const all = await Promise.all([create(), create()])
    expect(all.flatMap((a) => a.userErrors.map((e: { code: string }) => e.code))).toEqual(['NODE_HAS_INGRESS'])
  })

  it('one on another node -> made', async () => {
    await fresh()
    await fresh({ node: 'second' })
  })

  it('a token that may only write -> refused', async () => {
    expect((await create({}, writer)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  })
})

describe('host ports', () => {
  it.each([
    [{ hostPort: 80, hostAddress: '0.0.0.0' }, 'httpPort'],
    [{ hostPort: 80 }, 'httpPort'],
    [{ hostPort: 443, hostAddress: '192.0.2.1' }, 'httpsPort'],
    [{ hostPort: 443, protocol: 'UDP' }, 'httpsPort'],
  ])('an application with %j -> collides, whichever was first', async (port, field) => {
    const { id } = await fresh()
    const published = { port: 80, ...port }
    const late = await application([published])
    expect(late.userErrors).toMatchObject([{ field: ['input', 'publishedPorts', '0', 'hostPort'], code: 'HOST_PORT_TAKEN' }])
    expect(late.userErrors[0].message).toContain(id)
    await api.db.resource.deleteMany({ where: { kind: 'ingress' } })
    expect((await application([published])).userErrors).toEqual([])
    expect((await create()).userErrors).toMatchObject([{ field: ['input', field], code: 'HOST_PORT_TAKEN' }])
  })

  it('UDP of the HTTPS port without HTTP/3, other ports, another node -> free', async () => {
    await fresh({ http3: false })
    expect(
      (
        await application([
          { port: 80, hostPort: 443, protocol: 'UDP' },
          { port: 80, hostPort: 8080 },
        ])
      ).userErrors,
    ).toEqual([])
    await fresh({ node: 'second', httpPort: 8080 })
  })

  it('a demo -> collides', async () => {
    await fresh({ httpPort: 8088 })
    const { data } = await api.graphql(
      `mutation ($p: ID!) { nginxdemoCreate(input: { projectId: $p, name: "demo", hostPort: 8088 }) { userErrors { field code } } }`,
      { p: projectId },
    )
    expect(data.nginxdemoCreate.userErrors).toEqual([{ field: ['input', 'hostPort'], code: 'HOST_PORT_TAKEN' }])
  })
})

describe('ingressUpdate', () => {
  it('a change -> a new generation; null goes back to the default', async () => {
    const { id } = await fresh(whole)
    const { ingress, userErrors } = await update(id, { httpPort: null, defaultTls: 'OFF' }, 1)
    expect(userErrors).toEqual([])
    expect(ingress).toMatchObject({ generation: 2, spec: { ...whole, httpPort: null, defaultTls: 'OFF' } })
    expect((await update(id, {})).ingress.generation).toBe(2)
  })

  it.each([
    [{ name: 'other' }, ['input', 'name'], 'NAME_IMMUTABLE'],
    [{ httpsPort: 80 }, ['input', 'httpsPort'], 'INVALID'],
    [{ node: 'nowhere' }, ['input', 'node'], 'NODE_NOT_FOUND'],
    [{ node: 'second' }, ['input', 'node'], 'NODE_HAS_INGRESS'],
    [{ httpPort: 9000 }, ['input', 'httpPort'], 'HOST_PORT_TAKEN'],
  ])('%j -> refused', async (input, field, code) => {
    const { id } = await fresh()
    await fresh({ node: 'second' })
    expect((await application([{ port: 80, hostPort: 9000 }])).userErrors).toEqual([])
    const { ingress, userErrors } = await update(id, input)
    expect(userErrors).toMatchObject([{ field, code }])
    expect(ingress.generation).toBe(1)
  })

  it('stale, gone, being deleted -> refused', async () => {
    const { id } = await fresh()
    expect((await update(id, { http3: false }, 7)).userErrors).toMatchObject([
      { field: ['expectedGeneration'], code: 'STALE_GENERATION' },
    ])
    expect((await update('ing_none', {})).userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
    await remove(id)
    expect((await update(id, { http3: false })).userErrors).toMatchObject([{ field: ['id'], code: 'BEING_DELETED' }])
  })

  it('its ports, while somebody who has looked at host ports is about to make ingresses due -> no deadlock', async () => {
    const { id } = await fresh()
    const waits = async () =>
      (
        await api.db.$queryRaw<object[]>`
        SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`
      ).length
    const changing = await api.db.$transaction(
      async (tx) => {
        await lockHostPorts(tx)
        const change = { running: update(id, { httpPort: 82 }) }
        await expect.poll(waits).toBe(1)
        await makeIngressesDue(tx, new Date())
        return change
      },
      { timeout: 10_000 },
    )
    const { ingress, userErrors } = await changing.running
    expect(userErrors).toEqual([])
    expect(ingress.spec.httpPort).toBe(82)
  })
})

describe('ingressDelete', () => {
  it('asked for -> being deleted, and nudged', async () => {
    const { id } = await fresh()
    const { ingress, userErrors } = await remove(id)
    expect(userErrors).toEqual([])
    expect(ingress.deletionRequestedAt).not.toBeNull()
    await expect.poll(() => api.nudges.nudged.filter((n) => n.id === id).length).toBe(2)
  })

  it('stale -> refused', async () => {
    const { id } = await fresh()
    expect((await remove(id, 3)).userErrors).toMatchObject([{ field: ['expectedGeneration'], code: 'STALE_GENERATION' }])
  })
})

describe('orphans', () => {
  const orphan = (resourceId: string) =>
    api.db.orphan.create({
      data: { node: api.initialised.node.id, resourceId, kind: 'ingress', containers: ['c'], seenAt: new Date() },
    })
  const take = async (call: string, resourceId: string) => {
    const { data, errors } = await api.graphql(
      `mutation ($o: OrphanSelector!) { answer: ${call} { resource { id ... on Ingress { spec { node httpPort } } } userErrors { field message code } } }`,
      { o: { nodeId: api.initialised.node.id, resourceId } },
    )
    expect(errors).toEqual([])
    return data.answer
  }

  it('adopted -> an ingress of its node, paused', async () => {
    await orphan('ing_adopted')
    const { resource } = await take(
      `orphanAdopt(orphan: $o, input: { projectId: "${projectId}", name: "door", httpPort: 8080 })`,
      'ing_adopted',
    )
    expect(resource).toEqual({ id: 'ing_adopted', spec: { node: 'test-host', httpPort: 8080 } })
    expect(await api.db.resource.findUniqueOrThrow({ where: { id: 'ing_adopted' } })).toMatchObject({ paused: true })
  })

  it('adopted beside another ingress of its node -> refused, and still an orphan', async () => {
    await fresh()
    await orphan('ing_second')
    const { userErrors } = await take(
      `orphanAdopt(orphan: $o, input: { projectId: "${projectId}", name: "two", httpPort: 81, httpsPort: 444 })`,
      'ing_second',
    )
    expect(userErrors).toMatchObject([{ field: ['orphan'], code: 'NODE_HAS_INGRESS' }])
    expect(await api.db.orphan.count({ where: { resourceId: 'ing_second' } })).toBe(1)
  })

  it('removed -> torn down on its node', async () => {
    await orphan('ing_removed')
    expect((await take('orphanRemove(orphan: $o)', 'ing_removed')).resource.spec.node).toBe('test-host')
  })
})

describe('ensureIngress', () => {
  const node = 'test-host'
  const ports = async () => ({ httpPort: 8080, httpsPort: 8443 })

  it('none -> made for the local node with the given ports; again -> the same', async () => {
    const made = await ensureIngress(api.db, node, ports)
    expect(made).toMatchObject({
      kind: 'ingress',
      project: 'platform',
      name: 'ingress',
      httpPort: 8080,
      httpsPort: 8443,
      paused: false,
    })
    expect(await ensureIngress(api.db, node, () => Promise.reject(new Error('asked although there is one')))).toEqual(made)
    expect(await api.db.resource.count({ where: { kind: 'ingress' } })).toBe(1)
  })

  it('one of another name that people made -> that one, as it is', async () => {
    const { id, name } = await fresh({ httpPort: 81 })
    expect(await ensureIngress(api.db, node, ports)).toMatchObject({ id, name, project: 'shop', httpPort: 81, httpsPort: 443 })
  })

  it('its name is something else -> none', async () => {
    await api.graphql(
      `mutation { nginxdemoCreate(input: { projectId: "prj_platform", name: "ingress", hostPort: 9 }) { userErrors { code } } }`,
    )
    expect(await ensureIngress(api.db, node, ports)).toBeNull()
  })
})
