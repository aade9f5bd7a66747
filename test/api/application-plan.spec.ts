import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ability, abilities } from '../../src/api/auth/ability.js'
import { SecretWorld } from './secret-world.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let shop: SecretWorld
const tokens = {} as Record<Ability, string>
const planned: string[] = []

beforeAll(async () => {
  api = await startApi({
    previews: {
      async preview({ name }) {
        planned.push(name)
        return { steps: [], converges: true, notes: [] }
      },
    },
  })
  for (const ability of abilities) {
    const made = await api.graphql(
      `mutation { tokenCreate(input: { name: "${ability}", abilities: [${ability.toUpperCase()}] }) { secret } }`,
    )
    tokens[ability] = made.data.tokenCreate.secret
  }
  shop = await SecretWorld.make(api, 'shop')
  await shop.secretSet('token', 'x')
  await create('holder', { publishedPorts: [{ port: 80, hostPort: 20_000 }] })
  await create('first', {})
  await create('second', { dependsOn: ['first'] })
  const { application } = await create('going', {})
  await api.graphql('mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { code } } }', { id: application.id })
})
afterAll(() => api?.stop())

const errorFields = 'userErrors { field message code }'

async function ask(query: string, variables: object, token?: string) {
  const { data, errors } = await api.graphql(query, variables, token)
  expect(errors).toEqual([])
  return Object.values<any>(data)[0]
}

const create = (name: string, input: object, token?: string, projectId = shop.projectId) =>
  ask(
    `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } ${errorFields} } }`,
    { input: { image: 'nginx', ...input, name, projectId } },
    token,
  )
const planOfCreate = (name: string, input: object, token?: string, projectId = shop.projectId) =>
  ask(
    `query ($input: ApplicationCreateInput) { applicationPlan(input: $input) { plan { converges } ${errorFields} } }`,
    { input: { image: 'nginx', ...input, name, projectId } },
    token,
  )
const update = (id: string, input: object, token?: string) =>
  ask(
    `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { ${errorFields} } }`,
    { id, input },
    token,
  )
const planOfUpdate = (id: string, changes: object, token?: string) =>
  ask(
    `query ($id: ID, $changes: ApplicationUpdateInput) { applicationPlan(id: $id, changes: $changes) { plan { converges } ${errorFields} } }`,
    { id, changes },
    token,
  )
const idOf = async (name: string) => (await api.db.resource.findFirstOrThrow({ where: { name, projectId: shop.projectId } })).id

const world = async () => ({
  resources: await api.db.resource.findMany({ orderBy: { id: 'asc' } }),
  counts: await Promise.all([
    api.db.revision.count(),
    api.db.event.count(),
    api.db.auditEntry.count(),
    api.db.idempotencyKey.count(),
  ]),
  nudged: api.nudges.nudged.length,
})

/** As a change of the argument `changes` tells it. */
const inChanges = (errors: { field: string[] }[]) =>
  errors.map((e) => ({ ...e, field: e.field.map((part, at) => (at === 0 && part === 'input' ? 'changes' : part)) }))

type Case = [what: string, input: object, code: string, ability?: Ability]

/** Whatever decides about a spec beyond its shape. */
const refusedSpecs: Case[] = [
  ['a host port that another application holds', { publishedPorts: [{ port: 80, hostPort: 20_000 }] }, 'HOST_PORT_TAKEN'],
  ['a dependency that does not exist', { dependsOn: ['nobody'] }, 'DEPENDENCY_NOT_FOUND'],
  ['a dependency that is being deleted', { dependsOn: ['going'] }, 'DEPENDENCY_NOT_FOUND'],
  ['a secret that does not exist', { secretEnv: [{ name: 'A', secret: 'none' }] }, 'SECRET_NOT_FOUND'],
  ['a version that does not exist', { files: [{ path: '/a', secret: 'token', version: 7 }] }, 'SECRET_NOT_FOUND'],
  ['a registry credential that does not exist', { registryCredential: 'none' }, 'CREDENTIAL_NOT_FOUND'],
  ['a node that does not exist', { placement: { node: 'nowhere' } }, 'NODE_NOT_FOUND'],
  ['a bind mount without admin', { bindMounts: [{ source: '/etc', path: '/host' }] }, 'ABILITY_MISSING', 'write'],
  ['a device without admin', { devices: [{ source: '/dev/kmsg' }] }, 'ABILITY_MISSING', 'write'],
  ['a field that is wrong', { replicas: 101 }, 'INVALID'],
  ['two things at once', { dependsOn: ['nobody'], secretEnv: [{ name: 'A', secret: 'none' }] }, 'SECRET_NOT_FOUND'],
]

describe('a plan of what the mutation would refuse', () => {
  it.each<Case>([
    ...refusedSpecs,
    ['a name that is taken', { name: 'first' }, 'NAME_TAKEN'],
    ['a name that is none', { name: 'A b' }, 'INVALID'],
    ['a project that is not there', { projectId: 'prj_none' }, 'PROJECT_NOT_FOUND'],
  ])('a new one with %s -> the same userErrors, and nothing written', async (_what, given, code, ability = 'admin') => {
    const { name = 'new', projectId, ...input } = given as { name?: string; projectId?: string }
    const before = await world()
    planned.length = 0
    const { plan, userErrors } = await planOfCreate(name, input, tokens[ability], projectId)
    expect(plan).toBeNull()
    expect(userErrors[0]).toMatchObject({ code })
    expect(await world()).toEqual(before)
    expect(planned).toEqual([])
    expect((await create(name, input, tokens[ability], projectId)).userErrors).toEqual(userErrors)
  })

  it.each<Case>([
    ...refusedSpecs,
    ['a dependency that would wait for it', { dependsOn: ['second'] }, 'DEPENDENCY_CYCLE'],
    ['another name', { name: 'other' }, 'NAME_IMMUTABLE'],
    ['more than a token for deploys may change', { replicas: 2 }, 'ABILITY_MISSING', 'deploy'],
  ])('a change to %s -> the same userErrors, and nothing written', async (_what, input, code, ability = 'admin') => {
    const id = await idOf('first')
    const before = await world()
    planned.length = 0
    const { plan, userErrors } = await planOfUpdate(id, input, tokens[ability])
    expect(plan).toBeNull()
    expect(userErrors[0]).toMatchObject({ code })
    expect(await world()).toEqual(before)
    expect(planned).toEqual([])
    expect(inChanges((await update(id, input, tokens[ability])).userErrors)).toEqual(userErrors)
  })

  it('a change of what is being deleted -> BEING_DELETED; as it is desired -> planned', async () => {
    const id = await idOf('going')
    const { userErrors } = await planOfUpdate(id, { replicas: 2 })
    expect(userErrors).toMatchObject([{ field: ['id'], code: 'BEING_DELETED' }])
    expect((await update(id, { replicas: 2 })).userErrors).toEqual(userErrors)
    expect(await ask('query ($id: ID) { applicationPlan(id: $id) { plan { converges } } }', { id })).toMatchObject({ plan: {} })
  })
})

describe('a plan of what the mutation would take', () => {
  it('-> planned, nothing written, nobody nudged; and what an admin gave may stay', async () => {
    const { application } = await create('bound', { bindMounts: [{ source: '/srv', path: '/srv' }] })
    const before = await world()
    planned.length = 0
    expect(await planOfCreate('new', { dependsOn: ['first'] })).toEqual({ plan: { converges: true }, userErrors: [] })
    const changes = { env: [{ name: 'A', value: '1' }] }
    expect(await planOfUpdate(application.id, changes, tokens.write)).toEqual({ plan: { converges: true }, userErrors: [] })
    expect(await planOfUpdate(application.id, { image: 'caddy' }, tokens.read)).toMatchObject({ userErrors: [] })
    expect(planned).toEqual(['new', 'bound', 'bound'])
    expect(await world()).toEqual(before)
  })
})
