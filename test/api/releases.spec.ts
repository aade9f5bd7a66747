import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let reader: string
let id: string
const at = new Date('2030-01-01T00:00:00Z')

const token = async (name: string, ability: string): Promise<string> =>
  (await api.graphql(`mutation { tokenCreate(input: { name: "${name}", abilities: [${ability}] }) { secret } }`)).data.tokenCreate
    .secret

beforeAll(async () => {
  api = await startApi()
  reader = await token('reader', 'READ')
  const writer = await token('ci', 'WRITE')
  const { data } = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)
  const made = await api.graphql(
    `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "web", image: "nginx:1" }) { application { id } } }`,
    { p: data.projectCreate.project.id },
  )
  id = made.data.applicationCreate.application.id
  await api.graphql(
    `mutation ($id: ID!) { applicationUpdate(id: $id, input: { image: "nginx:2" }) { userErrors { code } } }`,
    { id },
    writer,
  )
  const release = { resourceId: id, templateHash: 't', resolvedFrom: 'registry', createdAt: at }
  await api.db.artifact.create({ data: { sha256: 'log', content: Buffer.from('größer\nexit 1\n') } })
  await api.db.release.createMany({
    data: [
      {
        ...release,
        number: 1,
        generation: 1,
        hash: '1',
        image: 'nginx:1',
        resolvedImage: 'nginx@sha256:1',
        preDeployedAt: at,
        servingAt: at,
        template: {
          image: 'nginx:1',
          env: [{ name: 'A', value: '1' }],
          secretEnv: [{ name: 'T', secret: 'token', version: 1 }],
          preDeploy: { command: ['m'] },
        },
      },
      {
        ...release,
        number: 2,
        generation: 2,
        hash: '2',
        image: 'nginx:2',
        resolvedImage: 'nginx@sha256:2',
        verdictReason: 'PreDeployFailed',
        verdictMessage: 'exit 1',
        verdictLog: 'log',
        template: {
          image: 'nginx:2',
          env: [{ name: 'A', value: '2' }],
          secretEnv: [{ name: 'T', secret: 'token', version: 2 }],
          files: [{ path: '/a', content: 'password' }],
          preDeploy: { command: ['m'] },
        },
      },
      {
        ...release,
        number: 3,
        generation: 99,
        hash: '3',
        image: 'nginx:2',
        resolvedImage: 'nginx@sha256:2',
        verdictLog: 'gone',
        template: { image: 'nginx:2' },
      },
    ],
  })
})
afterAll(() => api?.stop())

describe('application.releases', () => {
  it('who asked, what was frozen, when it was prepared, what it said last', async () => {
    const { data, errors } = await api.graphql(
      `query ($id: ID!) { application(id: $id) { releases { nodes {
        number actor actorName preDeployedAt verdict { reason } verdictLog { lines }
        template { image env { name value } secretEnv { name secret version } files { path content } preDeploy { command } user }
      } } } }`,
      { id },
      reader,
    )
    expect(errors).toEqual([])
    expect(data.application.releases.nodes).toEqual([
      {
        number: 3,
        actor: null, // nobody knows the generation any more
        actorName: null,
        preDeployedAt: null,
        verdict: null,
        verdictLog: null, // the artifact is gone
        template: { image: 'nginx:2', env: null, secretEnv: null, files: null, preDeploy: null, user: null },
      },
      {
        number: 2,
        actor: expect.stringMatching(/^tok_/),
        actorName: 'ci',
        preDeployedAt: null,
        verdict: { reason: 'PreDeployFailed' },
        verdictLog: { lines: ['größer', 'exit 1'] },
        template: {
          image: 'nginx:2',
          env: [{ name: 'A', value: '2' }],
          secretEnv: [{ name: 'T', secret: 'token', version: 2 }],
          files: [{ path: '/a', content: null }],
          preDeploy: { command: ['m'] },
          user: null,
        },
      },
      expect.objectContaining({
        number: 1,
        actor: 'tok_owner',
        actorName: 'owner',
        preDeployedAt: at.toISOString(),
        verdictLog: null,
      }),
    ])
  })
})

describe('applicationReleaseDiff', () => {
  const diff = async (variables: { id: string; from: number; to: number }, as?: string) => {
    const { data, errors } = await api.graphql(
      `query ($id: ID!, $from: Int!, $to: Int!) { applicationReleaseDiff(id: $id, from: $from, to: $to) { differences { field before after } userErrors { field message code } } }`,
      variables,
      as,
    )
    expect(errors).toEqual([])
    return data.applicationReleaseDiff
  }

  it('two releases -> image first, env by value, secrets by version, contents of files for who may see them', async () => {
    const expected = (content: unknown) => ({
      differences: [
        { field: ['image'], before: 'nginx:1', after: 'nginx:2' },
        { field: ['resolvedImage'], before: 'nginx@sha256:1', after: 'nginx@sha256:2' },
        { field: ['env', 'A'], before: '1', after: '2' },
        { field: ['secretEnv', 'T', 'version'], before: '1', after: '2' },
        { field: ['files', '/a', 'content'], before: null, after: content },
      ],
      userErrors: [],
    })
    expect(await diff({ id, from: 1, to: 2 })).toEqual(expected('password'))
    expect(await diff({ id, from: 1, to: 2 }, reader)).toEqual(expected(expect.stringContaining('8 bytes')))
    expect((await diff({ id, from: 2, to: 2 })).differences).toEqual([])
  })

  it('release or application that is not there -> told with the argument', async () => {
    expect(await diff({ id, from: 7, to: 1 })).toMatchObject({
      differences: null,
      userErrors: [{ field: ['from'], code: 'RELEASE_NOT_FOUND' }],
    })
    expect((await diff({ id: 'app_none', from: 1, to: 1 })).userErrors).toMatchObject([{ field: ['id'], code: 'NOT_FOUND' }])
  })
})
