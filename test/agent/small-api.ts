import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import { agentFrameSchema, apiMethods, type ApiFrame } from '../../src/agent/protocol.js'

/** As much of the API's side of the channel as an agent's actions need: it answers their calls from what a test gave it. */
export class SmallApi {
  /** Values by `secret@version`. */
  readonly secrets = new Map<string, string>()
  readonly credentials = new Map<string, { host: string; username: string; password: string }>()
  readonly artifacts = new Map<string, Buffer>()
  readonly calls: { method: string; params: unknown }[] = []
  private server: WebSocketServer | null = null
  url = ''

  async start(subnet: () => string): Promise<void> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/agent' })
    this.server = server
    server.on('connection', (socket) => socket.on('message', (data) => this.take(socket, String(data), subnet())))
    await new Promise((resolve) => server.once('listening', resolve))
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.server?.clients ?? []) socket.terminate()
    await new Promise((resolve) => this.server?.close(resolve))
  }

  private take(socket: WebSocket, text: string, subnet: string): void {
    const send = (frame: ApiFrame) => socket.send(JSON.stringify(frame))
    const frame = agentFrameSchema.parse(JSON.parse(text))
    const now = Date.now()
    if (frame.type === 'hello') send({ type: 'welcome', node: 'n', subnet, dnsTtlSeconds: 1, now, keepImages: [] })
    if (frame.type === 'heartbeat') send({ type: 'heartbeatAnswer', sentAt: frame.sentAt, now, keepImages: [] })
    if (frame.type !== 'call') return
    this.calls.push({ method: frame.method, params: frame.params })
    try {
      send({ type: 'end', id: frame.id, value: this.answer(frame.method, frame.params) })
    } catch (error) {
      send({ type: 'error', id: frame.id, reason: 'CallFailed', message: (error as Error).message })
    }
  }

  private answer(method: string, params: unknown): unknown {
    if (method === 'secretValues') {
      const keys = apiMethods.secretValues.parse(params).refs.map((ref) => `${ref.secret}@${ref.version}`)
      return { values: keys.map((key) => known(this.secrets, key)) }
    }
    if (method === 'registryCredential') return known(this.credentials, apiMethods.registryCredential.parse(params).name)
    if (method !== 'putArtifact') throw new Error(`no method ${method}`)
    const content = Buffer.from(apiMethods.putArtifact.parse(params).content, 'base64')
    const sha256 = createHash('sha256').update(content).digest('hex')
    this.artifacts.set(sha256, content)
    return { sha256 }
  }
}

function known<T>(all: ReadonlyMap<string, T>, key: string): T {
  const found = all.get(key)
  if (found === undefined) throw new Error(`${key} is not there`)
  return found
}
