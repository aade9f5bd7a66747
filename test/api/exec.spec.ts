import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { DockerodeEngine } from '../../src/adapters/docker/dockerode-engine.js'
import type { ExecSpec } from '../../src/adapters/docker/node-engine.js'
import { serveExec } from '../../src/agent/exec-calls.js'
import { noLog } from '../../src/agent/testing/no-log.js'
import { defaultLimits } from '../../src/api/limits/limits.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { NodeUnderTest } from './node-under-test.js'

let api: ApiUnderTest
let node: NodeUnderTest
let id: string

const limits = { ...defaultLimits, execIdleMs: 6_000, execTotalMs: 12_000, execsPerToken: 3 }

beforeAll(async () => {
  api = await startApi({ limits })
  node = new NodeUnderTest(api)
  await node.connect()
  const made = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } } }`)
  const { data } = await api.graphql(
    `mutation ($p: ID!) { applicationCreate(input: { projectId: $p, name: "web", image: "busybox" }) { application { id } } }`,
    { p: made.data.projectCreate.project.id },
  )
  id = data.applicationCreate.application.id
  await node.replica(id, 1, 0, 'sleep 3600')
})
afterAll(async () => {
  await node?.close()
  await api?.stop()
})

interface Session {
  id: string
  webSocketPath: string
  token: string
}

async function ask(command: string[], more: object = {}, token = api.ownerToken) {
  const { data, errors } = await api.graphql(
    `mutation ($id: ID!, $c: [String!]!, $tty: Boolean, $r: Int, $u: String, $w: String) {
      applicationExec(id: $id, command: $c, tty: $tty, replica: $r, user: $u, workingDir: $w) {
        session { id release replica nodeId webSocketPath token expiresAt } userErrors { code field } } }`,
    { id, c: command, tty: false, ...more },
    token,
  )
  return {
    ...(data?.applicationExec as { session: Session | null; userErrors: { code: string; field: string[] | null }[] }),
    errors,
  }
}

class Attached {
  out = ''
  err = ''
  exit: { exitCode: number | null; reason: string } | null = null
  closed: number | null = null
  refused: string | null = null
  readonly socket: WebSocket

  constructor({ webSocketPath, token }: Pick<Session, 'webSocketPath' | 'token'>) {
    this.socket = new WebSocket(`${api.url.replace(/^http/, 'ws')}${webSocketPath}`, ['evenkeel.exec.v1', token])
    this.socket.on('error', (error) => (this.refused = error.message))
    this.socket.on('close', (code) => (this.closed = code))
    this.socket.on('message', (data: Buffer) => {
      const payload = data.subarray(1)
      if (data[0] === 0) this.out += payload.toString()
      else if (data[0] === 1) this.err += payload.toString()
      else this.exit = JSON.parse(payload.toString())
    })
  }

  async opened(): Promise<this> {
    await once(this.socket, 'open')
    return this
  }

  send(type: number, payload: Buffer | string = ''): void {
    this.socket.send(Buffer.concat([Buffer.from([type]), Buffer.from(payload)]))
  }

  type(text: string): void {
    this.send(0, text)
  }
}

async function run(command: string[], more: object = {}): Promise<Attached> {
  const { session, userErrors } = await ask(command, more)
  if (!session) throw new Error(JSON.stringify(userErrors))
  return new Attached(session).opened()
}

const audited = () => api.db.auditEntry.findMany({ where: { operation: 'applicationExec' }, orderBy: { id: 'asc' } })
/** The processes in the container, by their command lines. */
const processes = async () => {
  const [container] = await node.docker.listContainers({ filters: { label: [`evenkeel.resource=${id}`] } })
  const { Processes } = await node.docker.getContainer(container?.Id ?? '').top()
  return (Processes as string[][]).map((p) => p.at(-1) ?? '')
}

describe('applicationExec', () => {
  it('a command -> both outputs, its input, its exit code, and an audit without what went in and out', async () => {
    const attached = await run(['sh', '-c', 'read line; echo "got $line"; echo no >&2; cat | wc -c; exit 3'], {
      u: 'nobody',
      w: '/tmp',
    })
    attached.type('a password\n')
    attached.send(0, 'x'.repeat(700_000))
    attached.send(1)
    await expect.poll(() => attached.exit).toEqual({ exitCode: 3, reason: 'exit code 3' })
    expect(attached.out).toBe('got a password\n700000\n')
    expect(attached.err).toBe('no\n')
    await expect.poll(() => attached.closed).toBe(1000)
    await expect.poll(async () => (await audited()).length).toBe(2)
    const [begun, ended] = await audited()
    expect(begun).toMatchObject({
      actor: 'tok_owner',
      ability: 'admin',
      resourceId: id,
      outcome: 'ok',
      after: { release: 1, replica: 0, nodeId: node.id, user: 'nobody', workingDir: '/tmp', tty: false },
    })
    expect(ended).toMatchObject({
      actor: 'tok_owner',
      resourceId: id,
      after: { exitCode: 3, command: ['sh', '-c', expect.any(String)] },
    })
    expect(ended?.outcome).toMatch(/^ended: exit code 3 after \d+\.\d s$/)
    expect((ended?.after as { durationMs?: number } | undefined)?.durationMs).toBeGreaterThan(0)
    expect(JSON.stringify([begun, ended], (_, v) => (typeof v === 'bigint' ? String(v) : v))).not.toContain('a password')
  })

  it('with a terminal -> it has one, with the size that its client says', async () => {
    const attached = await run(['sh'], { tty: true })
    attached.send(2, Buffer.from([0, 132, 0, 43]))
    attached.type('stty size; tty; exit\n')
    await expect.poll(() => attached.exit?.exitCode).toBe(0)
    expect(attached.out).toContain('43 132')
    expect(attached.out).toContain('/dev/pts/')
  })

  it('much output for a client that reads slowly -> all of it, in its order', async () => {
    const attached = await run(['seq', '1', '400000'])
    attached.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 500))
    attached.socket.resume()
    await expect.poll(() => attached.exit?.exitCode).toBe(0)
    expect(attached.out).toBe(`${Array.from({ length: 400_000 }, (_, n) => n + 1).join('\n')}\n`)
  })

  it.each([
    ['ignoring its hang-up, with a child', ['sh', '-c', 'trap "" HUP; sleep 1111 & sleep 2222; true'], false],
    ['with a terminal', ['sh', '-c', 'sleep 1111; true'], true],
  ])('its client goes, %s -> its processes end', async (_what, command, tty) => {
    const attached = await run(command, { tty })
    await expect.poll(async () => (await processes()).filter((p) => /1111|2222/.test(p)).length).toBeGreaterThan(0)
    attached.socket.terminate()
    await expect.poll(async () => (await processes()).filter((p) => /1111|2222/.test(p))).toEqual([])
    await expect.poll(async () => (await audited()).at(-1)?.outcome).toMatch(/^ended: the client went/)
    expect((await processes()).length).toBe(1)
  })

  it('its client goes while the engine still starts it -> it does not run on by itself', async () => {
    const engine = new DockerodeEngine()
    const gone = new AbortController()
    const opened = async (container: string, spec: ExecSpec) => {
      const exec = await engine.openExec(container, spec)
      gone.abort()
      return exec
    }
    const serve = serveExec(node.instance, { inspect: (name) => engine.inspect(name), openExec: opened }, noLog)
    const params = { resource: id, release: 1, replica: 0, command: ['sleep', '4444'], tty: false, user: null, workingDir: null }
    await serve('exec', { ...params, window: 1 }, { chunk: () => undefined, onInput: () => undefined, signal: gone.signal })
    // By then one that nobody ended would run.
    await sleep(1_000)
    expect((await processes()).filter((p) => p.includes('4444'))).toEqual([])
  })

  it('the channel to its node breaks -> told, and its processes end', async () => {
    const attached = await run(['sleep', '1111'])
    await expect.poll(async () => (await processes()).filter((p) => p.includes('1111')).length).toBe(1)
    await node.disconnect()
    await expect.poll(() => attached.exit?.exitCode).toBe(null)
    await expect.poll(async () => (await processes()).filter((p) => p.includes('1111'))).toEqual([])
    expect((await ask(['true'])).userErrors).toMatchObject([{ code: 'NODE_AWAY' }])
    await node.connect()
  })

  it('silent for too long, or running for too long -> ended, with the reason', async () => {
    const silent = await run(['sleep', '1111'])
    const busy = await run(['sh', '-c', 'while true; do echo .; sleep 0.5; done'])
    await expect.poll(() => silent.exit?.reason).toBe('it was silent for 6 s')
    expect(busy.exit).toBeNull()
    await expect.poll(() => busy.exit?.reason).toBe('it ran for 12 s, the most that is allowed')
    await expect.poll(async () => (await processes()).length).toBe(1)
  })

  it('a program that is not there -> its exit code says so', async () => {
    const attached = await run(['no-such-program'])
    await expect.poll(() => attached.exit).not.toBeNull()
    expect([126, 127, null]).toContain(attached.exit?.exitCode)
    expect(`${attached.out}${attached.exit?.reason}`).toMatch(/not found|127/)
  })

  it('the token of a session -> opens it once, and not after its time', async () => {
    const { session } = await ask(['sleep', '5'])
    if (!session) throw new Error('no session')
    await new Attached(session).opened()
    const again = new Attached(session)
    await expect.poll(() => again.refused).toContain('401')
    const { session: other } = await ask(['true'])
    const guessed = new Attached({ webSocketPath: other?.webSocketPath ?? '', token: `evx_${'a'.repeat(43)}` })
    await expect.poll(() => guessed.refused).toContain('401')
    limits.execAttachMs = 100
    const late = await ask(['true'])
    limits.execAttachMs = defaultLimits.execAttachMs
    await sleep(150)
    const tooLate = new Attached(late.session as Session)
    await expect.poll(() => tooLate.refused).toContain('401')
    const unasked = new Attached({ webSocketPath: '/exec', token: 'x' })
    await expect.poll(() => unasked.refused).toContain('404')
  })

  it('a frame that is none -> closed, and the command ended', async () => {
    const attached = await run(['sleep', '1111'])
    attached.send(9, 'x')
    await expect.poll(() => attached.closed).toBe(4400)
    await expect.poll(async () => (await processes()).filter((p) => p.includes('1111'))).toEqual([])
  })

  it.each<[string, string[], object, string]>([
    ['no command', [], {}, 'INVALID'],
    ['an empty program', [''], {}, 'INVALID'],
    ['a long command', ['x'.repeat(40_000)], {}, 'INVALID'],
    ['a strange user', ['true'], { u: 'root; true' }, 'INVALID'],
    ['a relative folder', ['true'], { w: 'tmp' }, 'INVALID'],
    ['no such replica', ['true'], { r: 7 }, 'REPLICA_NOT_FOUND'],
    ['no such application', ['true'], { id: 'app_none' }, 'NOT_FOUND'],
  ])('%s -> refused', async (_what, command, more, code) => {
    expect((await ask(command, more)).userErrors.map((e) => e.code)).toEqual([code])
  })

  it('a token without admin -> refused and audited', async () => {
    const { data } = await api.graphql(`mutation { tokenCreate(input: { name: "w", abilities: [WRITE] }) { secret } }`)
    expect((await ask(['true'], {}, data.tokenCreate.secret)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    // What earlier commands ended with may still come.
    expect((await audited()).map((a) => [a.outcome, a.resourceId])).toContainEqual(['refused: FORBIDDEN', id])
  })

  it('clients that shake hands wrongly -> audited, and their commands count no longer', async () => {
    const { data } = await api.graphql(`mutation { tokenCreate(input: { name: "clumsy", abilities: [ADMIN] }) { secret } }`)
    const notAttached = async () => (await audited()).filter((a) => a.outcome.startsWith('ended: its client did not attach')).length
    const before = await notAttached()
    for (let n = 1; n <= 4; n++) {
      const { session, userErrors } = await ask(['true'], {}, data.tokenCreate.secret)
      expect(userErrors).toEqual([])
      const protocol = `evenkeel.exec.v1, ${session?.token}`
      const headers = {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '7',
        'sec-websocket-protocol': protocol,
      }
      const [response] = await once(get(`${api.url}${session?.webSocketPath}`, { headers }), 'response')
      expect((response as IncomingMessage).statusCode).toBe(400)
      await expect.poll(notAttached).toBe(before + n)
    }
  })

  it('more than a token may have -> refused', async () => {
    const { data } = await api.graphql(`mutation { tokenCreate(input: { name: "busy", abilities: [ADMIN] }) { secret } }`)
    const asked = await Promise.all(Array.from({ length: 5 }, () => ask(['true'], {}, data.tokenCreate.secret)))
    expect(asked.filter((a) => a.session)).toHaveLength(3)
    const refusals = asked.flatMap((a) => a.userErrors.map((e) => e.code))
    expect(refusals).toEqual(['TOO_MANY_SESSIONS', 'TOO_MANY_SESSIONS'])
  })
})
