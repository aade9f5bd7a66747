import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { Channel } from './channel.js'
import { agentFrameSchema, type AgentFrame, type ApiFrame } from './protocol.js'
import { heartbeat, hello } from './testing/frames.js'
import { noLog } from './testing/no-log.js'

/** The API's side, as far as the channel can see it. */
class FakeApi {
  frames: AgentFrame[] = []
  sockets: WebSocket[] = []
  authorization: (string | undefined)[] = []
  silentFor = 0
  private server: WebSocketServer | null = null

  async listen(port = 0): Promise<number> {
    const server = new WebSocketServer({ port, host: '127.0.0.1', path: '/agent' })
    this.server = server
    server.on('connection', (socket, request) => {
      this.sockets.push(socket)
      this.authorization.push(request.headers.authorization)
      socket.on('message', (data) => this.frames.push(agentFrameSchema.parse(JSON.parse(String(data)))))
    })
    await new Promise((resolve) => server.once('listening', resolve))
    return (server.address() as AddressInfo).port
  }

  send(frame: ApiFrame): void {
    this.sockets.at(-1)?.send(JSON.stringify(frame))
  }

  welcome(): void {
    this.send({ type: 'welcome', node: 'n', subnet: '10.0.0.0/20', dnsTtlSeconds: 5, now: Date.now(), keepImages: [] })
  }

  of<T extends AgentFrame['type']>(type: T): Extract<AgentFrame, { type: T }>[] {
    return this.frames.filter((f): f is Extract<AgentFrame, { type: T }> => f.type === type)
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate()
    await new Promise((resolve) => this.server?.close(resolve))
  }
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('it did not come about')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('Channel', () => {
  let api: FakeApi
  let port: number
  let channel: Channel
  let stop: AbortController
  let welcomes: number
  let answers: number

  beforeEach(async () => {
    api = new FakeApi()
    port = await api.listen()
    stop = new AbortController()
    welcomes = 0
    answers = 0
    channel = new Channel({
      apiUrl: `http://127.0.0.1:${port}`,
      token: 'secret',
      log: noLog,
      hello: async () => hello(),
      heartbeat: async () => heartbeat(),
      onWelcome: () => welcomes++,
      onHeartbeatAnswer: () => answers++,
      serve: async (method, params, { chunk, onInput, signal }) => {
        if (method === 'fail') throw Object.assign(new Error('no'), { reason: 'NotFound' })
        if (method === 'forever') return new Promise((resolve) => signal.addEventListener('abort', () => resolve('cancelled')))
        if (method === 'echo') {
          onInput((value) => chunk(value))
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve('cancelled')))
        }
        chunk(params)
        return 'done'
      },
    })
    void channel.run(stop.signal)
    await until(() => api.of('hello').length === 1)
  })
  afterEach(async () => {
    stop.abort()
    await api.close()
  })

  const nudge = (resource: string, why = 'event') => channel.nudge([{ kind: 'application', resource }], why)
  const nudged = () => api.of('nudges').flatMap((f) => f.resources.map((r) => r.resource))

  it('connected -> says who it is first, with its token; welcomed -> a heartbeat at once', async () => {
    expect(api.authorization).toEqual(['Bearer secret'])
    expect(api.frames.map((f) => f.type)).toEqual(['hello'])
    api.welcome()
    await until(() => api.of('heartbeat').length === 1)
    expect(welcomes).toBe(1)
  })

  it('nudges before it is welcomed -> kept, once a resource, and told then', async () => {
    for (const resource of ['a', 'b', 'a']) nudge(resource)
    channel.sendInventory([])
    expect(channel.connected).toBe(false)
    api.welcome()
    await until(() => api.of('inventory').length === 1)
    expect(nudged()).toEqual(['a', 'b'])
  })

  it('the API away -> dialled again; what was told lately and may be lost is told again', async () => {
    api.welcome()
    await until(() => channel.connected)
    nudge('told')
    await until(() => nudged().length === 1)
    await api.close()
    await until(() => !channel.connected)
    nudge('meanwhile')
    api.frames = []
    await api.listen(port)
    await until(() => api.of('hello').length === 1)
    api.welcome()
    await until(() => nudged().length === 2)
    expect(nudged().sort()).toEqual(['meanwhile', 'told'])
  })

  it('a heartbeat is answered -> what was told before it was taken, and is not told again', async () => {
    api.welcome()
    await until(() => channel.connected)
    nudge('taken')
    await until(() => nudged().length === 1)
    api.send({ type: 'heartbeatAnswer', sentAt: Date.now() + 1, now: Date.now(), keepImages: [] })
    await until(() => answers === 1)
    nudge('not taken')
    await until(() => nudged().length === 2)
    await api.close()
    await until(() => !channel.connected)
    api.frames = []
    await api.listen(port)
    await until(() => api.of('hello').length === 1)
    api.welcome()
    await until(() => nudged().length === 1)
    expect(nudged()).toEqual(['not taken'])
  })

  it('a call from the API -> chunks and an end; one that fails -> its reason', async () => {
    api.welcome()
    api.send({ type: 'call', id: '1', method: 'logs', params: { a: 1 } })
    api.send({ type: 'call', id: '2', method: 'fail', params: null })
    await until(() => api.of('end').length === 1 && api.of('error').length === 1)
    expect(api.of('chunk')).toEqual([{ type: 'chunk', id: '1', value: { a: 1 } }])
    expect(api.of('end')).toEqual([{ type: 'end', id: '1', value: 'done' }])
    expect(api.of('error')).toEqual([{ type: 'error', id: '2', reason: 'NotFound', message: 'no' }])
  })

  it('a cancelled call -> its signal aborts', async () => {
    api.welcome()
    api.send({ type: 'call', id: '1', method: 'forever', params: null })
    api.send({ type: 'cancel', id: '1' })
    await until(() => api.of('error').length === 1)
    expect(api.of('error')[0]).toMatchObject({ id: '1', reason: 'CutOff' })
  })

  it('input of its caller, also before the method listens -> comes in its order', async () => {
    api.welcome()
    api.send({ type: 'call', id: '1', method: 'echo', params: null })
    for (const value of ['a', 'b', 'c']) api.send({ type: 'input', id: '1', value })
    api.send({ type: 'input', id: 'of no call', value: 'x' })
    await until(() => api.of('chunk').length === 3)
    expect(api.of('chunk').map((f) => f.value)).toEqual(['a', 'b', 'c'])
  })

  it('an artifact -> its bytes; the channel breaks meanwhile -> a failure and no endless wait', async () => {
    api.welcome()
    await until(() => channel.connected)
    const bytes = channel.artifact('abc')
    await until(() => api.of('call').length === 1)
    api.send({ type: 'end', id: api.of('call')[0]?.id ?? '', value: Buffer.from('config').toString('base64') })
    expect(String(await bytes)).toBe('config')
    const broken = channel.artifact('def')
    await until(() => api.of('call').length === 2)
    api.sockets.at(-1)?.terminate()
    await expect(broken).rejects.toThrow('closed')
  })

  it('no channel -> an artifact fails at once', async () => {
    await api.close()
    await until(() => !channel.connected)
    await expect(channel.artifact('abc')).rejects.toThrow(/channel/)
  })

  it('a frame that it does not know -> left aside, the channel goes on', async () => {
    api.sockets.at(-1)?.send('{"type":"of-a-later-version"}')
    api.sockets.at(-1)?.send('no json')
    api.welcome()
    await until(() => channel.connected)
  })
})
