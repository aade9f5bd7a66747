import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createPlainServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shop } from '../../test/fixtures/certificates.js'
import type { EngineContainer } from '../adapters/docker/engine.js'
import { canonicalJson } from '../reconcile/hash.js'
import { hostsIn, partsOfHosts } from '../reconcile/ingress/config-hosts.js'
import { renderCaddyConfig } from '../reconcile/ingress/render.js'
import { ActionFailure } from './action-failure.js'
import { Ingress } from './ingress.js'

const never = new AbortController().signal
const hashOf = (config: object) => createHash('sha256').update(canonicalJson(config)).digest('hex')
const configA = { apps: { http: { a: 1 } } }
const configB = { apps: { http: { b: 1 } } }

/** Caddy's admin interface as far as it goes: it takes a configuration as a whole, and shows it. */
class FakeCaddy {
  config: unknown = { admin: {} }
  loads: unknown[] = []
  refusal: string | null = null
  /** Refuses what serves one of these. */
  refusedHosts: string[] = []
  /** Keeps this in place of what it is given. */
  instead: object | null = null
  onLoad: () => void = () => undefined
  private readonly server: Server

  constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const forced = request.headers['cache-control'] === 'must-revalidate'
        const [status, body] = this.answer(`${request.method} ${request.url}`, Buffer.concat(chunks).toString('utf8'), forced)
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(body)
      })
    })
  }

  listen(socket: string): Promise<void> {
    return new Promise((resolve) => this.server.listen(socket, resolve))
  }

  close(): void {
    this.server.close()
  }

  refusalOf(config: string): string | null {
    const host = hostsIn(JSON.parse(config) as object).find((h) => this.refusedHosts.includes(h))
    return host === undefined ? null : `loading http app module: ${host}: no such thing`
  }

  private answer(asked: string, body: string, forced: boolean): [number, string] {
    if (asked === 'GET /config/') return [200, `${JSON.stringify(this.config)}\n`]
    if (asked !== 'POST /load') return [404, '{}']
    this.onLoad()
    const refusal = this.refusal ?? this.refusalOf(body)
    if (refusal !== null) return [400, JSON.stringify({ error: refusal })]
    // What it has already it does not load again unless it is told to.
    if (!forced && canonicalJson(JSON.parse(body)) === canonicalJson(this.config)) return [200, '']
    this.loads.push(JSON.parse(body))
    this.config = this.instead ?? JSON.parse(body)
    return [200, '']
  }
}

describe('Ingress', () => {
  let stateDir: string
  let caddy: FakeCaddy
  let ingress: Ingress
  let there: EngineContainer[]
  let now: number
  let values: Map<string, string>
  /** The API. */
  let away: boolean
  let artifacts: Map<string, string>
  /** Commands in Caddy's container, and what they end with. */
  let commands: { container: string; command: string[]; config: string }[]
  let exitCodes: (number | null)[]
  let onCommand: () => void

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'ingress-'))
    mkdirSync(join(stateDir, 'ingress/sockets'), { recursive: true })
    caddy = new FakeCaddy()

    now = 0
    away = false
    values = new Map([
      ['cert@1', 'first'],
      ['cert@2', 'second'],
    ])
    artifacts = new Map([configA, configB].map((c) => [hashOf(c), canonicalJson(c)]))
    commands = []
    exitCodes = []
    onCommand = () => undefined
    there = [{ id: 'caddy', state: 'running' } as EngineContainer]
    ingress = new Ingress({
      instance: 'i1',
      engine: {
        list: async () => there,
        logs: async () => undefined,
        exec: async (container, command) => {
          const config = readFileSync(join(stateDir, 'ingress/files', basename(command.at(-1) ?? '')), 'utf8')
          commands.push({ container, command, config })
          onCommand()
          const refusal = caddy.refusalOf(config)
          const exitCode = exitCodes.length > 0 ? exitCodes.shift()! : refusal === null ? 0 : 1
          return {
            execId: 'e',
            exitCode,
            output: refusal === null ? 'Valid configuration\n' : `{"level":"info"}\nError: ${refusal}\n`,
          }
        },
      },
      stateDir,
      clock: {
        now: () => now,
        sleep: async (ms, signal) => {
          now += ms
          signal?.throwIfAborted()
          await new Promise((resolve) => setImmediate(resolve))
        },
      },
      secrets: {
        values: async (resource, refs) =>
          new Map(
            refs.map(({ secret, version }) => {
              if (away) throw new ActionFailure('ApiUnreachable', 'it is away', true)
              const value = values.get(`${secret}@${version}`)
              if (value === undefined) throw new ActionFailure('RequiredSecretMissing', `${resource} has no ${secret}`, true)
              return [`${secret}@${version}`, value]
            }),
          ),
      },
      artifacts: {
        get: async (sha256) => {
          const text = artifacts.get(sha256)
          if (text === undefined) throw new ActionFailure('ApiUnreachable', 'no such artifact', true)
          return Buffer.from(text)
        },
      },
    })
  })
  afterEach(() => {
    caddy.close()
    rmSync(stateDir, { recursive: true })
  })

  const runs = () => caddy.listen(join(stateDir, 'ingress/sockets/admin.sock'))
  const secret = (version: number) => ({ file: `app_a-cert-${version}.pem`, resource: 'app_a', secret: 'cert', version })
  const load = (
    config: object,
    more: { secrets?: ReturnType<typeof secret>[]; files?: { file: string; content: string }[] } = {},
  ) => ingress.load({ config: hashOf(config), secrets: [], files: [], ...more }, never)
  const filesIn = (folder: 'secrets' | 'files') => {
    const path = join(stateDir, 'ingress', folder)
    return existsSync(path) ? readdirSync(path).sort() : []
  }

  it('another configuration is there -> loaded, and what Caddy then shows is the answer', async () => {
    await runs()
    expect(await load(configA)).toEqual({ loaded: hashOf(configA) })
    expect(caddy.loads).toEqual([configA])
  })

  it('it is there already, also in another order -> no load: that would end what clients keep open', async () => {
    await runs()
    caddy.config = { apps: { http: { a: 1 } } }
    await load(configA)
    expect(caddy.loads).toEqual([])
  })

  it('refused -> Caddy says why, and what was there stays', async () => {
    await runs()
    caddy.refusal = 'loading module: unknown module: http.handlers.nonsense'
    await expect(load(configA)).rejects.toMatchObject({ reason: 'ConfigRefused', message: caddy.refusal, retryable: true })
    expect(caddy.config).toEqual({ admin: {} })
  })

  it('it shows another one afterwards -> told, not taken for a success', async () => {
    await runs()
    caddy.instead = configB
    await expect(load(configA)).rejects.toMatchObject({ reason: 'ConfigNotKept', retryable: true })
  })

  it('an address is in use -> who has it is told', async () => {
    await runs()
    const holder = createPlainServer()
    const port = await new Promise<number>((resolve) =>
      holder.listen(0, '127.0.0.1', () => resolve((holder.address() as AddressInfo).port)),
    )
    caddy.refusal = `loading new config: http app module: start: listening on :${port}: listen tcp :${port}: bind: address already in use`
    const failure = await load(configA).catch((error: unknown) => error as ActionFailure)
    holder.close()
    expect(failure).toMatchObject({ reason: 'PortTaken', retryable: true })
    expect((failure as ActionFailure).message).toContain(`port ${port} is held by process ${process.pid}`)
  })

  it('an address is in use, and nobody of this machine seems to have it -> told all the same', async () => {
    await runs()
    caddy.refusal = 'listening on :1: listen tcp :1: bind: address already in use'
    await expect(load(configA)).rejects.toMatchObject({
      reason: 'PortTaken',
      message: expect.stringContaining('another program') as string,
    })
  })

  it('nobody listens -> not running, after ten seconds', async () => {
    await expect(load(configA)).rejects.toMatchObject({ reason: 'IngressNotRunning', retryable: true })
    expect(now).toBeGreaterThan(10_000)
    expect(now).toBeLessThan(11_000)
  })

  it('its container is gone -> not running, at once: waiting would keep it from being made again', async () => {
    there = []
    await expect(load(configA)).rejects.toMatchObject({ reason: 'IngressNotRunning', retryable: true })
    expect(now).toBeLessThan(1_000)
  })

  it('there is not even a folder -> not running', async () => {
    rmSync(join(stateDir, 'ingress'), { recursive: true })
    await expect(load(configA)).rejects.toMatchObject({ reason: 'IngressNotRunning' })
  })

  it('it is about to start -> waited for', async () => {
    const loading = load(configA)
    await runs()
    expect(await loading).toEqual({ loaded: hashOf(configA) })
  })

  it('cancelled while it is waited for -> ends', async () => {
    const cancelled = AbortSignal.abort(new Error('cancelled'))
    await expect(ingress.load({ config: hashOf(configA), secrets: [], files: [] }, cancelled)).rejects.toThrow()
    expect(now).toBeLessThan(1_000)
  })

  it('the configuration cannot be had -> told, and nothing is touched', async () => {
    await runs()
    await expect(load({ unknown: 1 })).rejects.toMatchObject({ reason: 'ApiUnreachable' })
    expect(caddy.loads).toEqual([])
  })

  describe('files that a configuration names', () => {
    beforeEach(runs)

    it('secrets and files -> there before the load, readable by their owner alone', async () => {
      let atLoad: string[] = []
      caddy.onLoad = () => (atLoad = [...filesIn('secrets'), ...filesIn('files')])
      await load(configA, { secrets: [secret(1)], files: [{ file: 'roots.pem', content: 'roots' }] })
      expect(atLoad).toEqual(['app_a-cert-1.pem', 'roots.pem'])
      const path = join(stateDir, 'ingress/secrets/app_a-cert-1.pem')
      expect(readFileSync(path, 'utf8')).toBe('first')
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(statSync(join(stateDir, 'ingress/secrets')).mode & 0o777).toBe(0o700)
    })

    it('another version -> beside the one before until the load is over, then alone', async () => {
      await load(configA, { secrets: [secret(1)], files: [{ file: 'old.pem', content: '' }] })
      let atLoad: string[] = []
      caddy.onLoad = () => (atLoad = [...filesIn('secrets'), ...filesIn('files')])
      await load(configB, { secrets: [secret(2)] })
      expect(atLoad).toEqual(['app_a-cert-1.pem', 'app_a-cert-2.pem', 'old.pem'])
      expect([...filesIn('secrets'), ...filesIn('files')]).toEqual(['app_a-cert-2.pem'])
    })

    it('refused -> what the configuration before names is still there', async () => {
      await load(configA, { secrets: [secret(1)] })
      caddy.refusal = 'no'
      await expect(load(configB, { secrets: [secret(2)] })).rejects.toThrow('no')
      expect(filesIn('secrets')).toContain('app_a-cert-1.pem')
    })

    it('a value that changed under the same configuration, or was lost -> loaded again', async () => {
      await load(configA, { secrets: [secret(1)] })
      await load(configA, { secrets: [secret(1)] })
      expect(caddy.loads).toHaveLength(1)
      values.set('cert@1', 'restored')
      await load(configA, { secrets: [secret(1)] })
      expect(caddy.loads).toHaveLength(2)
      rmSync(join(stateDir, 'ingress/secrets/app_a-cert-1.pem'))
      await load(configA, { secrets: [secret(1)] })
      expect(caddy.loads).toHaveLength(3)
      expect(readFileSync(join(stateDir, 'ingress/secrets/app_a-cert-1.pem'), 'utf8')).toBe('restored')
    })

    it('a value that changed, and the load that failed -> the next one loads it', async () => {
      await load(configA, { secrets: [secret(1)] })
      values.set('cert@1', 'renewed')
      caddy.refusal = 'busy'
      await expect(load(configA, { secrets: [secret(1)] })).rejects.toThrow('busy')
      caddy.refusal = null
      await load(configA, { secrets: [secret(1)] })
      expect(caddy.loads).toHaveLength(2)
    })

    it('a value that is told no longer, and is here -> Caddy goes on with it', async () => {
      await load(configA, { secrets: [secret(1)] })
      values.delete('cert@1')
      await load(configB, { secrets: [secret(1)] })
      expect(caddy.loads).toEqual([configA, configB])
      expect(readFileSync(join(stateDir, 'ingress/secrets/app_a-cert-1.pem'), 'utf8')).toBe('first')
    })

    it('the API is away -> told, and nothing is loaded', async () => {
      away = true
      await expect(load(configA, { secrets: [secret(1)] })).rejects.toMatchObject({ reason: 'ApiUnreachable' })
      expect(caddy.loads).toEqual([])
    })

    it('a file that somebody left -> removed after a load', async () => {
      mkdirSync(join(stateDir, 'ingress/files'), { recursive: true })
      writeFileSync(join(stateDir, 'ingress/files/stale.pem'), '')
      await load(configA)
      expect(filesIn('files')).toEqual([])
    })
  })

  describe('hosts that are refused', () => {
    beforeEach(runs)

    const rendered = (hosts: string[], own: string[] = []) => {
      const domains = [
        ...hosts.map((host) => ({ host, tls: 'off' as const })),
        ...own.map((host) => ({ host, tls: 'certificate' as const, certificate: 'cert' })),
      ]
      const target = { resource: 'app_a', title: 'shop/a', domains, ports: [80], dial: null, secretVersions: { cert: 1 } }
      const { config, secrets } = renderCaddyConfig({}, [target], new Map())
      artifacts.set(hashOf(config), canonicalJson(config))
      return { config, secrets, parts: partsOfHosts(config) }
    }
    const many = (count: number) => Array.from({ length: count }, (_, i) => `h${i}.test`)

    it('Caddy refuses some -> they are named with its words and what was said of them, and nothing is loaded', async () => {
      const { config, parts } = rendered(many(16))
      caddy.refusedHosts = ['h3.test', 'h11.test']
      expect(await load(config)).toEqual({
        loaded: null,
        refused: ['h11.test', 'h3.test'].map((host) => ({
          host,
          message: `loading http app module: ${host}: no such thing`,
          part: parts.get(host),
        })),
      })
      expect(caddy.loads).toEqual([])
      expect(commands[0]).toMatchObject({
        container: 'caddy',
        command: ['caddy', 'validate', '--config', '/files/.candidate.json'],
      })
      expect(commands.length).toBeLessThanOrEqual(30)
      expect(filesIn('files')).toEqual([])
    })

    it('one that is new beside those that serve -> tried in a few steps', async () => {
      await load(rendered(many(200)).config)
      caddy.refusedHosts = ['new.test']
      expect((await load(rendered([...many(200), 'new.test']).config)).refused).toMatchObject([{ host: 'new.test' }])
      expect(commands).toHaveLength(3)
      expect(caddy.loads).toHaveLength(1)
    })

    it('the configuration without them -> loaded', async () => {
      caddy.refusedHosts = ['bad.test']
      const { config } = rendered(['good.test'])
      await load(rendered(['good.test', 'bad.test']).config)
      expect(await load(config)).toEqual({ loaded: hashOf(config) })
    })

    it('it is refused without any host too -> as a whole', async () => {
      caddy.refusal = 'no such module'
      exitCodes = [1]
      await expect(load(rendered(many(4)).config)).rejects.toMatchObject({ reason: 'ConfigRefused', message: 'no such module' })
      expect(commands).toHaveLength(1)
    })

    it('only the load itself refuses -> as a whole', async () => {
      caddy.refusal = 'starting: no'
      await expect(load(rendered(many(4)).config)).rejects.toMatchObject({ reason: 'ConfigRefused', message: 'starting: no' })
    })

    it('a port is taken -> nobody is asked', async () => {
      caddy.refusal = 'listening on :1: listen tcp :1: bind: address already in use'
      await expect(load(rendered(many(4)).config)).rejects.toMatchObject({ reason: 'PortTaken' })
      expect(commands).toEqual([])
    })

    it.each([null, 127, 137])('the trial ends with %s -> no answer: as a whole, and no file is left', async (code) => {
      caddy.refusedHosts = ['h1.test']
      exitCodes = [0, code]
      await expect(load(rendered(many(4)).config)).rejects.toMatchObject({ reason: 'ConfigRefused' })
      expect(commands).toHaveLength(2)
      expect(filesIn('files')).toEqual([])
    })

    it('cancelled amid the search -> ends', async () => {
      caddy.refusedHosts = ['h1.test']
      const cancel = new AbortController()
      const { config } = rendered(many(8))
      onCommand = () => cancel.abort(new Error('cancelled'))
      await expect(ingress.load({ config: hashOf(config), secrets: [], files: [] }, cancel.signal)).rejects.toThrow('cancelled')
      expect(commands).toHaveLength(1)
    })

    it('a certificate that Caddy could not read -> its hosts are named, and no file is written', async () => {
      values.set('cert@1', shop.certificate)
      const { config, secrets, parts } = rendered(['plain.test'], ['a.test', '*.b.test'])
      const answer = await load(config, { secrets })
      const message = 'its certificate holds no private key: it takes PEM, the chain and its key one below the other'
      expect(answer).toEqual({
        loaded: null,
        refused: ['a.test', '*.b.test'].map((host) => ({ host, message, part: parts.get(host) })),
      })
      expect([caddy.loads, filesIn('secrets')]).toEqual([[], []])
    })

    it('a certificate that is not told -> its hosts are named, so that the others are served', async () => {
      values.delete('cert@1')
      const { config, secrets, parts } = rendered(['plain.test'], ['a.test'])
      const message = 'its certificate cannot be had: app_a has no cert'
      expect(await load(config, { secrets })).toEqual({
        loaded: null,
        refused: [{ host: 'a.test', message, part: parts.get('a.test') }],
      })
      expect([caddy.loads, filesIn('secrets')]).toEqual([[], []])
    })

    it('a good certificate -> loaded', async () => {
      values.set('cert@1', `${shop.certificate}\n${shop.key}`)
      const { config, secrets } = rendered(['plain.test'], ['a.test'])
      expect(await load(config, { secrets })).toEqual({ loaded: hashOf(config) })
      expect(filesIn('secrets')).toEqual(['app_a-cert-1.pem'])
    })

    it('many of them -> fifty are named', async () => {
      values.set('cert@1', 'no certificate')
      const { config, secrets } = rendered([], many(80))
      const { refused = [] } = await load(config, { secrets })
      expect(refused).toHaveLength(50)
      expect(JSON.stringify(refused).length).toBeLessThan(25_000)
    })
  })

  describe('observe', () => {
    const observe = (...hosts: string[]) => ingress.observe({ httpsPort: 1, hosts })

    it('it runs -> the hash of what is loaded, and of each host what there is to be said', async () => {
      await runs()
      caddy.config = configA
      expect(await observe('a.test')).toEqual({
        loaded: hashOf(configA),
        certificates: { 'a.test': { issuer: null, notAfter: null, error: expect.stringContaining('ECONNREFUSED') as string } },
      })
    })

    it('nobody listens -> nothing is loaded, nothing is said of certificates, no failure and no wait', async () => {
      expect(await observe('a.test')).toEqual({ loaded: null, certificates: {} })
      expect(now).toBe(0)
    })
  })
})
