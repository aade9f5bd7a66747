import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

/** What an application behind the ingress sees of a request. */
export interface Seen {
  name: string
  url: string
  method: string
  headers: Record<string, string>
  length: number
}

/** A tiny application: tells what it sees, answers late, hangs up, or echoes over a WebSocket. */
export class Upstream {
  private constructor(
    private readonly server: Server,
    private readonly sockets: WebSocketServer,
    readonly dial: string,
  ) {}

  static async start(name: string): Promise<Upstream> {
    const server = createServer((request, response) => {
      // A client that goes in the middle of its body is none of the application's errors.
      answer(name, request, response).catch(() => response.destroy())
    })
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => socket.on('message', (data: Buffer) => socket.send(`${name}: ${data.toString('utf8')}`)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new Upstream(server, sockets, `127.0.0.1:${(server.address() as AddressInfo).port}`)
  }

  async stop(): Promise<void> {
    for (const client of this.sockets.clients) client.terminate()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

async function answer(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let length = 0
  for await (const chunk of request) length += (chunk as Buffer).length
  const url = new URL(request.url ?? '/', 'http://upstream')
  if (url.pathname.endsWith('/hang-up')) return void request.socket.destroy()
  if (url.pathname.endsWith('/late')) await new Promise((resolve) => setTimeout(resolve, Number(url.searchParams.get('ms'))))
  response.setHeader('X-Powered-By', 'upstream')
  response.setHeader('Content-Type', 'application/json')
  const seen = { name, url: request.url, method: request.method, headers: request.headers, length }
  response.end(JSON.stringify(url.pathname.endsWith('/big') ? { ...seen, filling: 'lorem ipsum '.repeat(1_000) } : seen))
}
