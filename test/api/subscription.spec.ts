import { createClient, type Client } from 'graphql-ws'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ChangeFeed } from '../../src/api/change/change-feed.service.js'
import { SubscriptionGateway } from '../../src/api/graphql/subscription.gateway.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
const clients: Client[] = []

beforeAll(async () => {
  api = await startApi()
  projectId = (await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)).data.projectCreate
    .project.id
})
afterAll(async () => {
  await api?.stop()
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose()
})

interface Followed {
  came: any[]
  errors: any[]
  closed: { code: number; reason: string } | null
  /** How many subscriptions the API had opened before this one. */
  openedBefore: number
  stop(): void
}

const opened = () => api.app.get(SubscriptionGateway).openedSubscriptions

function follow(query: string, variables: Record<string, unknown> = {}, token: string | null = api.ownerToken): Followed {
  const followed: Followed = { came: [], errors: [], closed: null, openedBefore: opened(), stop: () => {} }
  const client = createClient({
    url: `${api.url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: token === null ? {} : { authorization: `Bearer ${token}` },
    on: { closed: (event) => (followed.closed = event as { code: number; reason: string }) },
  })
  clients.push(client)
  followed.stop = client.subscribe(
    { query, variables },
    {
      next: (result) => void (result.errors ? followed.errors.push(...result.errors) : followed.came.push(result.data)),
      error: (error) => void followed.errors.push(...(Array.isArray(error) ? error : [error])),
      complete: () => {},
    },
  )
  return followed
}

let names = 0
async function application(project = projectId): Promise<string> {
  const { data } = await api.graphql(
    `mutation ($p: ID!, $n: String!) { applicationCreate(input: { projectId: $p, name: $n, image: "nginx" }) { application { id } } }`,
    { p: project, n: `app${names++}` },
  )
  return data.applicationCreate.application.id
}
const scale = (id: string, replicas: number) =>
  api.graphql(`mutation ($id: ID!, $r: Int) { applicationUpdate(id: $id, input: { replicas: $r }) { userErrors { code } } }`, {
    id,
    r: replicas,
  })

/** What the test changes must come after the subscription has begun to follow, and PostgreSQL has acknowledged the LISTEN. */
const listening = ({ openedBefore }: Followed) =>
  expect.poll(() => opened() > openedBefore && api.app.get(ChangeFeed).listening).toBe(true)

const changed = `subscription ($ids: [ID!], $p: ID) { resourceChanged(ids: $ids, projectId: $p) { id resource { generation ... on Application { spec { replicas } } } } }`

describe('resourceChanged', () => {
  it('by ids -> the present state first, then each change as it is by then, and null when it is gone', async () => {
    const [id, other] = [await application(), await application()]
    const followed = follow(changed, { ids: [id] })
    // The creation's own message may come late, beside the present state: once too often rather than never.
    await expect
      .poll(() => followed.came.at(-1))
      .toEqual({ resourceChanged: { id, resource: { generation: 1, spec: { replicas: null } } } })
    await scale(other, 2)
    await scale(id, 3)
    await expect
      .poll(() => followed.came.at(-1))
      .toEqual({ resourceChanged: { id, resource: { generation: 2, spec: { replicas: 3 } } } })
    await api.db.$transaction([
      api.db.tombstone.create({ data: { resourceId: id, kind: 'application', projectId, name: 'x', deletedAt: new Date() } }),
      api.db.resource.delete({ where: { id } }),
      api.db.$executeRaw`SELECT pg_notify('evenkeel_changes', ${id})`,
    ])
    await expect.poll(() => followed.came.at(-1)).toEqual({ resourceChanged: { id, resource: null } })
    expect(followed.came.every((c) => c.resourceChanged.id === id)).toBe(true)
    expect(followed.errors).toEqual([])
  })

  it('by project -> new resources and deleted ones, and none of another project', async () => {
    const elsewhere = (await api.graphql(`mutation { projectCreate(input: { name: "elsewhere" }) { project { id } } }`)).data
      .projectCreate.project.id
    const followed = follow(changed, { p: projectId })
    await listening(followed)
    await application(elsewhere)
    const id = await application()
    await expect.poll(() => followed.came.map((c) => c.resourceChanged.id)).toEqual([id])
    await api.db.$transaction([
      api.db.tombstone.create({ data: { resourceId: id, kind: 'application', projectId, name: 'x', deletedAt: new Date() } }),
      api.db.resource.delete({ where: { id } }),
      api.db.$executeRaw`SELECT pg_notify('evenkeel_changes', ${id})`,
    ])
    await expect.poll(() => followed.came.at(-1)?.resourceChanged).toEqual({ id, resource: null })
  })

  it('many changes at once -> fewer messages, and the last one tells the last state', async () => {
    const id = await application()
    const followed = follow(changed, { ids: [id] })
    await expect.poll(() => followed.came.length).toBeGreaterThan(0)
    for (let n = 2; n <= 20; n++) await scale(id, n)
    await expect.poll(() => followed.came.at(-1)?.resourceChanged.resource.generation).toBe(20)
  })

  it('the listening connection is cut -> it comes back, and what changed meanwhile is told', async () => {
    const id = await application()
    const followed = follow(changed, { p: projectId })
    await listening(followed)
    const server = new pg.Client({ connectionString: api.databaseUrl })
    await server.connect()
    const cut = await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    )
    expect(cut.rowCount).toBe(1)
    await scale(id, 7)
    await server.end()
    // What else changed a moment before is told again as well: once too often rather than never.
    const told = () => followed.came.filter((c) => c.resourceChanged.id === id).at(-1)?.resourceChanged.resource.spec.replicas
    await expect.poll(told).toBe(7)
    await scale(id, 8)
    await expect.poll(told).toBe(8)
  })

  it('what hangs on the resource -> read anew for each message', async () => {
    const id = await application()
    const followed = follow(`subscription ($ids: [ID!]) { resourceChanged(ids: $ids) { resource { conditions { reason } } } }`, {
      ids: [id],
    })
    const reasons = () => followed.came.at(-1)?.resourceChanged.resource.conditions
    await expect.poll(reasons).toEqual([])
    for (const reason of ['Resolving', 'Running']) {
      const data = { status: 'False', reason, message: '', observedGeneration: 1, lastTransitionAt: new Date() }
      await api.db.condition.upsert({
        where: { resourceId_type: { resourceId: id, type: 'Ready' } },
        create: { resourceId: id, type: 'Ready', ...data },
        update: data,
      })
      await api.db.$executeRaw`SELECT pg_notify('evenkeel_changes', ${id})`
      await expect.poll(reasons).toEqual([{ reason }])
    }
  })

  it('too many ids -> refused', async () => {
    const followed = follow(changed, { ids: Array.from({ length: 101 }, (_, n) => `app_${n}`) })
    await expect.poll(() => followed.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })
})

describe('events', () => {
  const events = `subscription ($r: ID, $p: ID, $a: String) { events(resourceId: $r, projectId: $p, after: $a) { id reason resourceId } }`
  const reasons = (followed: Followed) => followed.came.map((c) => c.events.reason)

  it('from now on -> each once, oldest first', async () => {
    const id = await application()
    const followed = follow(events, { r: id })
    await listening(followed)
    await scale(id, 2)
    await application()
    await api.graphql(`mutation ($id: ID!) { resourcePause(id: $id) { userErrors { code } } }`, { id })
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged', 'Paused'])
  })

  it('after a cursor of the query -> what came since, then what comes', async () => {
    const id = await application()
    const { data } = await api.graphql(
      'query ($id: ID!) { events(resourceId: $id, first: 1) { edges { cursor node { reason } } } }',
      { id },
    )
    await scale(id, 2)
    await scale(id, 3)
    const followed = follow(events, { p: projectId, a: data.events.edges[0].cursor })
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged', 'DesiredChanged'])
    await api.graphql(`mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { code } } }`, { id })
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged', 'DesiredChanged', 'DeletionRequested'])
  })

  it('a lower number that commits later, of another resource -> is told all the same', async () => {
    const [slow, fast] = [await application(), await application()]
    const followed = follow(events, { p: projectId })
    await listening(followed)
    const client = new pg.Client({ connectionString: api.databaseUrl })
    await client.connect()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO "Event" ("resourceId", "projectId", severity, reason, message, generation, at) VALUES ($1, $2, 'Normal', 'Slow', '', 1, now())`,
      [slow, projectId],
    )
    await scale(fast, 2)
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged'])
    await client.query(`SELECT pg_notify('evenkeel_changes', $1)`, [slow])
    await client.query('COMMIT')
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged', 'Slow'])
    await client.end()
  })

  it('the listening connection is cut -> none is lost and none comes twice', async () => {
    const id = await application()
    const followed = follow(events, { p: projectId })
    await listening(followed)
    await scale(id, 2)
    await expect.poll(() => reasons(followed)).toEqual(['DesiredChanged'])
    await api.db
      .$queryRaw`SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`
    await scale(id, 3)
    await scale(id, 4)
    await expect.poll(() => followed.came.length).toBe(3)
    await scale(id, 5)
    await expect.poll(() => followed.came.length).toBe(4)
    expect(new Set(followed.came.map((c) => c.events.id)).size).toBe(4)
  })
})

describe('the WebSocket', () => {
  it.each([null, 'evk_wrong', `evk_${'a'.repeat(43)}`])('token %j -> closed with 4403', async (token) => {
    const followed = follow('subscription { events { id } }', {}, token)
    await expect.poll(() => followed.closed?.code).toBe(4403)
  })

  it('queries and mutations -> by the same rules', async () => {
    const { data } = await api.graphql(`mutation { tokenCreate(input: { name: "r", abilities: [READ] }) { secret } }`)
    const reader = data.tokenCreate.secret
    const query = follow('{ viewer { name } }', {}, reader)
    await expect.poll(() => query.came).toEqual([{ viewer: { name: 'r' } }])
    const mutation = follow('mutation { projectCreate(input: { name: "sly" }) { project { id } } }', {}, reader)
    await expect.poll(() => mutation.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    expect(await api.db.project.count({ where: { name: 'sly' } })).toBe(0)
  })

  it.each<[string, string, string]>([
    ['malformed', 'subscription { nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['too deep', `{ applications { nodes { ${'project { '.repeat(3)} id ${'} '.repeat(3)} } } }`, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'too many at the top',
      `{ ${Array.from({ length: 51 }, (_, n) => `v${n}: viewer { name }`).join(' ')} }`,
      'OPERATION_TOO_LARGE',
    ],
  ])('%s -> an error of that operation', async (_what, query, code) => {
    const followed = follow(query)
    await expect.poll(() => followed.errors).toMatchObject([{ extensions: { code } }])
  })

  it('subscription stopped by its reader -> nobody follows for it any more', async () => {
    const feed = api.app.get(ChangeFeed) as unknown as { followers: Set<unknown> }
    const before = feed.followers.size
    const followed = follow('subscription { events { id } }')
    await expect.poll(() => feed.followers.size).toBe(before + 1)
    followed.stop()
    await expect.poll(() => feed.followers.size).toBe(before)
    follow('subscription { events { id } }')
    await expect.poll(() => feed.followers.size).toBe(before + 1)
    for (const client of clients.splice(0)) client.terminate()
    await expect.poll(() => feed.followers.size).toBe(before)
  })
})
