import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultLimits } from '../../src/api/limits/limits.js'
import { getIntrospectionQuery } from 'graphql'
import { WebSocket } from 'ws'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let startedAt: number
beforeAll(async () => {
  startedAt = Date.now()
  api = await startApi()
})
afterAll(() => api?.stop())

const post = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${api.url}/graphql`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${api.ownerToken}`, ...headers },
  })

describe('an answer', () => {
  it('of GraphQL -> carries no hash of itself, which nobody would compare', async () => {
    const answer = await post('{"query":"{ viewer { name } }"}')
    expect(answer.headers.get('etag')).toBeNull()
  })
})

describe('limits', () => {
  it('a body over 1 MB -> 413 in the shape of a GraphQL error, and nothing done', async () => {
    const answer = await post(
      JSON.stringify({
        query: 'mutation { projectCreate(input: { name: "huge" }) { project { id } } }',
        variables: { x: 'y'.repeat(defaultLimits.bodyBytes) },
      }),
    )
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('1048576'), extensions: { code: 'BODY_TOO_LARGE' } }],
    })
    expect(await api.db.project.count({ where: { name: 'huge' } })).toBe(0)
  })

  it.each(['', '{', '[]', '"x"', 'null', '{"query": 1}', '{"query":"{ viewer { name } }","variables":7}'])(
    'body %j -> refused as malformed',
    async (body) => {
      const answer = await post(body)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
      expect(await answer.text()).not.toContain('at ') // no stack
    },
  )

  it.each([
    ['nested as deep as the schema goes', `{ applications { nodes { releases { nodes { verdict { reason } } } } } }`, null],
    ['nested too deep', `{ __type(name: "Query") { ${'ofType { '.repeat(25)} name ${'} '.repeat(25)} } }`, 'nests'],
    [
      'too many fields at the top',
      `{ ${Array.from({ length: 51 }, (_, n) => `v${n}: viewer { name }`).join(' ')} }`,
      'fields at its top',
    ],
    [
      'hidden in a fragment',
      `query { ...F } fragment F on Query { ${Array.from({ length: 51 }, (_, n) => `v${n}: viewer { name }`).join(' ')} }`,
      'fields at its top',
    ],
    [
      'large pages in pages',
      '{ applications(first: 100) { nodes { events(first: 100) { nodes { id reason message at severity generation } } transitions(first: 100) { nodes { id } } } } }',
      'asks for about',
    ],
    [
      'fragments of fragments',
      `{ ...A0 } ${Array.from({ length: 30 }, (_, n) => `fragment A${n} on Query { ...A${n + 1} ...A${n + 1} }`).join(' ')} fragment A30 on Query { applications { nodes { id } } }`,
      'fields at its top',
    ],
  ])('%s -> told before anything is read', async (_what, query, message) => {
    const { data, errors, status } = await api.graphql(query)
    if (message === null) {
      expect(errors).toEqual([])
      expect(data).not.toBeNull()
      return
    }
    expect(status).toBe(400)
    expect(errors[0]?.message).toContain(message)
    expect(errors[0]?.extensions['code']).toBe('OPERATION_TOO_LARGE')
  })

  it('page size in a variable -> counts as it is', async () => {
    const query =
      'query ($n: Int!) { applications(first: $n) { nodes { events(first: $n) { nodes { id reason message at generation severity } } } } }'
    expect((await api.graphql(query, { n: 20 })).errors).toEqual([])
    expect((await api.graphql(query, { n: 100 })).errors[0]?.extensions['code']).toBe('OPERATION_TOO_LARGE')
  })

  it('a text of more tokens than anybody writes -> not even parsed', async () => {
    const { errors } = await api.graphql(`{ ${'a '.repeat(20_000)} }`)
    expect(errors[0]?.message).toContain('token')
  })

  it("the tools' introspection -> within the limits", async () => {
    const { errors, data } = await api.graphql(getIntrospectionQuery())
    expect(errors).toEqual([])
    expect(data.__schema.types.length).toBeGreaterThan(30)
  })

  it('too many operations with one token -> 429, told so; another token goes on', async () => {
    const slow = await startApi({ limits: { ...defaultLimits, operationsPerSecond: 1, operationsBurst: 5 } })
    try {
      const { data } = await slow.graphql('mutation { tokenCreate(input: { name: "other", abilities: [READ] }) { secret } }')
      // Its clock stands, so that no operation is given back while the test runs.
      slow.time.now = Date.now()
      const answers = await Promise.all(Array.from({ length: 10 }, () => slow.graphql('{ viewer { name } }')))
      expect(answers.filter((a) => a.status === 200).length).toBeLessThanOrEqual(5)
      expect(answers.find((a) => a.status === 429)?.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }])
      expect((await slow.graphql('{ viewer { name } }', {}, data.tokenCreate.secret)).status).toBe(200)
    } finally {
      await slow.stop()
    }
  })

  it('several operations in one body -> refused', async () => {
    const answer = await post(JSON.stringify([{ query: '{ viewer { name } }' }, { query: '{ viewer { name } }' }]))
    expect(answer.status).toBe(400)
  })

  it('a mutation by GET, or a form -> refused: no page of somebody else can send it', async () => {
    const get = await fetch(`${api.url}/graphql?query=${encodeURIComponent('mutation { resyncAll { resources } }')}`, {
      headers: { authorization: `Bearer ${api.ownerToken}`, 'apollo-require-preflight': '1' },
    })
    expect(get.status).toBe(405)
    const form = await post('query=mutation', { 'content-type': 'application/x-www-form-urlencoded' })
    expect(form.status).toBeGreaterThanOrEqual(400)
  })
})

describe('a bug', () => {
  it('the database fails in an operation -> a number for the log, and not its words', async () => {
    await api.db.$executeRawUnsafe('ALTER TABLE "Project" RENAME TO "Hidden"')
    try {
      const { errors } = await api.graphql('{ projects { nodes { id } } }')
      expect(errors).toMatchObject([{ message: expect.stringMatching(/incident [0-9a-f]{8}/), extensions: { code: 'INTERNAL' } }])
      expect(JSON.stringify(errors)).not.toMatch(/Project|prisma|relation|postgres/)
    } finally {
      await api.db.$executeRawUnsafe('ALTER TABLE "Hidden" RENAME TO "Project"')
    }
  })
})

describe('the page', () => {
  it('a browser opens /graphql -> one page that needs nothing else', async () => {
    const answer = await fetch(`${api.url}/graphql`, { headers: { accept: 'text/html,application/xhtml+xml' } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'sha256-/)
    const html = await answer.text()
    expect(html).toContain('<textarea id="query"')
    expect(html).not.toMatch(/(src|href)="(?!data:)/) // nothing is fetched from anywhere
    expect(html).not.toMatch(/https?:\/\//)
  })

  it('a program that asks by GET -> an answer, not the page', async () => {
    const answer = await fetch(`${api.url}/graphql?query=${encodeURIComponent('{ viewer { name } }')}`, {
      headers: { authorization: `Bearer ${api.ownerToken}`, 'apollo-require-preflight': '1' },
    })
    expect(await answer.json()).toEqual({ data: { viewer: { name: 'owner' } } })
  })
})

describe('health', () => {
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${api.url}${path}`, { headers })
    const text = await answer.text()
    return { status: answer.status, text, json: () => JSON.parse(text) }
  }
  const report = (conditions: object[], lastSeenAt: Date | null = new Date()) =>
    api.db.nodeStatus.update({ where: { resourceId: api.initialised.node.id }, data: { lastSeenAt, reported: conditions } })
  const ok = (type: string) => ({ type, status: 'True', reason: 'R', message: 'm' })

  it('/healthz -> alive', async () => expect((await get('/healthz')).status).toBe(200))

  it.each<[string, () => Promise<unknown>, number, object]>([
    [
      'agent never connected',
      () => report([], null),
      503,
      { agent: { ok: false, message: expect.stringContaining('not connected') } },
    ],
    ['canary not told yet', () => report([]), 503, { agent: { ok: false, message: expect.stringContaining('EngineSupported') } }],
    [
      'engine refused',
      () => report([{ ...ok('EngineSupported'), status: 'False', message: 'Podman' }]),
      503,
      { agent: { ok: false, message: 'R: Podman' } },
    ],
    [
      'agent silent',
      () => report([ok('EngineSupported'), ok('ContainersReachable')], new Date(Date.now() - 60_000)),
      503,
      { agent: { ok: false, message: expect.stringContaining('no heartbeat') } },
    ],
    [
      'what an agent told to an API before this one',
      () => report([ok('EngineSupported'), ok('ContainersReachable')], new Date(startedAt - 1_000)),
      503,
      { agent: { ok: false, message: expect.stringContaining('since this API started') } },
    ],
    [
      'all well',
      () => report([ok('EngineSupported'), ok('ContainersReachable')]),
      200,
      { agent: { ok: true }, postgresql: { ok: true }, temporal: { ok: true } },
    ],
  ])('/readyz with %s', async (_what, arrange, status, checks) => {
    await arrange()
    const answer = await get('/readyz')
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject({ ok: status === 200, checks })
  })

  it('/readyz with Temporal away -> 503 that says so', async () => {
    api.temporal.failing = true
    const answer = await get('/readyz')
    api.temporal.failing = false
    expect(answer.status).toBe(503)
    expect(answer.json().checks).toMatchObject({
      temporal: { ok: false, message: 'Temporal does not answer' },
      postgresql: { ok: true },
    })
  })

  it('/metrics -> HTTP, operations, resources, nodes', async () => {
    await api.graphql('{ viewer { name } }')
    await api.graphql('mutation { projectCreate(input: { name: "metered" }) { project { id } } }')
    await get('/no/such/path')
    const { text } = await get('/metrics')
    expect(text).toMatch(/evenkeel_http_request_duration_seconds_count\{method="POST",path="\/graphql",status="200"\} \d+/)
    expect(text).toMatch(/path="other",status="404"/)
    expect(text).toMatch(/evenkeel_graphql_operations_total\{type="query",field="viewer",outcome="ok"\} \d+/)
    expect(text).toMatch(/evenkeel_graphql_operations_total\{type="mutation",field="projectCreate",outcome="ok"\} 1/)
    expect(text).toContain('evenkeel_resources{kind="node",ready="Unknown",out_of_step="false"} 1')
    expect(text).toMatch(/evenkeel_node_last_seen_seconds\{node="node_\w+",name="test-host"\}/)
    expect(text).toContain('evenkeel_agents_connected 0')
    expect(text).toContain('evenkeel_log_readers 0')
    expect(text).toContain('evenkeel_log_lines_dropped_total 0')
  })

  it('/metrics through a proxy -> only with a token', async () => {
    const proxied = { 'x-forwarded-for': '203.0.113.7' }
    expect((await get('/metrics', proxied)).status).toBe(401)
    expect((await get('/metrics', { ...proxied, authorization: `Bearer ${api.ownerToken}` })).status).toBe(200)
  })
})

describe('upgrades', () => {
  it('a WebSocket to any other path -> 404, and no connection is left', async () => {
    const socket = new WebSocket(`${api.url.replace(/^http/, 'ws')}/other`)
    expect(await new Promise<string>((resolve) => socket.once('error', (error) => resolve(error.message)))).toContain('404')
  })
})

describe('shutdown', () => {
  it('with an open keep-alive connection and a subscription -> ends at once', async () => {
    const other = await startApi()
    // By itself the connection would not end before the test does.
    other.app.getHttpServer().keepAliveTimeout = 600_000
    await new Promise<void>((resolve, reject) => {
      const open = request(`${other.url}/healthz`, { headers: { connection: 'keep-alive' } }, (response) =>
        response.resume().on('end', resolve),
      )
      open.on('error', reject)
      open.end()
    })
    await other.app.close()
    await other.stop().catch(() => {})
  })
})
