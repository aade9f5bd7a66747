import { beforeEach, describe, expect, it } from 'vitest'
import { generateSigningKey, signingKeyOf } from '../src/adapters/crypto/signing.js'
import type { Settled } from '../src/reconcile/action.js'
import { partsOfHosts } from '../src/reconcile/ingress/config-hosts.js'
import type { IngressDesired } from '../src/reconcile/ingress/desired.js'
import { renderCaddyConfig } from '../src/reconcile/ingress/render.js'
import { ingressInputOf } from '../src/reconcile/testing/ingress-world.js'
import { MemoryPassStore } from '../test/simulation/memory-pass-store.js'
import { decidePass } from './decide.js'

const now = Date.UTC(2030, 0, 1)
const signingKey = signingKeyOf(generateSigningKey().privatePem)

describe('decidePass, of an ingress', () => {
  let store: MemoryPassStore

  beforeEach(async () => {
    store = new MemoryPassStore({ dnsTtlSeconds: 5 })
    await store.addNode({ id: 'node_1', name: 'n1', subnet: '10.192.0.0/20' }, now)
    await store.create({ id: 'ing_1', kind: 'ingress', project: 'platform', name: 'edge', spec: {} }, now)
    const spec = { image: 'shop/web:1', ports: [8080], domains: [{ host: 'a.test' }] }
    await store.create({ id: 'app_a', kind: 'application', project: 'shop', name: 'web', spec }, now)
  })

  const wanted = async () => (await store.peek('ing_1'))?.desired as IngressDesired
  const pass = async (at: number, ...settled: Settled[]) => {
    const claimed = await store.claim('ing_1')
    const { observed } = ingressInputOf({ loaded: null })
    const seen = observed.map((o) => ({ ...o, node: 'node_1' }))
    const input = { pass: claimed?.pass ?? 0, observed: seen, settled, inFlight: [], quiet: false }
    await decidePass({ instance: 'i1', store, signingKey, clock: () => at }, 'ing_1', input)
    return store.read('ing_1')
  }
  const failed: Settled = {
    key: 'load:ofbefore',
    verb: 'loadIngressConfig',
    ok: false,
    reason: 'ConfigRefused',
    message: 'no',
    retryable: true,
    cancelled: false,
    generation: 1,
  }

  it('a load of what is not wanted any more failed -> its failure stays for its wait, and no longer', async () => {
    expect((await pass(now, failed))?.failures.map((f) => f.key)).toEqual(['load:ofbefore'])
    expect(await pass(now + 500)).toMatchObject({
      failures: [{ key: 'load:ofbefore' }],
      lastError: 'load:ofbefore: ConfigRefused: no',
    })
    expect(await pass(now + 1_000)).toMatchObject({ failures: [], lastError: null })
  })

  it('a load names a host -> written down, an event says it, and the next configuration is without it', async () => {
    const { spec, targets } = await wanted()
    const part = partsOfHosts(renderCaddyConfig(spec, targets, new Map()).config).get('a.test') ?? ''
    const result = { loaded: null, refused: [{ host: 'a.test', message: 'no such thing', part }] }
    const row = await pass(now, { key: 'load:x', verb: 'loadIngressConfig', ok: true, generation: 1, result })
    expect((await wanted()).domains).toMatchObject([{ host: 'a.test', refusal: { message: 'no such thing', part, at: now } }])
    expect(row?.events).toMatchObject([
      { severity: 'Warning', reason: 'Refused', message: 'a.test: no such thing' },
      { reason: 'ConfigPending', message: expect.stringContaining(' 0 of them with a certificate') as string },
    ])
  })
})
