import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { probeSchema, type NetworkProbe } from '../reconcile/action.js'
import { ProbeRunner, statusIn } from './probe.js'

const servers: Server[] = []
afterEach(() => servers.splice(0).forEach((s) => s.close()))

async function listen(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
const http = (listener: RequestListener) => listen(createHttpServer(listener))
const runner = new ProbeRunner()
const probe = (change: object) =>
  runner.run(
    '127.0.0.1',
    probeSchema.parse({ kind: 'http', port: 1, path: '/health', timeoutMs: 3_000, ...change }) as NetworkProbe,
  )

describe('ProbeRunner', () => {
  it.each([
    [200, true],
    [204, true],
    [302, true],
    [404, false],
    [503, false],
  ])('HTTP %i -> ok %s', async (status, ok) => {
    const port = await http((request, response) => {
      response.writeHead(request.url === '/health' ? status : 500, { location: 'http://127.0.0.1:1/' }).end()
    })
    expect(await probe({ port })).toEqual({ ok, message: `HTTP ${status} from /health` })
  })

  it('an early hint before the answer -> the answer counts', async () => {
    const port = await http((_, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' })
      setTimeout(() => response.writeHead(503).end(), 20)
    })
    expect(await probe({ port })).toMatchObject({ ok: false, message: 'HTTP 503 from /health' })
  })

  it('a body without end -> the status counts, and the rest is not waited for', async () => {
    const port = await http((_, response) => {
      response.writeHead(200)
      setInterval(() => response.write('x'.repeat(10_000)), 1).unref()
    })
    expect(await probe({ port })).toMatchObject({ ok: true })
  })

  it('an open port that says nothing -> HTTP fails in its time, TCP succeeds', async () => {
    const port = await listen(createServer(() => undefined))
    expect(await probe({ port, timeoutMs: 300 })).toEqual({ ok: false, message: `no answer from port ${port} within 300 ms` })
    expect(await probe({ port, kind: 'tcp' })).toMatchObject({ ok: true })
  })

  it('a closed port -> refused', async () => {
    const port = await listen(createServer())
    servers.pop()?.close()
    expect(await probe({ port, kind: 'tcp' })).toEqual({ ok: false, message: `port ${port}: ECONNREFUSED` })
  })

  it('something that is no HTTP -> fails, whatever it says', async () => {
    const port = await listen(createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')))
    expect(await probe({ port })).toEqual({ ok: false, message: `port ${port} closed the connection without an answer` })
  })

  it('while it runs -> its local port is known as a probe', async () => {
    const asked = Promise.withResolvers<Socket>()
    const port = await listen(createServer((socket) => asked.resolve(socket)))
    const running = probe({ port })
    const socket = await asked.promise
    const client = socket.remotePort ?? 0
    await vi.waitFor(() => expect(runner.has(client)).toBe(true))
    socket.destroy()
    await running
    await vi.waitFor(() => expect(runner.has(client)).toBe(false))
  })
})

describe('statusIn', () => {
  it.each([
    ['', null],
    ['HTTP/1.1 2', null],
    ['HTTP/1.0 200 OK', 200],
    ['HTTP/1.1 100 Continue\r\n', null],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n', 404],
    ['SMTP ready', null],
  ])('%j -> %s', (text, status) => expect(statusIn(text)).toBe(status))
})
