import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ability, abilities } from '../../src/api/auth/ability.js'
import { SecretWorld } from './secret-world.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
const tokens = {} as Record<Ability, string>

beforeAll(async () => {
  api = await startApi()
  for (const ability of abilities) {
    const made = await api.graphql(
      `mutation { tokenCreate(input: { name: "${ability}", abilities: [${ability.toUpperCase()}] }) { secret } }`,
    )
    tokens[ability] = made.data.tokenCreate.secret
  }
  projectId = (await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
    .project.id
})
afterAll(() => api?.stop())
beforeEach(() => void (api.nudges.nudged.length = 0))

let names = 0
const fresh = async (input: object = {}): Promise<string> => {
  const { data } = await api.graphql(
    `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { message } } }`,
    { input: { projectId, name: `a${names++}`, image: 'nginx:1', ...input } },
  )
  expect(data.applicationCreate.userErrors).toEqual([])
  return data.applicationCreate.application.id
}

interface Asked {
  expectedGeneration?: number
  idempotencyKey?: string
  [argument: string]: unknown
}

const types: Record<string, string> = {
  replicas: 'Int!',
  toRelease: 'Int!',
  name: 'String!',
  projectId: 'ID',
  expectedGeneration: 'Int',
  idempotencyKey: 'String',
}

/** Calls a mutation that takes an id, as a token with the ability that it needs. */
const act = async (mutation: string, id: string, asked: Asked = {}, token = tokens.deploy) => {
  const declared = ['id', ...Object.keys(asked)]
  const { data, errors } = await api.graphql(
    `mutation (${declared.map((a) => `$${a}: ${types[a] ?? 'ID!'}`).join(', ')}) {
      ${mutation}(${declared.map((a) => `${a}: $${a}`).join(', ')}) {
        application { id name generation spec { replicas suspended restartNonce } } ${mutation === 'applicationClone' ? 'leftOut' : ''} userErrors { field message code }
      }
    }`,
    { id, ...asked },
    token,
  )
  expect(errors).toEqual([])
  return data[mutation]
}
const update = (id: string, input: object) =>
  api.graphql(
    `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { userErrors { message } } }`,
    { id, input },
  )
const rowOf = (id: string) => api.db.resource.findUniqueOrThrow({ where: { id } })

/** What a pass writes when it makes a release. */
const release = (resourceId: string, number: number, generation: number, more: object = {}) =>
  api.db.release.create({
    data: {
      resourceId,
      number,
      generation,
      hash: `h${number}`,
      templateHash: `t${number}`,
      template: {},
      image: 'nginx:1',
      resolvedImage: `nginx@sha256:${String(number).repeat(64)}`,
      resolvedFrom: 'registry',
      createdAt: new Date(),
      ...more,
    },
  })

const plain: [mutation: string, asked: Asked, after: object, changesTwice: boolean][] = [
  ['applicationRestart', {}, { restartNonce: 2 }, true],
  ['applicationRedeploy', {}, { restartNonce: 2 }, true],
  ['applicationScale', { replicas: 7 }, { replicas: 7 }, false],
  ['applicationSuspend', {}, { suspended: true }, false],
]

describe.each(plain)('%s', (mutation, asked, after, changesTwice) => {
  const before = { image: 'nginx:1', env: [{ name: 'A', value: '1' }] }

  it('an application -> a new generation of exactly this, with revision, event, audit and nudge', async () => {
    const id = await fresh(before)
    await expect.poll(() => api.nudges.nudged.length).toBe(1)
    const { application, userErrors } = await act(mutation, id, asked)
    expect(userErrors).toEqual([])
    expect(application).toMatchObject({ id, generation: 2, spec: after })
    expect((await rowOf(id)).spec).toEqual({ ...before, ...after })
    expect(await api.db.revision.findFirst({ where: { resourceId: id, generation: 2 } })).toMatchObject({
      spec: { ...before, ...after },
    })
    expect(await api.db.auditEntry.findFirst({ where: { resourceId: id }, orderBy: { id: 'desc' } })).toMatchObject({
      operation: mutation,
      ability: 'deploy',
      outcome: 'ok',
      before,
      after: { ...before, ...after },
      workflowId: `application:${id}`,
    })
    await expect.poll(() => api.nudges.nudged.length).toBe(2)
  })

  it(`twice -> ${changesTwice ? 'happens twice' : 'the second changes nothing'}`, async () => {
    const id = await fresh(before)
    await act(mutation, id, asked)
    expect((await act(mutation, id, asked)).application.generation).toBe(changesTwice ? 3 : 2)
  })

  it('stale expectedGeneration -> refused, nothing changed', async () => {
    const id = await fresh(before)
    await update(id, { drainSeconds: 1 })
    const { application, userErrors } = await act(mutation, id, { ...asked, expectedGeneration: 1 })
    expect(userErrors).toMatchObject([{ field: ['expectedGeneration'], code: 'STALE_GENERATION' }])
    expect(application.generation).toBe(2)
    expect((await act(mutation, id, { ...asked, expectedGeneration: 2 })).userErrors).toEqual([])
  })

  it('unknown, or being deleted -> refused', async () => {
    expect((await act(mutation, 'app_none', asked)).userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
    const id = await fresh()
    await api.graphql(`mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { code } } }`, { id })
    expect((await act(mutation, id, asked)).userErrors).toMatchObject([{ field: ['id'], code: 'BEING_DELETED' }])
  })
})

describe.each(['applicationRestart', 'applicationRedeploy'])('%s with an idempotency key', (mutation) => {
  it('ten at once, and once more later -> one restart', async () => {
    const id = await fresh()
    const asked = { idempotencyKey: `${mutation}-1`, expectedGeneration: 1 }
    const answers = await Promise.all(Array.from({ length: 10 }, () => act(mutation, id, asked)))
    answers.push(await act(mutation, id, asked))
    expect(answers.flatMap((a) => a.userErrors)).toEqual([])
    expect((await rowOf(id)).generation).toBe(2)
    const audit = await api.db.auditEntry.findMany({ where: { resourceId: id, operation: mutation } })
    expect(audit.map((e) => e.outcome).sort()).toEqual(['ok', ...Array(10).fill('repeated')])
  })

  it('key of another application, or of another mutation -> refused', async () => {
    const [a, b] = [await fresh(), await fresh()]
    const key = { idempotencyKey: `${mutation}-2` }
    await act(mutation, a, key)
    const other = mutation === 'applicationRestart' ? 'applicationRedeploy' : 'applicationRestart'
    for (const answer of [await act(mutation, b, key), await act(other, a, key)])
      expect(answer.userErrors).toMatchObject([{ field: ['idempotencyKey'], code: 'IDEMPOTENCY_KEY_REUSED' }])
    expect((await rowOf(b)).generation).toBe(1)
  })

  it('refused -> its key stays free', async () => {
    const id = await fresh()
    const key = `${mutation}-3`
    expect((await act(mutation, id, { idempotencyKey: key, expectedGeneration: 9 })).userErrors).toMatchObject([
      { code: 'STALE_GENERATION' },
    ])
    expect((await act(mutation, id, { idempotencyKey: key })).userErrors).toEqual([])
  })

  it('malformed key -> refused', async () => {
    expect((await act(mutation, await fresh(), { idempotencyKey: '' })).userErrors).toMatchObject([
      { field: ['idempotencyKey'], code: 'INVALID' },
    ])
  })
})

describe('applicationScale', () => {
  it.each([-1, 101])('%d replicas -> refused with the argument', async (replicas) => {
    const { userErrors } = await act('applicationScale', await fresh(), { replicas })
    expect(userErrors).toEqual([{ field: ['replicas'], message: 'must be between 0 and 100', code: 'INVALID' }])
  })

  it('two replicas of one host port -> refused', async () => {
    const id = await fresh({ publishedPorts: [{ port: 80, hostPort: 9_001 }] })
    const { userErrors } = await act('applicationScale', id, { replicas: 2 })
    expect(userErrors).toMatchObject([{ field: ['replicas'], message: expect.stringContaining('0 or 1'), code: 'INVALID' }])
  })
})

describe('applicationResume', () => {
  it('suspended -> runs again, and nothing of it stays in the spec', async () => {
    const id = await fresh({ replicas: 3 })
    await act('applicationSuspend', id)
    expect((await act('applicationResume', id)).application).toMatchObject({
      generation: 3,
      spec: { suspended: null, replicas: 3 },
    })
    expect((await rowOf(id)).spec).toEqual({ image: 'nginx:1', replicas: 3 })
    expect((await act('applicationResume', id)).application.generation).toBe(3)
  })
})

describe('applicationRollback', () => {
  it('to an old release -> its settings as people had said them, the image pinned, everything else as it is', async () => {
    await new SecretWorld(api, projectId).secretSet('token', 'x')
    const id = await fresh({ env: [{ name: 'A', value: '1' }], secretEnv: [{ name: 'T', secret: 'token' }], replicas: 1, drainSeconds: 1 })
    await release(id, 1, 1)
    await act('applicationRestart', id)
    await update(id, {
      image: 'nginx:2',
      env: [{ name: 'B', value: '2' }],
      ports: [80],
      replicas: 4,
      drainSeconds: 9,
      strategy: 'RECREATE',
    })
    await release(id, 2, 3)
    const { application, userErrors } = await act('applicationRollback', id, { toRelease: 1 })
    expect(userErrors).toEqual([])
    expect(application.generation).toBe(4)
    expect((await rowOf(id)).spec).toEqual({
      image: `nginx@sha256:${'1'.repeat(64)}`,
      env: [{ name: 'A', value: '1' }],
      secretEnv: [{ name: 'T', secret: 'token' }], // no version: the newest one
      restartNonce: 2,
      replicas: 4,
      drainSeconds: 9,
      strategy: 'recreate',
    })
    expect(await api.db.auditEntry.findFirst({ where: { resourceId: id }, orderBy: { id: 'desc' } })).toMatchObject({
      operation: 'applicationRollback',
      before: { image: 'nginx:2' },
      after: { replicas: 4, env: [{ name: 'A' }] },
    })
  })

  it('image known by id only -> its reference as it was asked for', async () => {
    const id = await fresh()
    await release(id, 1, 1, { resolvedImage: `sha256:${'a'.repeat(64)}`, resolvedFrom: 'image-id' })
    await update(id, { image: 'nginx:2' })
    await act('applicationRollback', id, { toRelease: 1 })
    expect((await rowOf(id)).spec).toEqual({ image: 'nginx:1' })
  })

  it('release that it does not have, also one of another application -> RELEASE_NOT_FOUND, nothing changed', async () => {
    const [id, other] = [await fresh(), await fresh()]
    await release(other, 1, 1)
    for (const toRelease of [1, 0, -1]) {
      const { userErrors } = await act('applicationRollback', id, { toRelease })
      expect(userErrors).toMatchObject([{ field: ['toRelease'], code: 'RELEASE_NOT_FOUND' }])
    }
    expect((await rowOf(id)).generation).toBe(1)
  })

  it('host port that somebody took since -> refused with who', async () => {
    const id = await fresh({ publishedPorts: [{ port: 80, hostPort: 9_002 }] })
    await release(id, 1, 1)
    await update(id, { publishedPorts: null })
    await fresh({ name: 'taker', publishedPorts: [{ port: 80, hostPort: 9_002 }] })
    const { userErrors } = await act('applicationRollback', id, { toRelease: 1 })
    expect(userErrors).toMatchObject([
      { field: ['toRelease'], code: 'HOST_PORT_TAKEN', message: expect.stringMatching(/^publishedPorts\.0\.hostPort: .*taker/) },
    ])
  })

  it('bind mounts that were taken away -> come back by an admin only', async () => {
    const id = await fresh({ bindMounts: [{ source: '/srv', path: '/srv' }] })
    await release(id, 1, 1)
    await update(id, { bindMounts: null, image: 'nginx:2' })
    const { userErrors } = await act('applicationRollback', id, { toRelease: 1 }, tokens.write)
    expect(userErrors).toMatchObject([
      { field: ['toRelease'], code: 'ABILITY_MISSING', message: expect.stringMatching(/^bindMounts: /) },
    ])
    expect((await act('applicationRollback', id, { toRelease: 1 }, tokens.admin)).userErrors).toEqual([])
  })

  it('idempotency key again after another change -> not rolled back again', async () => {
    const id = await fresh()
    await release(id, 1, 1)
    await update(id, { image: 'nginx:2' })
    await act('applicationRollback', id, { toRelease: 1, idempotencyKey: 'back' })
    await update(id, { image: 'nginx:3' })
    expect((await act('applicationRollback', id, { toRelease: 1, idempotencyKey: 'back' })).userErrors).toEqual([])
    expect((await rowOf(id)).spec).toEqual({ image: 'nginx:3' })
    expect((await act('applicationRollback', id, { toRelease: 2, idempotencyKey: 'back' })).userErrors).toMatchObject([
      { code: 'IDEMPOTENCY_KEY_REUSED' },
    ])
  })
})

describe('applicationClone', () => {
  const clone = (id: string, asked: Asked, token = tokens.write) => act('applicationClone', id, asked, token)

  it('same settings under another name; host ports and restarts are left out, and told', async () => {
    const id = await fresh({
      publishedPorts: [{ port: 80, hostPort: 9_003 }],
      volumes: [{ name: 'data', path: '/data' }],
      replicas: 1,
    })
    await act('applicationRestart', id)
    const { application, leftOut, userErrors } = await clone(id, { name: 'copy' })
    expect(userErrors).toEqual([])
    expect(leftOut).toEqual(['host port 127.0.0.1:9003/tcp'])
    expect(application).toMatchObject({ name: 'copy', generation: 1 })
    expect((await rowOf(application.id)).spec).toEqual({
      image: 'nginx:1',
      volumes: [{ name: 'data', path: '/data' }],
      replicas: 1,
    })
    expect(await api.db.auditEntry.findFirst({ where: { resourceId: application.id } })).toMatchObject({
      operation: 'applicationClone',
      before: null,
      after: { image: 'nginx:1' },
    })
    await expect.poll(() => api.nudges.nudged.map((n) => n.id)).toContain(application.id)
  })

  it('into another project -> there; what it depends on has to be there too', async () => {
    const { data } = await api.graphql(`mutation { projectCreate(input: { name: "stage" }) { project { id } } }`)
    const stage = data.projectCreate.project.id
    const base = await fresh({ name: 'base' })
    const web = await fresh({ name: 'needs-base', dependsOn: ['base'] })
    expect((await clone(web, { name: 'needs-base', projectId: stage })).userErrors).toMatchObject([
      {
        field: ['id'],
        code: 'DEPENDENCY_NOT_FOUND',
        message: expect.stringContaining('dependsOn.0: there is no application «base»'),
      },
    ])
    expect((await clone(base, { name: 'base', projectId: stage })).userErrors).toEqual([])
    const { application } = await clone(web, { name: 'needs-base', projectId: stage })
    expect((await rowOf(application.id)).projectId).toBe(stage)
  })

  it.each<[string, Asked, string[], string]>([
    ['name taken', { name: 'copy' }, ['name'], 'NAME_TAKEN'],
    ['bad name', { name: 'Copy' }, ['name'], 'INVALID'],
    ['unknown project', { name: 'fine', projectId: 'prj_none' }, ['projectId'], 'PROJECT_NOT_FOUND'],
  ])('%s -> refused with the argument', async (_what, asked, field, code) => {
    expect(await clone(await fresh(), asked)).toMatchObject({ application: null, leftOut: [], userErrors: [{ field, code }] })
  })

  it('unknown source -> NOT_FOUND; with bind mounts -> by an admin only', async () => {
    expect((await clone('app_none', { name: 'x' })).userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
    const id = await fresh({ bindMounts: [{ source: '/srv', path: '/srv' }] })
    expect((await clone(id, { name: 'sly' })).userErrors).toMatchObject([{ field: ['id'], code: 'ABILITY_MISSING' }])
    expect((await clone(id, { name: 'sly' }, tokens.admin)).userErrors).toEqual([])
  })

  it('same idempotency key -> the same clone', async () => {
    const id = await fresh()
    const first = await clone(id, { name: 'once', idempotencyKey: 'clone' })
    expect((await clone(id, { name: 'once', idempotencyKey: 'clone' })).application).toEqual(first.application)
  })
})
