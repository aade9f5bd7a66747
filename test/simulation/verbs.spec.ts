import { noIngress } from '../../src/agent/testing/no-ingress.js'
import { noReadiness } from '../../src/agent/testing/no-readiness.js'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { EngineFailure } from '../../src/adapters/docker/engine.js'
import { createExecutor, type ExecutorPorts } from '../../src/agent/executor.js'
import { containerSpecSchema, secretKey, type ArgsGiven, type Verb } from '../../src/reconcile/action.js'
import { label } from '../../src/reconcile/labels.js'
import { calm } from './calm.js'
import { Faults } from './faults.js'
import { Random } from './random.js'
import { SimEngine } from './sim-engine.js'
import { goodImages } from './sim-images.js'
import { VirtualClock } from './virtual-clock.js'

const owner = { instance: 'i', kind: 'application', resource: 'app_a' }
const labels = { [label.instance]: owner.instance, [label.kind]: owner.kind, [label.resource]: owner.resource }
const image = goodImages.find((i) => i.localOnly)?.reference ?? ''
const file = { path: '/conf', mode: 0o400, content: { secret: 'conf', version: 1 } }
const network = { name: 'n', subnet: '10.192.0.0/20', gateway: '10.192.0.1', dynamicRange: '10.192.15.0/24', mtu: 1380, dns: [] }

interface Start {
  name: string
  files: string[]
}

/** An engine with every trouble that a seed draws, and executors that try again until they have an answer for good. */
class Trouble {
  readonly starts: Start[] = []
  readonly clock = new VirtualClock(0)
  readonly random: Random
  readonly engine: SimEngine
  private readonly faults: Faults

  constructor(seed: number) {
    this.random = new Random(seed)
    const profile = { ...calm, engineRefuses: 0.1, engineLosesAnswers: 0.15, engineSlow: 0.02, slowRemoval: 0.2 }
    this.faults = new Faults(profile, this.random)
    const witness = { asked: () => undefined, volumeAsked: () => undefined, changed: () => undefined }
    this.engine = new SimEngine('node_1', this.clock, this.random, this.faults, witness, (line) => this.note(line), 0)
    for (let at = 500; at < 20_000; at += this.random.between(200, 6_000)) this.clock.after(at, () => this.cut())
  }

  /** As the loop does: one attempt after the other, each by an agent that may have just begun. */
  async persist<V extends Verb>(verb: V, args: ArgsGiven<V>): Promise<{ result?: unknown; reason?: string }> {
    let outcome: { result?: unknown; reason?: string } | null = null
    const work = (async () => {
      for (let pass = 1; outcome === null; pass++) {
        const payload = {
          ...owner,
          node: 'node_1',
          key: verb,
          generation: 1,
          pass,
          verb,
          args,
          container: null,
          signedAt: 0,
          notAfter: 1e12,
        }
        try {
          outcome = { result: await createExecutor(this.ports()).act(payload, new AbortController().signal) }
        } catch (error) {
          const { reason, retryable } = error as { reason: string; retryable: boolean }
          if (!retryable) outcome = { reason }
          else await this.clock.sleep(1_000)
        }
        if (pass > 200) throw new Error(`${verb} comes to no end`)
      }
    })()
    let ended = false
    const settled = work.finally(() => (ended = true))
    settled.catch(() => undefined)
    while (!ended) await this.clock.run(this.clock.now() + 100, () => undefined)
    await settled
    return outcome ?? {}
  }

  private ports(): ExecutorPorts {
    const { clock, engine } = this
    return {
      engine,
      clock: { now: clock.now, sleep: (ms, signal) => clock.sleep(ms, signal) },
      prober: noReadiness,
      publisher: { publish: async () => undefined, liveRevision: () => null, names: () => false },
      network: {
        ensure: async () => {
          await engine.ensureNetwork(network)
          return network
        },
        forget: () => undefined,
      },
      pulls: { admit: () => undefined, pulled: () => undefined },
      resolver: { resolve: async () => ({ resolved: image, from: 'image-id', note: '' }) },
      secrets: { values: async (_resource, refs) => new Map(refs.map((ref) => [secretKey(ref), 'value'])) },
      credentials: { credential: async () => ({ host: 'registry.test', username: 'u', password: 'p' }) },
      ...noIngress,
      artifacts: { put: async (content) => createHash('sha256').update(content).digest('hex') },
    }
  }

  private note(line: string): void {
    const [, name] = /: start (\S+) /.exec(line) ?? []
    if (name) this.starts.push({ name, files: [...(this.engine.byName(name)?.files.keys() ?? [])] })
  }

  private cut(): void {
    this.engine.goDown(this.random.chance(0.5))
    this.clock.after(this.random.between(50, 3_000), () => this.engine.comeUp())
  }
}

const spec = (name: string, change: object = {}) =>
  containerSpecSchema.parse({
    name,
    image,
    labels,
    env: [],
    files: [file],
    address: null,
    restartPolicy: 'no',
    stopGraceSeconds: 1,
    ...change,
  })
const seeds = Array.from({ length: 150 }, (_, i) => i + 1)

describe('verbs on an engine that refuses, forgets to answer, and dies', () => {
  it.each([
    ['ok', { result: { exitCode: 0 } }],
    ['fail', { reason: 'PreDeployFailed' }],
  ])('runToEnd of a command that says %s -> started once, with its files, and one answer', async (word, wanted) => {
    for (const seed of seeds) {
      const trouble = new Trouble(seed)
      const container = spec('job', { command: [word], labels: { ...labels, [label.purpose]: 'pre-deploy' } })
      const first = await trouble.persist('runToEnd', { container })
      const again = await trouble.persist('runToEnd', { container })
      const killed = trouble.starts.length === 1 && first.reason === 'PreDeployFailed'
      expect({ seed, first }).toEqual({ seed, first: killed ? { reason: 'PreDeployFailed' } : wanted })
      expect({ seed, again }).toEqual({ seed, again: first })
      expect({ seed, starts: trouble.starts }).toEqual({ seed, starts: [{ name: 'job', files: ['/conf'] }] })
    }
  })

  it('the engine starts a command, and says after its end that it could not -> it is not started again', async () => {
    for (const seed of seeds.slice(0, 30)) {
      const trouble = new Trouble(seed)
      const start = trouble.engine.start.bind(trouble.engine)
      trouble.engine.start = async (id) => {
        await start(id)
        await trouble.clock.sleep(1_000)
        throw new EngineFailure('EngineError', 'task could not be created', true)
      }
      const container = spec('job', { command: ['fail'], labels: { ...labels, [label.purpose]: 'pre-deploy' } })
      expect(await trouble.persist('runToEnd', { container })).toEqual({ reason: 'PreDeployFailed' })
      expect({ seed, starts: trouble.starts.length }).toEqual({ seed, starts: 1 })
    }
  })

  it('ensureContainer -> never started without its files', async () => {
    for (const seed of seeds) {
      const trouble = new Trouble(seed)
      await trouble.persist('ensureContainer', { container: spec('web') })
      expect({ seed, without: trouble.starts.filter((s) => s.files.length === 0) }).toEqual({ seed, without: [] })
      expect(trouble.starts.length).toBeGreaterThan(0)
    }
  })

  it('restartContainer and setResources -> the same container runs, with these limits', async () => {
    for (const seed of seeds) {
      const trouble = new Trouble(seed)
      await trouble.persist('ensureContainer', { container: spec('web') })
      const before = trouble.engine.byName('web')?.id
      expect(await trouble.persist('restartContainer', { name: 'web', graceSeconds: 1 })).toEqual({ result: {} })
      const resources = { memoryBytes: 7_000_000, nanoCpus: null }
      expect(await trouble.persist('setResources', { name: 'web', resources })).toEqual({ result: {} })
      expect(trouble.engine.byName('web')).toMatchObject({ id: before, limits: resources })
    }
  })

  it('removeVolume -> gone for good when nothing has it, and nothing else with it', async () => {
    for (const seed of seeds) {
      const trouble = new Trouble(seed)
      const mounts = [{ kind: 'volume', source: 'data', target: '/data', readOnly: false }]
      await trouble.persist('ensureContainer', { container: spec('web', { mounts }) })
      trouble.engine.volumesByName.set('theirs', { ...labels, [label.resource]: 'app_b' })
      await trouble.persist('retireContainer', { name: 'web', graceSeconds: 1 })
      expect(await trouble.persist('removeVolume', { name: 'data' })).toHaveProperty('result')
      expect(await trouble.persist('removeVolume', { name: 'data' })).toEqual({ result: { removed: false } })
      expect(await trouble.persist('removeVolume', { name: 'theirs' })).toEqual({ reason: 'VolumeForeign' })
      expect([...trouble.engine.volumesByName.keys()]).toEqual(['theirs'])
    }
  })
})
