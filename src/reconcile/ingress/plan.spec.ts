import { describe, expect, it } from 'vitest'
import { admit } from '../admission.js'
import { awayPollMs } from '../away-poll.js'
import { applicationReasons } from '../application/conditions.js'
import { failureReasons } from '../failure-reasons.js'
import { containerName, label } from '../labels.js'
import { withTag } from '../name.js'
import { planWithRecords } from '../preview.js'
import { pullKey } from '../pull-key.js'
import { epoch, failureOf, inFlightOf, nodeId } from '../testing/application-world.js'
import {
  caddyImage,
  caddyName,
  caddyOf,
  domainOf,
  ingressAsks,
  ingressDesiredOf,
  ingressId,
  ingressInputOf,
  loadKeyOf,
  pending,
  specHashOf,
  targetOf,
  wantedCaddy,
  wantedOf,
  wellOf,
  type IngressSetup,
} from '../testing/ingress-world.js'
import type { Settled } from '../action.js'
import { partsOfHosts } from './config-hosts.js'
import { hostsAtOnce } from './certificate-looks.js'
import { ingressReasons } from './conditions.js'
import type { DomainState, IngressRecord, Refusal } from './desired.js'
import { bootConfigHash, debounceMs, ingressController, planIngress } from './plan.js'
import { refusalHoldsMs } from './refusals.js'
import { renderCaddyConfig } from './render.js'
import { ingressSpecSchema, type IngressTarget } from './spec.js'

const older = 'f'.repeat(64)
const newImage = { image: 'caddy:2.12' }
/** `load:<hash>` as `load`: which one it is, `config` tells. */
const named = (key: string) => key.replace(/^load:.*/, 'load')

interface Row extends IngressSetup {
  it: string
  actions: string[]
  ready: string
  applied: string
  requeue?: number | null
  finalize?: boolean
}

const refused = (setup: IngressSetup, change: Parameters<typeof failureOf>[1] = {}) =>
  failureOf(loadKeyOf(setup), { reason: 'ConfigRefused', message: 'loading: no such module', ...change })

const served = { domains: [domainOf('a.test')] }
const withNew = { domains: [domainOf('a.test'), domainOf('new.test', pending(400))] }

const rows: Row[] = [
  {
    it: 'nothing there -> started',
    containers: [],
    loaded: null,
    actions: ['ensure:0:0'],
    ready: 'False Starting',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'no image -> pulled, not started',
    containers: [],
    loaded: null,
    imageId: null,
    actions: [pullKey(nodeId, caddyImage)],
    ready: 'False Pulling',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'it cannot be pulled -> told',
    containers: [],
    loaded: null,
    imageId: null,
    failures: [failureOf(pullKey(nodeId, caddyImage), { reason: 'ImageNotFound', retryable: false })],
    actions: [pullKey(nodeId, caddyImage)],
    ready: 'False ImageNotFound',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'it cannot be started -> told',
    containers: [],
    loaded: null,
    failures: [failureOf('ensure:0:0', { reason: 'EngineError' })],
    actions: ['ensure:0:0'],
    ready: 'False EngineError',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'running, nothing loaded -> loaded, not Ready until then',
    loaded: null,
    actions: ['load'],
    ready: 'False ConfigPending',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'running with what it starts with -> nobody is served: loaded at once, not Ready until then',
    loaded: bootConfigHash,
    domains: [domainOf('a.test', pending(0))],
    actions: ['load'],
    ready: 'False ConfigPending',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'the first configuration is refused -> not Ready by what it started with',
    ...served,
    loaded: bootConfigHash,
    failures: [refused(served)],
    actions: ['load'],
    ready: 'False ConfigRefused',
    applied: 'False ConfigRefused',
    requeue: null,
  },
  {
    it: 'running, nothing loaded, a domain that changed just now -> loaded at once: nobody is served yet',
    loaded: null,
    domains: [domainOf('a.test', pending(0))],
    actions: ['load'],
    ready: 'False ConfigPending',
    applied: 'False Pending',
    requeue: null,
  },
  { it: 'all as it should be -> nothing', actions: [], ready: 'True Serving', applied: 'True Applied' },
  {
    it: 'no domain at all -> still served: nobody is told 404 by nobody',
    domains: [],
    actions: [],
    ready: 'True Serving',
    applied: 'True Applied',
    requeue: null,
  },
  {
    it: 'all as it should be, its image was removed -> nothing',
    imageId: null,
    actions: [],
    ready: 'True Serving',
    applied: 'True Applied',
  },
  {
    it: 'another configuration is loaded -> loaded, Ready by what is there',
    ...served,
    loaded: older,
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'a domain that has just changed -> waits for more',
    domains: [domainOf('a.test'), domainOf('b.test', pending(20))],
    loaded: older,
    actions: [],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: debounceMs - 20,
  },
  {
    it: 'quiet for long enough -> loaded',
    domains: [domainOf('a.test'), domainOf('b.test', pending(debounceMs))],
    loaded: older,
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'a change of the future, by another clock -> is waited for by nobody',
    domains: [domainOf('a.test', pending(-5_000))],
    loaded: older,
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'the configuration was refused -> told, Ready by the one before',
    ...withNew,
    loaded: older,
    failures: [refused(withNew)],
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False ConfigRefused',
    requeue: null,
  },
  {
    it: 'the very first configuration was refused -> not Ready',
    ...withNew,
    loaded: null,
    failures: [refused(withNew)],
    actions: ['load'],
    ready: 'False ConfigRefused',
    applied: 'False ConfigRefused',
    requeue: null,
  },
  {
    it: 'somebody has the port -> told',
    loaded: null,
    failures: [failureOf(loadKeyOf({}), { reason: 'PortTaken' })],
    actions: ['load'],
    ready: 'False PortTaken',
    applied: 'False PortTaken',
    requeue: null,
  },
  {
    it: 'another configuration was refused -> says nothing of this one',
    ...withNew,
    loaded: older,
    failures: [refused(served)],
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'refused once, loaded since -> Applied',
    failures: [refused({})],
    actions: [],
    ready: 'True Serving',
    applied: 'True Applied',
  },
  ...(['created', 'exited', 'paused', 'dead', 'removing'] as const).map((state) => ({
    it: `${state} -> started in place, even without its image`,
    containers: [caddyOf({ state })],
    imageId: null,
    loaded: null,
    actions: ['ensure:0:0'],
    ready: 'False Starting',
    applied: 'False Pending',
    requeue: null,
  })),
  {
    it: 'restarting by Docker -> left to Docker, and not Ready',
    containers: [caddyOf({ state: 'restarting' })],
    loaded: null,
    actions: [],
    ready: 'False Starting',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'its folders were made anew -> it reads what is gone: replaced',
    containers: [caddyOf({ foldersLost: true })],
    actions: [`retire:${caddyName}`],
    ready: 'False Replacing',
    applied: 'True Applied',
  },
  {
    it: 'a second container of ours -> removed',
    containers: [caddyOf(), caddyOf({ name: 'second' })],
    actions: ['retire:second'],
    ready: 'False Replacing',
    applied: 'True Applied',
  },
  {
    it: 'renamed by hand -> the ports are needed: removed, then made again',
    containers: [caddyOf({ name: 'mine' })],
    actions: ['retire:mine'],
    ready: 'False Replacing',
    applied: 'True Applied',
  },
  {
    it: 'other ports -> a load, the container stays',
    spec: { httpPort: 8080, httpsPort: 8443 },
    loaded: older,
    actions: ['load'],
    ready: 'True Serving',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'another image, not there -> pulled while the old one serves',
    spec: newImage,
    imageId: null,
    actions: [pullKey(nodeId, newImage.image)],
    ready: 'False Pulling',
    applied: 'True Applied',
  },
  {
    it: 'another image, there -> the old one goes first, for both need the ports',
    spec: newImage,
    actions: [`retire:${caddyName}`],
    ready: 'False Replacing',
    applied: 'True Applied',
  },
  {
    it: 'another image, and the container is made of it -> nothing',
    spec: newImage,
    containers: [caddyOf({}, newImage)],
    actions: [],
    ready: 'True Serving',
    applied: 'True Applied',
  },
  {
    it: 'deleted -> removed, whatever its state',
    deleting: true,
    containers: [caddyOf(), caddyOf({ name: 'x', state: 'exited' })],
    actions: [`retire:${caddyName}`, 'retire:x'],
    ready: 'False Deleting',
    applied: 'False Pending',
    requeue: null,
  },
  {
    it: 'deleted and gone -> finalized',
    deleting: true,
    containers: [],
    loaded: null,
    actions: [],
    ready: 'False Deleting',
    applied: 'False Pending',
    requeue: null,
    finalize: true,
  },
  {
    it: 'deleted, a load in flight -> not finalized',
    deleting: true,
    containers: [],
    loaded: null,
    inFlight: [inFlightOf('load:x')],
    actions: [],
    ready: 'False Deleting',
    applied: 'False Pending',
    requeue: null,
  },
  ...(['AgentSilent', 'NodeAway', 'DockerUnreachable'] as const).flatMap((unreachable) =>
    [false, true].map((deleting) => ({
      it: `${unreachable}${deleting ? ', deleted' : ''} -> nothing is planned and nothing is told of domains`,
      deleting,
      observed: [{ node: nodeId, unreachable, message: 'm' }],
      actions: [],
      ready: unreachable === 'DockerUnreachable' ? 'Unknown DockerUnreachable' : 'Unknown NodeUnreachable',
      applied: 'Unknown NotLooked',
      requeue: awayPollMs({ node: nodeId, unreachable, message: 'm' }, ingressId),
    })),
  ),
]

const of = (setup: IngressSetup) => planWithRecords(ingressController, ingressInputOf(setup), () => null).plan

describe('planIngress', () => {
  it.each(rows)('$it', ({ it: _, actions, ready, applied, requeue, finalize, ...setup }) => {
    const plan = of(setup)
    expect(plan.actions.map((a) => named(a.key))).toEqual(actions)
    expect(plan.conditions.map((c) => [c.type, `${c.status} ${c.reason}`])).toEqual([
      ['Ready', ready],
      ['ConfigApplied', applied],
    ])
    if (requeue !== undefined) expect(plan.requeueAfterMs).toBe(requeue)
    expect(plan.finalize).toBe(finalize ?? false)
  })

  it('reasons -> each that is listed is given, and what is given is listed or is that of a failed action', () => {
    const seen = rows.flatMap((row) => of(row).conditions)
    for (const [type, reasons] of Object.entries(ingressReasons)) {
      const given = new Set(seen.filter((c) => c.type === type).map((c) => c.reason))
      expect(reasons.filter((r) => !given.has(r))).toEqual([])
      expect([...given].filter((r) => ![...reasons, ...failureReasons].includes(r as 'Applied'))).toEqual([])
    }
  })

  it('no observation -> nothing at all', () =>
    expect(of({ observed: [] })).toMatchObject({ actions: [], conditions: [], finalize: false }))

  it('the container -> in the host network, with the right to low ports alone, and its folders', () => {
    const container = wantedCaddy()
    expect(container).toMatchObject({
      name: caddyName,
      image: caddyImage,
      network: 'host',
      capabilities: ['NET_BIND_SERVICE'],
      restartPolicy: 'unless-stopped',
    })
    expect(container.mounts?.filter((m) => !m.readOnly).map((m) => m.source)).toEqual([
      'ingress/sockets',
      'ingress/data',
      'ingress/config',
    ])
    expect(container.command).toContain('--resume')
  })

  it('settings that the container knows nothing of -> the same container', () => {
    const changes = [
      { httpPort: 1 },
      { http3: true },
      { defaultTls: 'acme' as const },
      { trustedProxies: ['10.0.0.1'] },
      { node: 'n' },
    ]
    expect(changes.map((spec) => wantedCaddy(spec).labels[label.specHash])).toEqual(changes.map(() => specHashOf()))
    expect(specHashOf(newImage)).not.toBe(specHashOf())
  })
})

describe('planIngress, changes that come together', () => {
  /** Each change arrives, and asks for a pass; so does what a pass waits for. Answers when something was loaded. */
  function loadsOf(changes: { at: number; host: string }[], until: number): number[] {
    const loads: number[] = []
    let loaded = older
    let domains: DomainState[] = [domainOf('a.test')]
    let wakeAt = Infinity
    for (let now = 0; now <= until; now++) {
      const arrived = changes.filter((c) => c.at === now)
      for (const { host } of arrived)
        domains = [...domains.filter((d) => d.host !== host), domainOf(host, { ...pending(0), changedAt: epoch + now })]
      if (arrived.length === 0 && now < wakeAt) continue
      const { plan, input } = planWithRecords(
        ingressController,
        ingressInputOf({ domains, loaded, now: epoch + now }),
        () => null,
      )
      wakeAt = plan.requeueAfterMs === null ? Infinity : now + plan.requeueAfterMs
      const [load] = plan.actions
      if (load?.verb === 'loadIngressConfig') {
        loads.push(now)
        loaded = load.args.config
        wakeAt = now + 1
      }
      domains = input.desired.domains
    }
    return loads
  }
  const hosts = (count: number, everyMs: number) =>
    Array.from({ length: count }, (_, i) => ({ at: 10 + i * everyMs, host: `d${i}.test` }))

  it('twenty within the debounce -> one load', () => expect(loadsOf(hosts(20, 5), 800)).toEqual([10 + 19 * 5 + debounceMs]))

  it('each a second apart -> a load each', () => expect(loadsOf(hosts(3, 1_000), 3_000)).toEqual([160, 1_160, 2_160]))

  it('changes that go on for ever -> nobody waits more than a second, and they still come together', () => {
    const loads = loadsOf(hosts(100, 100), 10_000)
    const gaps = loads.map((at, i) => at - (loads[i - 1] ?? 0))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_100)
    expect(loads.length).toBeGreaterThanOrEqual(9)
    expect(loads.length).toBeLessThanOrEqual(11)
  })

  it('one domain that is changed for ever -> others wait a second at most', () => {
    const restless = Array.from({ length: 50 }, (_, i) => ({ at: 10 + i * 100, host: 'restless.test' }))
    expect(loadsOf([...restless, { at: 60, host: 'calm.test' }], 5_000)[0]).toBeLessThanOrEqual(1_100)
  })
})

describe('planIngress, a configuration that is refused', () => {
  const admitted = (setup: IngressSetup) => {
    const input = ingressInputOf(setup)
    const { plan } = planWithRecords(ingressController, input, () => null)
    return admit({ ...input, wanted: plan.actions, generation: 1 })
  }

  it('before its back-off is over -> not tried again; then -> tried again', () => {
    const failures = [refused(withNew, { nextTryAt: epoch + 4_000 })]
    expect(admitted({ ...withNew, loaded: older, failures })).toMatchObject({ start: [], retryAfterMs: 4_000 })
    expect(admitted({ ...withNew, loaded: older, failures, now: epoch + 4_000 }).start.map((a) => named(a.key))).toEqual(['load'])
  })

  it('another content -> tried at once, whatever became of the one before', () => {
    const next = { domains: [...withNew.domains, domainOf('third.test', pending(500))] }
    const { start } = admitted({ ...next, loaded: older, failures: [refused(withNew, { nextTryAt: epoch + 4_000 })] })
    expect(start.map((a) => a.key)).toEqual([loadKeyOf(next)])
  })

  it('who was not routed -> is told; who was -> stays routed', () => {
    const { records } = planIngress(ingressInputOf({ ...withNew, loaded: older, failures: [refused(withNew)] }))
    expect(records.filter((r) => r.type === 'route')).toEqual([
      {
        type: 'route',
        resource: 'app_web',
        host: 'new.test',
        path: '/',
        routed: false,
        reason: 'ConfigRefused',
        message: 'loading: no such module',
      },
    ])
  })
})

describe('planIngress, a host that Caddy refuses', () => {
  const both = { domains: [domainOf('a.test'), domainOf('b.test', pending(400))] }
  const withoutB = wantedOf({ domains: [domainOf('a.test')] })
  const partOf = (setup: IngressSetup, host = 'b.test') => {
    const { spec, targets } = ingressDesiredOf(setup)
    return partsOfHosts(renderCaddyConfig(spec, targets, new Map()).config, [host]).get(host) ?? ''
  }
  const answered = (setup: IngressSetup, key = loadKeyOf(setup), part = partOf(setup)): Settled[] => [
    {
      key,
      verb: 'loadIngressConfig',
      ok: true,
      generation: 1,
      result: { loaded: null, refused: [{ host: 'b.test', message: 'no', part }] },
    },
  ]
  const after = (setup: IngressSetup) => {
    const { input, plan } = planWithRecords(ingressController, ingressInputOf(setup), () => null)
    return { plan, domains: input.desired.domains, b: input.desired.domains.find((d) => d.host === 'b.test' && d.path === '/') }
  }
  const refusal = (setup: IngressSetup, change: Partial<Refusal> = {}): Refusal => ({
    message: 'no',
    part: partOf(setup),
    at: epoch - 5_000,
    ...change,
  })
  /** `b.test` was refused for what it is in `then`. */
  const standing = (
    setup: IngressSetup & { domains: DomainState[] },
    then: IngressSetup = setup,
    change: Partial<Refusal> = {},
  ) => ({
    ...setup,
    domains: setup.domains.map((d) => (d.host === 'b.test' ? { ...d, refusal: refusal(then, change) } : d)),
  })

  it('a load names it -> written down, and told with its words when the others are what is loaded', () => {
    const { plan, b } = after({ ...both, loaded: withoutB, settled: answered(both) })
    expect(plan.actions).toEqual([])
    expect(b).toMatchObject({
      routed: false,
      reason: 'Refused',
      message: 'no',
      refusal: { message: 'no', part: partOf(both), at: epoch },
    })
    expect(plan.conditions.map((c) => `${c.status} ${c.reason} ${c.message}`)).toEqual([
      'True Serving 1 domains are served, 1 cannot be',
      'True Applied without b.test/: no',
    ])
  })

  it('others have changed too -> these are loaded without it', () => {
    const setup = { domains: [...both.domains, domainOf('c.test', pending(400))] }
    const { plan, b } = after({ ...setup, loaded: withoutB, settled: answered(setup) })
    expect(plan.actions.map((a) => a.key)).toEqual([loadKeyOf({ domains: [domainOf('a.test'), domainOf('c.test')] })])
    expect(b?.reason).toBe('Pending')
  })

  it('every path of it, whoever has it -> left out', () => {
    const setup = { domains: [...both.domains, domainOf('b.test', { path: '/api', resource: 'app_other', ...pending(400) })] }
    const { domains } = after({ ...setup, loaded: withoutB, settled: answered(setup) })
    expect(domains.filter((d) => d.host === 'b.test').map((d) => d.reason)).toEqual(['Refused', 'Refused'])
  })

  it('it was changed while it was tried -> no word of it: tried again', () => {
    const changed = { ...both, targets: [targetOf('app_web', [{ host: 'a.test' }, { host: 'b.test', compression: true }])] }
    const { plan, b } = after({ ...changed, loaded: withoutB, settled: answered(both) })
    expect(b?.refusal).toBeNull()
    expect(plan.actions.map((a) => a.key)).toEqual([loadKeyOf(changed)])
  })

  it('somebody else changed while it was tried -> it stands', () => {
    const more = { domains: [...both.domains, domainOf('c.test', pending(400))] }
    expect(after({ ...more, loaded: withoutB, settled: answered(both) }).b?.refusal).toMatchObject({ message: 'no' })
  })

  it('an agent of another version computes its part otherwise -> believed of what is wanted, and of nothing else', () => {
    const { b } = after({ ...both, loaded: withoutB, settled: answered(both, loadKeyOf(both), 'other') })
    expect(b?.refusal?.part).toBe(partOf(both))
    expect(after({ ...both, loaded: withoutB, settled: answered(both, 'load:before', 'other') }).b?.refusal).toBeNull()
  })

  it('a host that nobody has any more -> no record', () =>
    expect(after({ loaded: withoutB, settled: answered(both) }).domains).toEqual([domainOf('a.test')]))

  const own = (version: number): IngressTarget[] => [
    targetOf('app_web', [{ host: 'a.test' }, { host: 'b.test', tls: 'certificate', certificate: 'c' }], {
      secretVersions: { c: version },
    }),
  ]
  it.each<[string, boolean, IngressSetup]>([
    ['as it was', false, standing(both)],
    ['another version of its certificate', true, standing({ ...both, targets: own(2) }, { ...both, targets: own(1) })],
    ['the same version', false, standing({ ...both, targets: own(1) }, { ...both, targets: own(1) })],
    [
      'another port of its application',
      true,
      standing(
        {
          ...both,
          targets: [targetOf('app_web', [{ host: 'a.test' }, { host: 'b.test', port: 9090 }], { ports: [8080, 9090] })],
        },
        both,
      ),
    ],
    ['of a day ago', true, standing(both, both, { at: epoch - refusalHoldsMs })],
    ['of nearly a day ago', false, standing(both, both, { at: epoch - refusalHoldsMs + 1 })],
    ['of the future, by another clock', false, standing(both, both, { at: epoch + 5_000 })],
  ])('refused, %s -> tried again: %s', (_, again, setup) => {
    expect(after({ ...setup, loaded: withoutB }).plan.actions).toHaveLength(again ? 1 : 0)
  })

  it('refused once more for the same -> holds from then on', () => {
    const old = standing(both, both, { at: epoch - refusalHoldsMs })
    expect(after({ ...old, loaded: withoutB, settled: answered(both) }).b?.refusal?.at).toBe(epoch)
  })

  it('what others have to hear of -> what is told of its route, not the refusal', () => {
    expect(
      ingressController.concernsOthers?.({
        type: 'refused',
        resource: 'app_web',
        host: 'b.test',
        path: '/',
        message: 'no',
        part: '',
      }),
    ).toBe(false)
  })
})

describe('planIngress, failures of other configurations', () => {
  const forgets = (setup: IngressSetup) => planIngress(ingressInputOf(setup)).forgets
  const past = { nextTryAt: epoch - 1 }

  it.each<[string, number, IngressSetup]>([
    ['another one, its wait over', 1, { failures: [refused(withNew, past)] }],
    [
      'another one that may be wanted again before its wait is over',
      0,
      { failures: [refused(withNew, { nextTryAt: epoch + 1 })] },
    ],
    ['the one that is wanted', 0, { ...withNew, loaded: older, failures: [refused(withNew, past)] }],
    ['of something else', 0, { failures: [failureOf('ensure:0:0', past)] }],
  ])('%s -> forgotten: %s', (_, forgotten, setup) => expect(forgets(setup)?.length).toBe(forgotten))
})

describe('planIngress, records', () => {
  const recordsOf = (setup: IngressSetup) => planIngress(ingressInputOf(setup)).records
  const types = (records: IngressRecord[]) => records.map((r) => r.type)

  it('a load is planned -> its configuration is stored first, and is what is loaded', () => {
    const [record] = recordsOf({ loaded: older })
    const [action] = of({ loaded: older }).actions
    expect(record).toMatchObject({ type: 'config', sha256: wantedOf({}) })
    expect(action).toMatchObject({ verb: 'loadIngressConfig', args: { config: wantedOf({}) }, container: caddyName })
  })

  it('stored by this pass -> not once more', () => expect(recordsOf({ loaded: older, stored: wantedOf({}) })).toEqual([]))

  it('nothing to load -> nothing is stored: waiting, starting, deleting, loaded', () => {
    const waiting = { domains: [domainOf('a.test', { changedAt: epoch - 10 })], loaded: older }
    for (const setup of [waiting, { containers: [], loaded: null }, { deleting: true, loaded: older }, {}])
      expect(types(recordsOf(setup))).not.toContain('config')
  })

  it('loaded -> who was waiting is told, and nobody else', () => {
    expect(recordsOf(withNew)).toEqual([
      { type: 'route', resource: 'app_web', host: 'new.test', path: '/', routed: true, reason: 'Routed', message: '' },
    ])
  })

  it('loaded without a domain that cannot be served -> its owner is told why', () => {
    const target = targetOf('app_web', [{ host: 'a.test' }, { host: 'b.test', tls: 'certificate', certificate: 'gone' }])
    const setup = { domains: [domainOf('a.test'), domainOf('b.test')], targets: [target] }
    expect(recordsOf(setup)).toMatchObject([{ host: 'b.test', routed: false, reason: 'CertificateMissing' }])
    expect(of(setup).conditions[1]).toMatchObject({ status: 'True', message: expect.stringContaining('b.test') as string })
  })

  it('a certificate that was looked at a moment ago and is the same -> no record', () => {
    const certificate = wellOf(epoch - 500)
    const { seenAt: _, ...seen } = certificate
    const setup = { domains: [domainOf('a.test', { certificate })] }
    expect(recordsOf({ ...setup, certificates: { 'a.test': seen } })).toEqual([])
    const renewed = { ...seen, notAfter: (seen.notAfter ?? 0) + 1 }
    expect(recordsOf({ ...setup, certificates: { 'a.test': renewed } })).toEqual([
      { type: 'certificate', host: 'a.test', certificate: renewed },
    ])
  })

  it('being deleted -> no record of any kind', () => {
    const certificates = { 'a.test': { issuer: null, notAfter: null, error: 'e' } }
    expect(recordsOf({ deleting: true, certificates, domains: [domainOf('a.test', pending(0))] })).toEqual([])
  })

  it('what others have to hear of -> routes and certificates, not the configuration', () => {
    const concerns = (record: IngressRecord) => ingressController.concernsOthers?.(record)
    expect(concerns({ type: 'config', sha256: '', content: '' })).toBe(false)
    expect(recordsOf(withNew).map(concerns)).toEqual([true])
  })

  it('every reason that a route record gives -> is one of the application', () => {
    const told = [recordsOf(withNew), recordsOf({ ...withNew, loaded: older, failures: [refused(withNew)] })].flat()
    for (const record of told) if (record.type === 'route') expect(applicationReasons.Routed).toContain(record.reason)
  })
})

describe('ingressController.observeRequests', () => {
  const { resource } = ingressInputOf()
  const asked = (setup: IngressSetup) => ingressController.observeRequests(resource, ingressDesiredOf(setup))

  it('by default -> its node, its image, and the certificates of its hosts on 443', () => {
    expect(asked(served)).toEqual([
      {
        node: nodeId,
        kind: 'ingress',
        resource: ingressId,
        images: [caddyImage],
        connectionsTo: [],
        ingress: { httpsPort: 443, hosts: ['a.test'] },
      },
    ])
  })

  it('another image and port -> those', () =>
    expect(asked({ spec: { ...newImage, httpsPort: 8443 } })).toMatchObject([
      { images: [withTag(newImage.image)], ingress: { httpsPort: 8443 } },
    ]))

  it('hosts without a certificate -> not looked at', () => {
    const target = targetOf('app_web', [{ host: 'a.test' }, { host: 'plain.test', tls: 'off' }])
    const domains = [domainOf('a.test'), domainOf('plain.test')]
    expect(ingressAsks(ingressDesiredOf({ domains, targets: [target] }))?.hosts).toEqual(['a.test'])
  })

  it('a thousand hosts -> a few at once', () => {
    const domains = Array.from({ length: 1_000 }, (_, i) => domainOf(`d${i}.test`))
    expect(ingressAsks(ingressDesiredOf({ domains }))?.hosts).toHaveLength(hostsAtOnce)
  })
})

describe('ingressSpecSchema', () => {
  it.each([
    { httpPort: 0 },
    { httpsPort: 65_536 },
    { httpPort: 443 },
    { httpsPort: 80 },
    { httpPort: 9, httpsPort: 9 },
    { defaultTls: 'certificate' },
    { image: 'CADDY' },
    { node: 'Node 1' },
    { trustedProxies: ['proxy.test'] },
    { acme: { directory: 'http://ca.test' } },
    { acme: { email: 'me' } },
    { acme: { trustedRoots: 'none' } },
    { more: 1 },
  ])('%j -> refused', (bad) => expect(ingressSpecSchema.safeParse(bad).success).toBe(false))

  it.each([
    {},
    { httpPort: 8080, httpsPort: 8443 },
    { defaultTls: 'off' },
    { trustedProxies: ['10.0.0.0/8', '::1'] },
    { defaultHost: 'a.test' },
  ])('%j -> accepted as it is', (good) => expect(ingressSpecSchema.parse(good)).toEqual(good))
})

describe('the name of the container', () => {
  it('another instance -> another name', () => expect(containerName('i2', ingressId, 0, 0)).not.toBe(caddyName))
})
