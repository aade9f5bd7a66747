import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
const many = 100

beforeAll(async () => {
  api = await startApi()
  projectId = (await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
    .project.id
  const at = new Date()
  const ids = Array.from({ length: many }, (_, n) => `app_${String(n).padStart(3, '0')}`)
  const of = <T>(make: (resourceId: string, n: number) => T) => ids.map(make)
  await api.db.resource.createMany({
    data: of((id, n) => ({ id, kind: 'application', projectId, name: `app-${n}`, spec: { image: 'nginx' } })),
  })
  await api.db.condition.createMany({
    data: of((resourceId) =>
      ['Ready', 'Available', 'Draining'].map((type) => ({
        resourceId,
        type,
        status: 'True',
        reason: 'R',
        message: 'm',
        observedGeneration: 1,
        lastTransitionAt: at,
      })),
    ).flat(),
  })
  await api.db.conditionTransition.createMany({
    data: of((resourceId) => ({
      resourceId,
      type: 'Ready',
      status: 'True',
      reason: 'R',
      message: 'm',
      observedGeneration: 1,
      at,
    })),
  })
  await api.db.event.createMany({
    data: of((resourceId) => ({ resourceId, projectId, severity: 'Normal', reason: 'R', message: 'm', generation: 1, at })),
  })
  await api.db.release.createMany({
    data: of((resourceId) =>
      [1, 2, 3].map((number) => ({
        resourceId,
        number,
        generation: 1,
        hash: 'h',
        templateHash: 't',
        template: {},
        image: 'i',
        resolvedImage: 'r',
        resolvedFrom: 'registry',
        servingAt: at,
        createdAt: at,
      })),
    ).flat(),
  })
  await api.db.endpoint.createMany({
    data: of((resourceId, n) => ({
      resourceId,
      release: 3,
      replica: 0,
      node: 'n',
      address: `10.0.${n}.1`,
      state: 'ready',
      stateAt: at,
      createdAt: at,
    })),
  })
})
afterAll(() => api?.stop())

async function statements(work: () => Promise<unknown>): Promise<number> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    return spy.mock.calls.length
  } finally {
    spy.mockRestore()
  }
}

const everything = `query ($first: Int!) {
  applications(first: $first) {
    edges { cursor node {
      id name spec { image } project { name } replicas { desired ready } servingRelease { number }
      conditions { type status reason message }
      endpoints { address state }
      releases(first: 2) { nodes { number verdict { reason } } pageInfo { hasNextPage } }
      transitions(first: 5) { nodes { type } }
      events(first: 5) { nodes { reason } }
      lastPass { number } reconciler { workflowId }
    } }
    pageInfo { hasNextPage }
  }
}`

describe('a page of applications with everything on them', () => {
  it('1 or 100 of them -> the same number of statements', async () => {
    await api.graphql(everything, { first: 1 }) // the token's last use is noted once a minute
    const one = await statements(async () => {
      const { data, errors } = await api.graphql(everything, { first: 1 })
      expect(errors).toEqual([])
      expect(data.applications.edges).toHaveLength(1)
    })
    const hundred = await statements(async () => {
      const { data, errors } = await api.graphql(everything, { first: many })
      expect(errors).toEqual([])
      expect(data.applications.edges).toHaveLength(many)
      expect(data.applications.edges.at(-1).node).toMatchObject({
        conditions: { length: 3 },
        endpoints: { length: 1 },
        releases: { nodes: [{ number: 3 }, { number: 2 }], pageInfo: { hasNextPage: true } },
        servingRelease: { number: 3 },
        replicas: { desired: 1, ready: 1 },
        transitions: { nodes: [{ type: 'Ready' }] },
        events: { nodes: [{ reason: 'R' }] },
      })
    })
    expect(one).toBeGreaterThan(3) // the spy sees them
    expect(hundred).toBe(one)
    expect(hundred).toBeLessThanOrEqual(10)
  })

  it('only names -> the token and the page', async () => {
    expect(await statements(() => api.graphql(`{ applications(first: ${many}) { nodes { name } } }`))).toBe(2)
  })

  it('the same field many times by aliases -> still gathered', async () => {
    const aliases = Array.from(
      { length: 20 },
      (_, n) => `a${n}: application(id: "app_${String(n).padStart(3, '0')}") { conditions { type } }`,
    ).join(' ')
    expect(await statements(() => api.graphql(`{ ${aliases} }`))).toBe(3)
  })
})
