import type Docker from 'dockerode'
import { createClient, type Client } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { Logs } from '../../src/api/log/log.service.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { NodeUnderTest } from './node-under-test.js'

let api: ApiUnderTest
let node: NodeUnderTest
let projectId: string
const clients: Client[] = []

beforeAll(async () => {
  api = await startApi()
  node = new NodeUnderTest(api)
  await node.connect()
  const made = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)
  projectId = made.data.projectCreate.project.id
})
afterAll(async () => {
  await node?.close()
  await api?.stop()
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose()
})

/** In a replica's script: what follows comes when the test says so, however long it takes to get there. */
const untilGo = 'until [ -e /go ]; do sleep 0.1; done'
async function go(replica: Docker.Container): Promise<void> {
  const exec = await replica.exec({ Cmd: ['touch', '/go'] })
  await exec.start({ Detach: true })
}

let names = 0
async function application(): Promise<string> {
  const { data } = await api.graphql(
    `mutation ($p: ID!, $n: String!) { applicationCreate(input: { projectId: $p, name: $n, image: "busybox" }) { application { id } } }`,
    { p: projectId, n: `app${names++}` },
  )
  return data.applicationCreate.application.id
}

interface Line {
  text: string
  release: number
  replica: number
  stream: string
  at: string
  cursor: string
  nodeId: string
}

interface Followed {
  events: { lines: Line[]; notice: { reason: string; message: string; replica: number } | null; cursor: string }[]
  errors: any[]
  completed: boolean
  socket: WebSocket | null
  texts(): string[]
  notices(): string[]
  cursor(): string
  stop(): void
}

const fields = 'lines { text release replica stream at nodeId cursor } notice { reason message replica } cursor'

function follow(id: string, args = '', token = api.ownerToken, wanted = fields): Followed {
  const followed: Followed = {
    events: [],
    errors: [],
    completed: false,
    socket: null,
    texts: () => followed.events.flatMap((e) => e.lines.map((l) => l.text)),
    notices: () => followed.events.flatMap((e) => (e.notice ? [e.notice.reason] : [])),
    cursor: () => followed.events.at(-1)?.cursor ?? '',
    stop: () => undefined,
  }
  const client = createClient({
    url: `${api.url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { authorization: `Bearer ${token}` },
    on: { connected: (socket) => (followed.socket = socket as WebSocket) },
  })
  clients.push(client)
  const query = `subscription { applicationLogs(id: "${id}"${args === '' ? '' : `, ${args}`}) { ${wanted} } }`
  followed.stop = client.subscribe<{ applicationLogs: Followed['events'][number] }>(
    { query },
    {
      next: ({ data, errors }) =>
        void (errors ? followed.errors.push(...errors) : data && followed.events.push(data.applicationLogs)),
      error: (error) => void followed.errors.push(...(Array.isArray(error) ? error : [error])),
      complete: () => (followed.completed = true),
    },
  )
  return followed
}

const tail = async (id: string, args = '') => {
  const { data, errors } = await api.graphql(
    `{ applicationLogTail(id: "${id}"${args === '' ? '' : `, ${args}`}) { lines { text replica stream cursor } notices { reason } cursor } }`,
  )
  return {
    ...data?.applicationLogTail,
    errors,
    texts: (data?.applicationLogTail?.lines ?? []).map((l: Line) => l.text) as string[],
  }
}

const counting = (from: number, to: number, seconds = 0.02, prefix = '') =>
  `i=${from}; while [ $i -le ${to} ]; do echo ${prefix}$i; i=$((i+1)); sleep ${seconds}; done`
const numbers = (from: number, to: number, prefix = '') => Array.from({ length: to - from + 1 }, (_, n) => `${prefix}${from + n}`)

describe('applicationLogs', () => {
  it('two replicas, both outputs -> all lines in the order of their time, with whose they are', async () => {
    const id = await application()
    await node.replica(id, 1, 0, `${counting(1, 20, 0.02, 'a')}; echo bad >&2; sleep 300`)
    await node.replica(id, 1, 1, `${counting(1, 20, 0.03, 'b')}; sleep 300`)
    // What is there when it begins is in order; of what comes later only what has arrived within a moment.
    await expect.poll(async () => (await tail(id)).texts.length).toBe(41)
    const followed = follow(id, 'since: "2000-01-01T00:00:00Z"')
    await expect.poll(() => followed.texts().length).toBe(41)
    const lines = followed.events.flatMap((e) => e.lines)
    expect(lines.map((l) => l.at)).toEqual(lines.map((l) => l.at).toSorted())
    expect(lines.filter((l) => l.replica === 0 && l.stream === 'stdout').map((l) => l.text)).toEqual(numbers(1, 20, 'a'))
    expect(lines.filter((l) => l.replica === 1).map((l) => l.text)).toEqual(numbers(1, 20, 'b'))
    expect(lines.find((l) => l.text === 'bad')).toMatchObject({ stream: 'stderr', release: 1, replica: 0, nodeId: node.id })
    expect(lines[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    expect(followed.errors).toEqual([])
  })

  it('tail, stream, grep and replicas -> only those, counted after they were chosen', async () => {
    const id = await application()
    const script = `${counting(1, 30, 0)}; echo Oops 1 >&2; echo oops 2 >&2`
    await node.replica(id, 1, 0, `${script}; sleep 300`)
    await expect.poll(async () => (await tail(id)).texts.length).toBe(32)
    await node.replica(id, 1, 1, `echo other; sleep 300`)
    await expect.poll(async () => (await tail(id)).texts.length).toBe(33)
    const once = async (args: string) => {
      const followed = follow(id, `follow: false, ${args}`)
      await expect.poll(() => followed.completed).toBe(true)
      return followed.texts()
    }
    expect(await once('tail: 3, replicas: [0], stream: stdout')).toEqual(['28', '29', '30'])
    expect(await once('stream: stderr')).toEqual(['Oops 1', 'oops 2'])
    expect(await once('tail: 1')).toEqual(['other'])
    expect(await once('tail: 2, grep: { text: "1" }, stream: stdout')).toEqual(['19', '21'])
    expect(await once('grep: { text: "^OOPS \\\\d$", regex: true, ignoreCase: true }')).toEqual(['Oops 1', 'oops 2'])
    expect(await once('grep: { text: "^o" }')).toEqual([])
  })

  it('tail: 0 -> only what comes', async () => {
    const id = await application()
    const replica = await node.replica(id, 1, 0, `echo old; echo old >&2; ${untilGo}; while :; do echo new; sleep 0.1; done`)
    await expect.poll(async () => (await tail(id)).texts.length).toBe(2)
    const followed = follow(id, 'tail: 0')
    await go(replica)
    await expect.poll(() => followed.texts().length).toBeGreaterThan(0)
    expect(followed.texts().filter((text) => text !== 'new')).toEqual([])
  })

  it('subscription broken off again and again, by any line or event -> by its cursor no line is lost and none comes twice', async () => {
    const id = await application()
    await node.replica(id, 1, 0, `${counting(1, 150, 0.01, 'a')}; sleep 300`)
    await node.replica(id, 1, 1, `for i in $(seq 1 150); do echo b$i; echo e$i >&2; done; sleep 300`)
    const got: string[] = []
    let after = ''
    for (let round = 0; got.length < 450 && round < 60; round++) {
      const followed = follow(id, after === '' ? 'since: "2000-01-01T00:00:00Z"' : `after: "${after}"`)
      await expect.poll(() => followed.texts().length).toBeGreaterThan(0)
      followed.stop()
      const lines = followed.events.flatMap((e) => e.lines)
      // In every other round as if its reader had not come further than to some line.
      const read = round % 2 === 0 ? lines : lines.slice(0, 1 + Math.floor(lines.length / 2))
      after = round % 2 === 0 ? followed.cursor() : (read.at(-1)?.cursor ?? '')
      got.push(...read.map((l) => l.text))
    }
    expect(got.toSorted()).toEqual([...numbers(1, 150, 'a'), ...numbers(1, 150, 'b'), ...numbers(1, 150, 'e')].toSorted())
    expect(got.filter((t) => t.startsWith('a'))).toEqual(numbers(1, 150, 'a'))
    expect(got.filter((t) => t.startsWith('e'))).toEqual(numbers(1, 150, 'e'))
  })

  it('channel broken, container restarted -> told, and the lines go on without loss or repetition', async () => {
    const id = await application()
    const script = `n=$(cat /n 2>/dev/null || echo 0); echo $((n+1)) > /n; ${counting(1, 40, 0.02, '$n-')}; sleep 300`
    const container = await node.replica(id, 1, 0, script)
    const followed = follow(id, 'since: "2000-01-01T00:00:00Z"')
    await expect.poll(() => followed.texts().length).toBeGreaterThan(5)
    await node.disconnect()
    await expect.poll(() => followed.notices()).toContain('NODE_AWAY')
    await node.connect()
    await expect.poll(() => followed.notices()).toContain('NODE_BACK')
    await expect.poll(() => followed.texts()).toEqual(numbers(1, 40, '0-'))
    await container.restart({ t: 0 })
    await expect.poll(() => followed.texts()).toEqual([...numbers(1, 40, '0-'), ...numbers(1, 40, '1-')])
    expect(followed.notices()).toEqual(['NODE_AWAY', 'NODE_BACK'])
  })

  it('a new replica while it follows -> joins; one that is gone -> ends, with its last lines', async () => {
    const id = await application()
    const first = await node.replica(id, 1, 0, `trap 'echo bye; exit 0' TERM; echo a; while true; do sleep 0.1; done`)
    const followed = follow(id)
    await expect.poll(() => followed.texts()).toEqual(['a'])
    await node.replica(id, 2, 0, `echo b; sleep 300`)
    await expect.poll(() => followed.texts()).toEqual(['a', 'b'])
    expect(followed.notices()).toEqual(['REPLICA_JOINED'])
    await first.stop({ t: 5 })
    await node.remove(first, id, 1, 0)
    await expect.poll(() => followed.notices(), { timeout: 15_000 }).toEqual(['REPLICA_JOINED', 'REPLICA_ENDED'])
    expect(followed.texts()).toEqual(['a', 'b', 'bye'])
    expect(followed.events.at(-1)?.notice?.reason).toBe('REPLICA_ENDED')
  })

  it('a reader that stops reading -> its lines are dropped and counted, and none is told twice', async () => {
    const id = await application()
    // Long lines, so that what lies on the way in the kernel is soon full; and fewer than the engine keeps.
    const most = 60_000
    const text = 'as long as a line of a log is when it means well. '.repeat(7)
    const lines = `yes '${text}' | head -n ${most} | awk '{ print NR, $0 }'; echo done; sleep 300`
    const replica = await node.replica(id, 1, 0, `until [ -e /go ]; do echo waiting; sleep 0.1; done; ${lines}`)
    const followed = follow(id, 'tail: 0', api.ownerToken, 'lines { text } notice { reason message replica } cursor')
    const counted = () => followed.texts().filter((line) => line !== 'waiting')
    await expect.poll(() => followed.texts().length).toBeGreaterThan(0)
    await go(replica)
    await expect.poll(() => counted().length).toBeGreaterThan(0)
    followed.socket?.pause()
    await expect.poll(() => api.app.get(Logs).droppedLines).toBeGreaterThan(0)
    followed.socket?.resume()
    await expect.poll(() => followed.texts().at(-1), { timeout: 40_000 }).toBe('done')
    const told = counted()
      .slice(0, -1)
      .map((line) => Number(line.split(' ')[0]))
    const notices = followed.events.flatMap((e) => (e.notice?.reason === 'DROPPED' ? [e.notice.message] : []))
    const dropped = notices.reduce((sum, message) => sum + Number(/dropped (\d+)/.exec(message)?.[1]), 0)
    expect(dropped).toBeGreaterThan(0)
    expect(told.every((n, i) => i === 0 || n > (told[i - 1] ?? 0))).toBe(true)
    expect(told.length + dropped).toBe(most)
    expect(await (await fetch(`${api.url}/metrics`)).text()).toContain(`evenkeel_log_lines_dropped_total ${dropped}\n`)
  }, 90_000)

  it('the engine puts its files aside many times while it is followed -> no line comes twice, and what comes later is heard', async () => {
    const id = await application()
    const text = 'as long as a line of an ordinary log is, so that many of its files are put aside. '.repeat(4)
    const burst = `awk 'BEGIN { for (b = 0; b < 60; b++) { for (i = 0; i < 1000; i++) print ++n, "${text}"; fflush(); system("sleep 0.05") } }'`
    // So small that a reader who follows misses whole files, and is left behind at the end of one.
    const small = { Type: 'local', Config: { 'max-size': '200k', 'max-file': '5' } }
    await node.replica(id, 1, 0, `sleep 1; ${burst}; while true; do echo done $((n++)); sleep 0.1; done`, {
      HostConfig: { LogConfig: small, NetworkMode: 'none' },
    })
    const followed = follow(id, 'tail: 0', api.ownerToken, 'lines { text } notice { reason message replica } cursor')
    await expect.poll(() => followed.texts().at(-1), { timeout: 30_000 }).toContain('done')
    const texts = followed.texts()
    expect(texts.length - new Set(texts).size).toBe(0)
  }, 40_000)

  it('reader gone -> nothing is read for it any more', async () => {
    const id = await application()
    await node.replica(id, 1, 0, 'echo a; sleep 300')
    const { openReaders } = api.app.get(Logs)
    const followed = follow(id)
    await expect.poll(() => followed.texts()).toEqual(['a'])
    expect(api.app.get(Logs).openReaders).toBe(openReaders + 1)
    expect(await (await fetch(`${api.url}/metrics`)).text()).toContain(`evenkeel_log_readers ${openReaders + 1}\n`)
    clients.at(-1)?.terminate()
    await expect.poll(() => api.app.get(Logs).openReaders).toBe(openReaders)
  })

  it('the application deleted -> the subscription ends', async () => {
    const id = await application()
    const container = await node.replica(id, 1, 0, 'echo a; sleep 300')
    const followed = follow(id)
    await expect.poll(() => followed.texts()).toEqual(['a'])
    await container.remove({ force: true })
    await api.db.$transaction([
      api.db.resource.delete({ where: { id } }),
      api.db.$executeRaw`SELECT pg_notify('evenkeel_changes', ${id})`,
    ])
    await expect.poll(() => followed.completed).toBe(true)
  })

  it('more than 20 logs with one token -> refused until one is closed', async () => {
    const id = await application()
    const many = Array.from({ length: 20 }, () => follow(id))
    await expect.poll(() => api.app.get(Logs).openReaders).toBe(20)
    const refused = follow(id)
    await expect.poll(() => refused.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }])
    many[0]?.stop()
    await expect.poll(() => api.app.get(Logs).openReaders).toBe(19)
    follow(id)
    await expect.poll(() => api.app.get(Logs).openReaders).toBe(20)
  })

  it.each([
    ['after: "nonsense"', 'BAD_USER_INPUT'],
    ['tail: 10001', 'BAD_USER_INPUT'],
    ['grep: { text: "(", regex: true }', 'BAD_USER_INPUT'],
  ])('%s -> refused', async (args, code) => {
    const followed = follow(await application(), args)
    await expect.poll(() => followed.errors).toMatchObject([{ extensions: { code } }])
  })

  it('an application that is not there -> refused; a container that is not this instance’s -> is not read', async () => {
    const followed = follow('app_none')
    await expect.poll(() => followed.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    const id = await application()
    await node.replica(id, 1, 0, 'echo secret; sleep 300', { Labels: {} }).then((c) => foreign.push(c))
    expect(await tail(id)).toMatchObject({ texts: [], errors: [] })
  })
})

const foreign: { remove(options: object): Promise<unknown> }[] = []
afterAll(async () => void (await Promise.all(foreign.map((c) => c.remove({ force: true })))))

describe('applicationLogTail', () => {
  it('the last lines, then page by page behind a cursor -> every line once', async () => {
    const id = await application()
    const replica = await node.replica(id, 1, 0, `${counting(1, 30, 0)}; ${untilGo}; ${counting(31, 60, 0)}; sleep 300`)
    await expect.poll(async () => (await tail(id, 'lines: 5')).texts).toEqual(numbers(26, 30))
    const { cursor } = await tail(id, 'lines: 5')
    await go(replica)
    const got: string[] = []
    let after = cursor
    await expect
      .poll(async () => {
        const page = await tail(id, `lines: 7, after: "${after}"`)
        got.push(...page.texts)
        after = page.cursor
        return got.length
      })
      .toBe(30)
    expect(got).toEqual(numbers(31, 60))
  })

  it('no such application -> null; the agent away -> a notice and not silence', async () => {
    expect((await api.graphql('{ applicationLogTail(id: "app_none") { cursor } }')).data).toEqual({ applicationLogTail: null })
    const id = await application()
    await node.replica(id, 1, 0, 'echo a; sleep 300')
    await node.disconnect()
    try {
      expect(await tail(id)).toMatchObject({ texts: [], notices: [{ reason: 'NODE_AWAY' }], errors: [] })
    } finally {
      await node.connect()
    }
  })
})
