import { openSync, closeSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { dirname, basename } from 'node:path'

/** Caddy answered, and says no. `message` is its own. */
export class CaddyRefusal extends Error {}

/** Nobody listens on the socket, or it gave no answer in time. */
export class CaddyAway extends Error {}

const timeoutMs = 30_000
const awayCodes = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'])

/** Without `must-revalidate` a configuration equal to the present one is no load, and files that it names are not read again. */
const loadHeaders = { 'content-type': 'application/json', 'cache-control': 'must-revalidate' }

/** Caddy's admin interface on its unix socket. */
export class CaddyAdmin {
  constructor(private readonly socket: string) {}

  /** Takes the configuration as a whole, also when it is there already; the one before stays when it is refused. */
  async load(config: string, signal: AbortSignal): Promise<void> {
    await this.ask('POST', '/load', config, signal)
  }

  /** What is loaded now, as text of JSON. */
  config(signal: AbortSignal): Promise<string> {
    return this.ask('GET', '/config/', null, signal)
  }

  private async ask(method: 'GET' | 'POST', path: string, body: string | null, signal: AbortSignal): Promise<string> {
    const folder = openFolder(dirname(this.socket))
    try {
      // A socket's path has at most 107 bytes; by way of the open folder it is short wherever that lies.
      const socketPath = `/proc/self/fd/${folder}/${basename(this.socket)}`
      // A connection that is kept alive may be closed by the load that it carried.
      const headers = body === null ? {} : { ...loadHeaders, 'content-length': Buffer.byteLength(body) }
      const { status, text } = await send({ socketPath, method, path, headers, agent: false, signal, timeout: timeoutMs }, body)
      if (status < 400) return text
      throw new CaddyRefusal(messageIn(text))
    } finally {
      closeSync(folder)
    }
  }
}

function openFolder(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw new CaddyAway(`there is no folder ${path}`, { cause: error })
  }
}

function send(options: object, body: string | null): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(options, (response: IncomingMessage) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 500, text: Buffer.concat(chunks).toString('utf8') }))
    })
    asked.on('timeout', () => asked.destroy(new CaddyAway(`no answer within ${timeoutMs / 1000} s`)))
    asked.on('error', (error: NodeJS.ErrnoException) =>
      reject(awayCodes.has(error.code ?? '') ? new CaddyAway(error.message, { cause: error }) : error),
    )
    asked.end(body ?? undefined)
  })
}

function messageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: unknown }).error ?? text)
  } catch {
    return text
  }
}
