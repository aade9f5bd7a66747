import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Plan, PlanInput } from '../controller.js'
import { ContainerState, reachable, type Observation } from '../observed.js'
import { converge, planWithRecords } from '../preview.js'
import { epoch, nodeId } from '../testing/application-world.js'
import { anySeed, numRuns } from '../testing/arbitraries.js'
import { deepFreeze } from '../testing/deep-freeze.js'
import { caddyName, caddyOf, domainOf, ingressInputOf, specHashOf, targetOf, wantedOf, wellOf } from '../testing/ingress-world.js'
import { anyProgress, ends, engineAnswer, fails } from '../testing/simulated-world.js'
import { lookAgainMs } from './certificate-looks.js'
import type { IngressDesired, IngressRecord } from './desired.js'
import { ingressController, planIngress } from './plan.js'

const anyContainer = fc.record({
  name: fc.constantFrom(caddyName, caddyName, 'renamed', 'another'),
  older: fc.boolean(),
  state: fc.constantFrom(...ContainerState),
  foldersLost: fc.constantFrom(undefined, undefined, true),
})

const anyDomain = fc.record({
  host: fc.constantFrom('a.test', 'b.test', 'c.test', '*.d.test', 'localhost'),
  path: fc.constantFrom('/', '/', '/api'),
  resource: fc.constantFrom('app_a', 'app_b'),
  tls: fc.constantFrom(undefined, 'off' as const, 'acme' as const, 'certificate' as const),
  agoMs: fc.constantFrom(-5_000, 0, 100, 900, 60_000),
  routed: fc.boolean(),
  reason: fc.constantFrom('Pending', 'Routed', 'ConfigRefused', 'HostTaken'),
  certificate: fc.constantFrom(null, wellOf(epoch), wellOf(epoch - 86_400_000), {
    ...wellOf(epoch),
    notAfter: null,
    error: 'none yet',
  }),
})

const anyWorld = fc.record({
  containers: fc.uniqueArray(anyContainer, { maxLength: 3, selector: (c) => c.name }),
  domains: fc.uniqueArray(anyDomain, { maxLength: 6, selector: (d) => `${d.host}${d.path}` }),
  imageThere: fc.boolean(),
  loaded: fc.constantFrom('wanted' as const, null, 'f'.repeat(64)),
  deleting: fc.boolean(),
  silentUntilMs: fc.constantFrom(0, 0, 5_000, 50_000),
  pullFails: fc.constantFrom(0, 2, 'never' as const),
  loadFails: fc.constantFrom(0, 0, 3),
  seed: anySeed,
})

type World = typeof anyWorld extends fc.Arbitrary<infer T> ? T : never

function setupOf({ domains, loaded, deleting, imageThere, containers }: World) {
  const targets = ['app_a', 'app_b'].map((resource) =>
    targetOf(
      resource,
      domains.filter((d) => d.resource === resource).map(({ host, path, tls }) => ({ host, path, ...(tls ? { tls } : {}) })),
    ),
  )
  return {
    targets,
    domains: domains.map(({ host, path, resource, agoMs, routed, reason, certificate }) =>
      domainOf(host, { path, resource, changedAt: epoch - agoMs, routed, reason, certificate }),
    ),
    loaded: containers.some((c) => c.state === 'running') ? loaded : null,
    deleting,
    imageId: imageThere ? 'sha256:c' : null,
    containers: containers.map(({ name, older, state, foldersLost }, i) =>
      caddyOf({ id: `any-${i}`, name, state, specHash: older ? 'older' : specHashOf(), ...(foldersLost ? { foldersLost } : {}) }),
    ),
  }
}

/** Docker goes on with what is restarting or being removed; a Caddy that does not run shows no configuration. */
function moved(observed: Observation[]): Observation[] {
  return observed.map((o) => {
    if (o.unreachable !== null) return o
    const containers = o.containers
      .filter((c) => c.state !== 'removing')
      .map((c) => (c.state === 'restarting' ? { ...c, state: 'running' as const } : c))
    const runs = containers.some((c) => c.state === 'running')
    return { ...o, containers, ...(o.ingress && !runs ? { ingress: { ...o.ingress, loaded: null } } : {}) }
  })
}

/** Certificates are looked at for ever; whether too often is another test's. */
function withoutLooks(input: PlanInput<IngressDesired>, plan: Plan<IngressRecord>): Plan<IngressRecord> {
  return plan.requeueAfterMs === lookAgainMs(input.desired, input.now) ? { ...plan, requeueAfterMs: null } : plan
}

describe('planIngress, properties', () => {
  it('any world, any order of ends -> converges to one Caddy with the wanted configuration or to none, and then plans nothing', () => {
    fc.assert(
      fc.property(anyWorld, (world) => {
        const { deleting, silentUntilMs, seed } = world
        const setup = setupOf(world)
        const start = ingressInputOf(setup)
        const silence: Observation[] = [{ node: nodeId, unreachable: 'AgentSilent', message: '' }]
        let hidden: Observation[] = start.observed
        let { pullFails: pullsLeft, loadFails: loadsLeft } = world
        const { plan, input, complete } = converge(
          { ...ingressController, plan: (i) => withoutLooks(i, planIngress(deepFreeze(i))) },
          silentUntilMs === 0 ? start : { ...start, observed: silence },
          {
            progressOf: anyProgress(seed),
            endingOf: (action, observed) => {
              if (action.verb === 'loadIngressConfig') return loadsLeft-- > 0 ? fails('ConfigRefused', true) : ends(action)
              if (action.verb !== 'pullImage')
                return action.verb === 'ensureContainer' ? engineAnswer(observed, action) : ends(action)
              if (pullsLeft === 'never') return fails('ImageNotFound', false)
              return pullsLeft-- > 0 ? fails('RegistryUnreachable', true) : ends(action)
            },
            evolve: (i) => {
              const back = silentUntilMs > 0 && i.now >= epoch + silentUntilMs && i.observed.some((o) => o.unreachable !== null)
              const observed = back ? hidden : i.observed
              hidden = back ? [] : hidden
              return {
                input: { ...i, observed: moved(observed) },
                nextAt: i.now < epoch + silentUntilMs ? epoch + silentUntilMs : null,
              }
            },
            inspect: (i, asked, started) => {
              expect(asked.requeueAfterMs === null || (Number.isFinite(asked.requeueAfterMs) && asked.requeueAfterMs > 0)).toBe(
                true,
              )
              const ours = reachable(i.observed).flatMap((n) => n.containers.map((c) => c.name))
              for (const action of started) if (action.verb === 'retireContainer') expect(ours).toContain(action.args.name)
            },
          },
        )
        expect(complete).toBe(true)
        if (deleting) {
          expect(plan.finalize).toBe(true)
          return
        }
        const left = reachable(input.observed).flatMap((n) => n.containers)
        if ([...input.failures.values()].some((f) => !f.retryable)) {
          const stay = moved(start.observed).flatMap((o) => (o.unreachable === null ? o.containers.map((c) => c.name) : []))
          expect(left.map((c) => c.name).sort(), 'stopped though nothing can replace it').toEqual(stay.sort())
          return
        }
        expect(left.map((c) => ({ name: c.name, specHash: c.specHash, state: c.state }))).toEqual([
          { name: caddyName, specHash: specHashOf(), state: 'running' },
        ])
        expect(reachable(input.observed)[0]?.ingress?.loaded).toBe(wantedOf(setup))
        const settled = planWithRecords(ingressController, input, () => null)
        expect(settled.plan).toMatchObject({ actions: [], records: [], finalize: false })
        expect(settled.input.desired).toEqual(input.desired)
        expect(settled.plan.conditions.map((c) => `${c.status} ${c.reason}`)).toEqual(['True Serving', 'True Applied'])
        for (const { routed, reason } of input.desired.domains) expect(routed).toBe(reason === 'Routed')
      }),
      { numRuns },
    )
  })
})
