import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { request as requestPlain, type IncomingHttpHeaders, type RequestOptions } from 'node:http'
import { request as requestSecure, type RequestOptions as SecureRequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import { fillSlots } from '../../src/adapters/caddy/endpoint-files.js'
import { CADDY_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { freePort } from '../../src/embedded/ports.js'
import { slotFileName } from '../../src/reconcile/ingress/slots.js'
import { ingressPaths, ingressRuntime, unavailableDial } from '../../src/reconcile/ingress/spec.js'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
}

export interface Question {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** The real Caddy in a container, as the ingress runs it: everything it reads and says lies in folders of this process. */
export class CaddyUnderTest {
  private constructor(
    /** With `run`, `endpoints`, `secrets`, `files`, `data` and `config`. */
    readonly folder: string,
    readonly container: Docker.Container,
    readonly httpPort: number,
    readonly httpsPort: number,
  ) {}

  static async start(docker: Docker): Promise<CaddyUnderTest> {
    const folder = await mkdtemp(join(tmpdir(), 'ek-in-'))
    await chmod(folder, 0o755)
    const binds = await Promise.all(
      Object.entries({
        run: ingressPaths.sockets,
        endpoints: ingressPaths.endpoints,
        secrets: ingressPaths.secrets,
        files: ingressPaths.files,
        data: ingressPaths.data,
        config: ingressPaths.config,
      }).map(async ([name, path]) => {
        await mkdir(join(folder, name))
        return `${join(folder, name)}:${path}`
      }),
    )
    const container = await docker.createContainer({
      name: `ek-ingress-test-${randomBytes(4).toString('hex')}`,
      Image: CADDY_IMAGE,
      Cmd: ['caddy', 'run', '--resume'],
      Env: [
        ...ingressRuntime.map(([name, value]) => `${name}=${value}`),
        `XDG_DATA_HOME=${ingressPaths.data}`,
        `XDG_CONFIG_HOME=${ingressPaths.config}`,
        // Until there is a configuration, which then says it itself.
        `CADDY_ADMIN=unix/${ingressPaths.adminSocket}|0660`,
      ],
      HostConfig: { NetworkMode: 'host', Binds: binds },
    })
    const caddy = new CaddyUnderTest(folder, container, await freePort(), await freePort())
    await caddy.up()
    return caddy
  }

  /** After kill(), or for the first time. */
  async up(): Promise<void> {
    await this.container.start()
    const deadline = Date.now() + 20_000
    for (;;) {
      const answer = await this.admin('GET', '/config/').catch(() => null)
      if (answer?.status === 200) return
      if (Date.now() > deadline) throw new Error(`Caddy does not answer: ${await this.log()}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async kill(): Promise<void> {
    await this.container.kill({ signal: 'SIGKILL' })
    await this.container.wait()
  }

  async stop(): Promise<void> {
    await this.container.remove({ force: true, v: true }).catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }

  async log(): Promise<string> {
    return (await this.container.logs({ stdout: true, stderr: true, tail: 20 })).toString('utf8')
  }

  load(config: object): Promise<Answer> {
    return this.admin('POST', '/load', JSON.stringify(config))
  }

  admin(method: string, path: string, body = ''): Promise<Answer> {
    const options = { socketPath: join(this.folder, 'run', 'admin.sock'), method, path, agent: false } as const
    return ask(requestPlain, { ...options, headers: { host: 'localhost', 'content-type': 'application/json' } }, body)
  }

  /** As the agent does it: what is read is whole at every moment. */
  async setEndpoints(target: string, dials: string[]): Promise<void> {
    for (const [slot, dial] of fillSlots(dials, unavailableDial).entries()) {
      const file = join(this.folder, 'endpoints', slotFileName(target, slot))
      await writeFile(`${file}.new`, dial)
      await rename(`${file}.new`, file)
    }
  }

  setSecret(file: string, content: string): Promise<void> {
    return writeFile(join(this.folder, 'secrets', file), content)
  }

  setFile(file: string, content: string): Promise<void> {
    return writeFile(join(this.folder, 'files', file), content)
  }

  /** Chain and key as the internal authority made them. */
  async madeCertificate(host: string): Promise<string> {
    const folder = join(this.folder, 'data', 'caddy', 'certificates', 'local', host)
    const parts = await Promise.all([
      readFile(join(folder, `${host}.crt`), 'utf8'),
      readFile(join(folder, `${host}.key`), 'utf8'),
    ])
    return parts.join('\n')
  }

  async internalRoots(): Promise<string> {
    return (await this.admin('GET', '/pki/ca/local/certificates')).text
  }

  get(host: string, question: Question = {}): Promise<Answer> {
    return ask(requestPlain, { ...this.options(host, question), port: this.httpPort }, question.body)
  }

  /** `host` is also the name that the certificate is asked for, and proved for. */
  getSecure(host: string, ca: string, question: Question = {}): Promise<Answer> {
    return ask(requestSecure, { ...this.options(host, question), port: this.httpsPort, servername: host, ca }, question.body)
  }

  private options(host: string, { path = '/', method = 'GET', headers = {} }: Question): RequestOptions {
    return { host: '127.0.0.1', path, method, headers: { ...headers, host }, agent: false, timeout: 20_000 }
  }
}

function ask(request: typeof requestPlain | typeof requestSecure, options: SecureRequestOptions, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const whole = Buffer.concat(chunks)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: whole, text: whole.toString('utf8') })
      })
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', reject)
    sent.end(body)
  })
}
