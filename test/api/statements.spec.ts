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
  await api.db.revision.createMany({ data: of((resourceId) => ({ resourceId, generation: 1, spec: {}, actor: 'tok_owner' })) })
  await api.db.artifact.createMany({ data: of((id) => ({ sha256: id, content: Buffer.from(`last words of ${id}`) })) })
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
        template: { image: 'i', files: [{ path: '/a', content: 'x' }] },
        verdictLog: resourceId,
        image: 'i',
        resolvedImage: 'r',
        resolvedFrom: 'registry',
        servingAt: at,
        createdAt: at,
      })),
    ).flat(),
  })
  await api.db.domain.createMany({
    data: of((resourceId, n) => ({
      host: `h${String(n).padStart(3, '0')}.test`,
      path: '/',
      resourceId,
      changedAt: at,
      certificateSeenAt: at,
    })),
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
    // The change listener asks that of its connection, whenever its time has come.
    return spy.mock.calls.filter(([query]) => (query as unknown) !== 'SELECT 1').length
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
      domains { host url tls routed { status } certificate { issuer } servedBy { release endpoints { container } } resource { name } }
      releases(first: 2) {
        nodes { number actor actorName verdict { reason } verdictLog { lines } template { image env { name value } files { path content } } }
        pageInfo { hasNextPage }
      }
      transitions(first: 5) { nodes { type } }
      events(first: 5) { nodes { reason } }
      lastPass { number } reconciler { workflowId }
    } }
    pageInfo { hasNextPage }
  }
}`

describe('a page of applications with everything on them', () => {
  it('1, 10 or 100 of them -> the same number of statements', async () => {
    await api.graphql(everything, { first: 1 }) // the token's last use is noted once a minute
    const counts: number[] = []
    for (const first of [1, 10, many])
      counts.push(
        await statements(async () => {
          const { data, errors } = await api.graphql(everything, { first })
          expect(errors).toEqual([])
          expect(data.applications.edges).toHaveLength(first)
          const { node } = data.applications.edges.at(-1)
          const release = {
            actor: 'tok_owner',
            actorName: 'owner',
            verdictLog: { lines: [`last words of ${node.id}`] },
            template: { image: 'i', files: [{ content: 'x' }] },
          }
          expect(node).toMatchObject({
            conditions: { length: 3 },
            endpoints: { length: 1 },
            releases: {
              nodes: [
                { number: 3, ...release },
                { number: 2, ...release },
              ],
              pageInfo: { hasNextPage: true },
            },
            servingRelease: { number: 3 },
            domains: [{ servedBy: { release: 3, endpoints: { length: 1 } } }],
            replicas: { desired: 1, ready: 1 },
            transitions: { nodes: [{ type: 'Ready' }] },
            events: { nodes: [{ reason: 'R' }] },
          })
        }),
      )
    expect(counts[0]).toBeGreaterThan(3) // the spy sees them
    expect(new Set(counts).size).toBe(1)
    expect(counts[0]).toBeLessThanOrEqual(16)
  })

  it('1, 10 or 100 domains with everything on them -> the same number of statements', async () => {
    const query = `query ($first: Int!) { domains(first: $first) { nodes { host url tls routed { status } certificate { seenAt }
      servedBy { release endpoints { container } } resource { name project { name } } } pageInfo { hasNextPage } } }`
    const counts: number[] = []
    for (const first of [1, 10, many])
      counts.push(
        await statements(async () => {
          const { data, errors } = await api.graphql(query, { first })
          expect(errors).toEqual([])
          expect(data.domains.nodes).toHaveLength(first)
        }),
      )
    expect(new Set(counts).size).toBe(1)
    expect(counts[0]).toBeLessThanOrEqual(7)
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
