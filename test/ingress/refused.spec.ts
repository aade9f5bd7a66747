import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DockerodeEngine } from '../../src/adapters/docker/dockerode-engine.js'
import type { EngineContainer } from '../../src/adapters/docker/engine.js'
import { ActionFailure } from '../../src/agent/action-failure.js'
import { Ingress } from '../../src/agent/ingress.js'
import type { ArgsOf, Settled } from '../../src/reconcile/action.js'
import { canonicalJson } from '../../src/reconcile/hash.js'
import { withoutHosts } from '../../src/reconcile/ingress/config-hosts.js'
import type { DomainState } from '../../src/reconcile/ingress/desired.js'
import type { Domain } from '../../src/reconcile/ingress/domain.js'
import { ingressController } from '../../src/reconcile/ingress/plan.js'
import { renderCaddyConfig } from '../../src/reconcile/ingress/render.js'
import type { IngressSpec } from '../../src/reconcile/ingress/spec.js'
import { planWithRecords } from '../../src/reconcile/preview.js'
import { domainOf, ingressInputOf, targetOf } from '../../src/reconcile/testing/ingress-world.js'
import { shop } from '../fixtures/certificates.js'
import { CaddyUnderTest } from './caddy-under-test.js'
import { Upstream } from './upstream.js'

const never = new AbortController().signal
const hashOf = (config: object) => createHash('sha256').update(canonicalJson(config)).digest('hex')

describe('hosts that the real Caddy refuses', () => {
  let caddy: CaddyUnderTest
  let upstream: Upstream
  let ingress: Ingress
  let stateDir: string
  let settings: IngressSpec
  const artifacts = new Map<string, string>()
  const secrets = new Map<string, string>()
  const secretOf = (ref: string): string => {
    const value = secrets.get(ref)
    if (value === undefined) throw new ActionFailure('RequiredSecretMissing', `${ref} does not open`, true)
    return value
  }

  beforeAll(async () => {
    caddy = await CaddyUnderTest.start(new Docker())
    upstream = await Upstream.start('one')
    await caddy.setEndpoints('app_a', [upstream.dial])
    settings = { httpPort: caddy.httpPort, httpsPort: caddy.httpsPort, defaultTls: 'off' }
    stateDir = mkdtempSync(join(tmpdir(), 'ek-re-'))
    mkdirSync(join(stateDir, 'ingress'))
    for (const [name, own] of [
      ['sockets', 'run'],
      ['secrets', 'secrets'],
      ['files', 'files'],
    ] as const)
      symlinkSync(join(caddy.folder, own), join(stateDir, 'ingress', name))
    const engine = new DockerodeEngine()
    ingress = new Ingress({
      instance: 'i1',
      engine: {
        list: async () => [{ id: caddy.container.id, state: 'running' } as EngineContainer],
        logs: async () => undefined,
        exec: (...asked) => engine.exec(...asked),
      },
      stateDir,
      clock: { now: () => Date.now(), sleep: (ms) => sleep(ms) },
      secrets: { values: async (_, refs) => new Map(refs.map((r) => [r.secret, secretOf(`${r.secret}@${r.version}`)])) },
      artifacts: { get: async (sha256) => Buffer.from(artifacts.get(sha256) ?? '') },
    })
  }, 60_000)

  afterAll(async () => {
    await caddy?.stop()
    await upstream?.stop()
    rmSync(stateDir, { recursive: true, force: true })
  })

  const load = (config: object) => {
    artifacts.set(hashOf(config), canonicalJson(config))
    return ingress.load({ config: hashOf(config), secrets: [], files: [] }, never)
  }
  const statuses = (...hosts: string[]) => Promise.all(hosts.map(async (host) => (await caddy.get(host)).status))

  it('something that nobody foresaw on two of many -> these are named, the running one notices nothing, the others load', async () => {
    const hosts = Array.from({ length: 24 }, (_, i) => `h${i}.test`)
    const { config } = renderCaddyConfig(
      settings,
      [
        targetOf(
          'app_a',
          hosts.map((host) => ({ host })),
        ),
      ],
      new Map(),
    )
    const odd = ['h5.test', 'h20.test']
    const spoilt = JSON.parse(canonicalJson(config), (_, value: { match?: { host?: string[] }[]; handle?: object[] }) =>
      odd.includes(value?.match?.[0]?.host?.[0] ?? '') ? { ...value, handle: [{ handler: 'nonsense' }] } : value,
    ) as object
    const before = withoutHosts(config, hosts.slice(2))
    expect(await load(before)).toEqual({ loaded: hashOf(before) })

    const began = Date.now()
    const { loaded, refused = [] } = await load(spoilt)
    console.log(`two of ${hosts.length} hosts found in ${Date.now() - began} ms: ${refused[0]?.message}`)
    expect(loaded).toBeNull()
    expect(refused.map((r) => r.host).sort()).toEqual(odd.toSorted())
    for (const { message } of refused) expect(message).toMatch(/unknown module: http\.handlers\.nonsense/)
    expect((await ingress.observe({ httpsPort: 1, hosts: [] })).loaded).toBe(hashOf(before))
    expect(await statuses('h0.test', 'h3.test')).toEqual([200, 404])
    expect(readdirSync(join(caddy.folder, 'files'))).toEqual([])

    const rest = withoutHosts(spoilt, odd)
    expect(await load(rest)).toEqual({ loaded: hashOf(rest) })
    expect(await statuses('h0.test', 'h3.test', 'h5.test')).toEqual([200, 200, 404])
  })

  it('the settings are what is wrong -> refused as a whole, with the words of Caddy', async () => {
    const { config } = renderCaddyConfig(settings, [targetOf('app_a', [{ host: 'a.test' }])], new Map())
    await expect(load({ ...config, storage: { module: 'nonsense' } })).rejects.toMatchObject({
      reason: 'ConfigRefused',
      message: expect.stringContaining('nonsense') as string,
    })
  })

  it(
    'a broken certificate beside good hosts -> they are served, also a new one; it is told, and served when it is good',
    { timeout: 60_000 },
    async () => {
      let domains: DomainState[] = []
      const keeping: typeof ingressController = {
        ...ingressController,
        applyRecord: (desired, record, allocated) => {
          if (record.type === 'config') artifacts.set(record.sha256, record.content)
          return ingressController.applyRecord(desired, record, allocated)
        },
      }
      const untold = { resource: 'app_a', routed: false, reason: 'Pending', certificate: null }
      /** Passes of the planner over what is really loaded, until it plans nothing. Answers what is told of each host. */
      const converge = async (wanted: Domain[], version: number): Promise<Record<string, string>> => {
        domains = wanted.map(({ host }) => domains.find((d) => d.host === host) ?? domainOf(host, untold))
        const targets = [targetOf('app_a', wanted, { secretVersions: { cert: version } })]
        let settled: Settled[] = []
        for (let pass = 0; pass < 5; pass++) {
          const { loaded } = await ingress.observe({ httpsPort: caddy.httpsPort, hosts: [] })
          const setup = { spec: settings, targets, domains, loaded, settled, now: Date.now() }
          const { input, plan } = planWithRecords(keeping, ingressInputOf(setup), () => null)
          domains = input.desired.domains
          const [action] = plan.actions
          if (action?.verb !== 'loadIngressConfig')
            return Object.fromEntries(domains.map((d) => [d.host, `${d.reason} ${d.message}`.trim()]))
          const result = await ingress.load(action.args as ArgsOf<'loadIngressConfig'>, never)
          settled = [{ key: action.key, verb: action.verb, ok: true, result, generation: 1 }]
        }
        throw new Error('it plans for ever')
      }
      const bad: Domain = { host: 'shop.example.test', tls: 'certificate', certificate: 'cert' }
      const good = (...hosts: string[]): Domain[] => hosts.map((host) => ({ host }))
      const secureStatus = async () => (await caddy.getSecure(bad.host, shop.certificate).catch(() => null))?.status ?? null
      const told = 'Refused its certificate has a private key that cannot be read'

      secrets.set('cert@1', `${shop.certificate}\n-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n`)
      expect(await converge([...good('a.test', 'b.test'), bad], 1)).toEqual({
        'a.test': 'Routed',
        'b.test': 'Routed',
        [bad.host]: told,
      })
      expect(await statuses('a.test', 'b.test')).toEqual([200, 200])
      expect(await secureStatus()).toBeNull()

      expect(await converge([...good('a.test', 'b.test', 'new.test'), bad], 1)).toMatchObject({
        'new.test': 'Routed',
        [bad.host]: told,
      })
      expect(await statuses('a.test', 'b.test', 'new.test')).toEqual([200, 200, 200])
      expect(readdirSync(join(caddy.folder, 'secrets'))).toEqual([])

      secrets.set('cert@2', `${shop.certificate}\n${shop.key}`)
      expect(await converge([...good('a.test', 'b.test', 'new.test'), bad], 2)).toMatchObject({
        'new.test': 'Routed',
        [bad.host]: 'Routed',
      })
      expect(await statuses('a.test', 'b.test', 'new.test')).toEqual([200, 200, 200])
      await expect.poll(secureStatus).toBe(200)

      // What Caddy has of that version goes on; of another one that is not told, its hosts alone wait.
      secrets.delete('cert@2')
      expect(await converge([...good('a.test', 'newer.test'), bad], 2)).toMatchObject({
        'newer.test': 'Routed',
        [bad.host]: 'Routed',
      })
      await expect.poll(secureStatus).toBe(200)
      expect(await converge([...good('a.test', 'newest.test'), bad], 3)).toMatchObject({
        'newest.test': 'Routed',
        [bad.host]: 'Refused its certificate cannot be had: cert@3 does not open',
      })
      expect(await statuses('a.test', 'newest.test')).toEqual([200, 200])
    },
  )
})
