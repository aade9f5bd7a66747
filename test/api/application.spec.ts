import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string

beforeAll(async () => {
  api = await startApi()
  const made = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id name } userErrors { message } } }`)
  projectId = made.data.projectCreate.project.id
})
afterAll(() => api?.stop())
beforeEach(() => {
  api.nudges.nudged.length = 0
  api.nudges.failing = false
})

const create = (input: object, idempotencyKey?: string) =>
  api.graphql(
    `mutation ($input: ApplicationCreateInput!, $key: String) {
      applicationCreate(input: $input, idempotencyKey: $key) {
        application { id name generation observedGeneration spec { image replicas env { name value } readiness { path port } } }
        userErrors { field message code }
      }
    }`,
    { input: { projectId, ...input }, key: idempotencyKey },
  )

describe('applicationCreate', () => {
  it('valid input -> a row of generation 1, and one nudge with all that a workflow needs', async () => {
    const { data, errors } = await create({ name: 'web', image: 'nginx', replicas: 2, env: [{ name: 'A', value: "$x 'y' \n" }] })
    expect(errors).toEqual([])
    expect(data.applicationCreate.userErrors).toEqual([])
    const { application } = data.applicationCreate
    expect(application).toMatchObject({ name: 'web', generation: 1, observedGeneration: 0 })
    expect(application.spec).toEqual({ image: 'nginx', replicas: 2, env: [{ name: 'A', value: "$x 'y' \n" }], readiness: null })
    expect(application.id).toMatch(/^app_[a-z0-9]{16}$/)
    await expect.poll(() => api.nudges.nudged).toEqual([{ id: application.id, kind: 'application', project: 'shop', name: 'web' }])
  })

  it('Temporal away -> the mutation succeeds all the same', async () => {
    api.nudges.failing = true
    const { data } = await create({ name: 'calm', image: 'nginx' })
    expect(data.applicationCreate.userErrors).toEqual([])
    expect(data.applicationCreate.application.name).toBe('calm')
  })
})
