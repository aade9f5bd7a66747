import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json'
const listType = 'application/vnd.docker.distribution.manifest.list.v2+json'

export const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** How the registry treats a request for a repository whose name ends so. */
type Mood = 'private' | 'limited' | 'broken' | 'foreign'

/**
 * As much of a registry's HTTP API as an engine needs to ask for a digest and to pull, with tiny images that it makes up.
 * Served on 127.0.0.1, where every engine accepts plain HTTP.
 */
export class SmallRegistry {
  private readonly blobs = new Map<string, Buffer>()
  private readonly tags = new Map<string, { type: string; bytes: Buffer }>()
  private server: Server | null = null
  host = ''
  /** Values of `Authorization` as they came, the newest last. */
  readonly shown: (string | undefined)[] = []

  /** `login`: who may read here; absent = everybody. */
  constructor(private readonly login: { username: string; password: string } | null = null) {}

  async start(): Promise<void> {
    this.server = createServer((request, response) => this.answer(request, response))
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve))
    this.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections()
    await new Promise((resolve) => this.server?.close(resolve))
  }

  /** Publishes an image whose content differs with `content`, and returns its digest. */
  push(repository: string, tag: string, content: string, architecture = 'amd64'): string {
    const layer = tarOf('content', content)
    const zipped = gzipSync(layer)
    const config = Buffer.from(
      JSON.stringify({
        architecture,
        os: 'linux',
        config: { Cmd: ['/none'] },
        rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      }),
    )
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: { mediaType: 'application/vnd.docker.container.image.v1+json', size: config.length, digest: this.keep(config) },
        layers: [
          { mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip', size: zipped.length, digest: this.keep(zipped) },
        ],
      }),
    )
    return this.tag(repository, tag, manifestType, manifest)
  }

  /** Publishes an image that exists for another architecture only. */
  pushForeign(repository: string, tag: string): void {
    const digest = this.push(repository, `${tag}-s390x`, 'foreign', 's390x')
    const { bytes } = this.tags.get(`${repository}:${tag}-s390x`) ?? { bytes: Buffer.alloc(0) }
    const list = {
      schemaVersion: 2,
      mediaType: listType,
      manifests: [{ mediaType: manifestType, size: bytes.length, digest, platform: { architecture: 's390x', os: 'linux' } }],
    }
    this.tag(repository, tag, listType, Buffer.from(JSON.stringify(list)))
  }

  private tag(repository: string, tag: string, type: string, bytes: Buffer): string {
    for (const reference of [tag, digestOf(bytes)]) this.tags.set(`${repository}:${reference}`, { type, bytes })
    return digestOf(bytes)
  }

  private keep(bytes: Buffer): string {
    this.blobs.set(digestOf(bytes), bytes)
    return digestOf(bytes)
  }

  private admits({ headers }: IncomingMessage): boolean {
    if (!this.login) return true
    const { username, password } = this.login
    return headers.authorization === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const [, repository = '', kind = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? []
    this.shown.push(request.headers.authorization)
    if (!this.admits(request)) {
      response.setHeader('www-authenticate', 'Basic realm="registry"')
      return refuse(response, 401, 'UNAUTHORIZED', 'authentication required')
    }
    if (request.url === '/v2/') return void response.writeHead(200).end()
    const mood = /-(private|limited|broken)$/.exec(repository)?.[1] as Mood | undefined
    if (mood === 'private') return refuse(response, 401, 'UNAUTHORIZED', 'authentication required')
    if (mood === 'limited') return refuse(response, 429, 'TOOMANYREQUESTS', 'You have reached your pull rate limit.')
    if (mood === 'broken') return void response.writeHead(503).end()
    if (kind === 'blobs') return send(response, 'application/octet-stream', this.blobs.get(reference), request.method)
    const found = this.tags.get(`${repository}:${reference}`)
    if (!found) return refuse(response, 404, 'MANIFEST_UNKNOWN', 'manifest unknown')
    send(response, found.type, found.bytes, request.method)
  }
}

function send(response: ServerResponse, type: string, bytes: Buffer | undefined, method = 'GET'): void {
  if (!bytes) return refuse(response, 404, 'BLOB_UNKNOWN', 'blob unknown')
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length, 'docker-content-digest': digestOf(bytes) })
  response.end(method === 'HEAD' ? undefined : bytes)
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ errors: [{ code, message }] }))
}

/** A tar archive of one file. */
function tarOf(name: string, text: string): Buffer {
  const content = Buffer.from(text)
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\0' + '00', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512), Buffer.alloc(1024)])
}
