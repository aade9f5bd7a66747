import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { serves, unknownServers, worldOf } from './world.js'
import { applicationDefaults } from './spec.js'
import { applicationReasons } from './conditions.js'
import { admit } from '../admission.js'
import { follow, nodesWaitedFor, type Followed, type Moment } from '../testing/application-run.js'
import { anyChange, anyWorld, numRuns } from '../testing/arbitraries.js'
import { planApplication } from './plan.js'

/** Nothing is left to do, and a second look finds the same. */
function expectConverged({ complete, plan, input }: Followed): void {
  expect(complete, 'plans never ended').toBe(true)
  if (plan.finalize) return
  const again = planApplication(input)
  const { start, retryAfterMs } = admit({ ...input, wanted: again.actions, generation: input.resource.generation })
  expect({ records: again.records, start, retryAfterMs, requeueAfterMs: again.requeueAfterMs }).toEqual({
    records: [],
    start: [],
    retryAfterMs: null,
    requeueAfterMs: null,
  })
}

function expectTidy({ input, plan, truth }: Followed, fates: string[] = []): void {
  const used = [input.desired.node, ...input.desired.endpoints.map((e) => e.node)]
  const left = truth.filter((n) => input.resource.deleting || !used.includes(n.node))
  expect(left.filter((n) => n.published !== null), 'a node that was left still publishes').toEqual([])
  if (input.resource.deleting) {
    expect(plan.finalize, 'deleted, but not finalized').toBe(true)
    if (input.desired.removesVolumes) expect(truth.flatMap((n) => n.volumes ?? []), 'deleted with its volumes').toEqual([])
    return
  }
  const world = worldOf(input)
  // What runs of a release that no record knows may be all that serves; it is left shown, and so is what else may be.
  const untouched = unknownServers(world).length > 0 && !world.replicas.some((r) => r.wanted && serves(r))
  const kept = untouched ? world.strays.filter((s) => s.container.state === 'running') : []
  expect(world.strays.filter((s) => !kept.includes(s)), 'strays are left').toEqual([])
  expect(input.desired.endpoints.filter((e) => e.state === 'draining'), 'replicas drain for ever').toEqual([])
  for (const c of plan.conditions) expect(applicationReasons[c.type as keyof typeof applicationReasons]).toContain(c.reason)

  const fate = fates[world.target?.number ?? 0] ?? 'healthy'
  const stopped = [...input.failures.values()].some((f) => !f.retryable) || plan.conditions.some((c) => c.reason === 'ImageMissing')
  if (stopped || !['healthy', 'slow', 'crashesLater'].includes(fate)) return
  const wanted = Array.from({ length: world.target ? world.count : 0 }, (_, i) => `${world.target?.number}/${i}`)
  // A first release that was given up half-way keeps what serves.
  if (world.target) expect(world.replicas.map((r) => `${r.endpoint.release}/${r.endpoint.replica}`).sort()).toEqual(wanted)
  const ready = plan.conditions.find((c) => c.type === 'Ready')
  expect(ready?.status, ready?.message).toBe(world.latest?.verdict ? 'False' : 'True')
}

/** Replicas that requests really reach through the readers of the best node: named, running, and answering. */
function reached({ truth, readers }: Moment): number {
  const answering = truth.flatMap((n) => n.containers).filter((c) => c.state === 'running' && c.probe.ready === true)
  return Math.max(...truth.map((n) => answering.filter((c) => readers.shown(n)?.includes(c.address ?? '')).length))
}

/** Remembers when each node showed an address last, and objects when its replica is stopped before DNS answers with it are dead. */
function drainWatch(): (moment: Moment) => void {
  const shownAt = new Map<string, Map<string, number>>()
  return ({ input, started, readers, truth }) => {
    for (const node of truth) {
      const here = shownAt.get(node.node) ?? new Map<string, number>()
      shownAt.set(node.node, here)
      for (const address of readers.shown(node) ?? []) here.set(address, input.now)
    }
    const drainMs = (input.desired.spec.drainSeconds ?? applicationDefaults.drainSeconds) * 1_000
    const wait = Math.min((input.desired.dnsTtlSeconds + 1) * 1_000, drainMs)
    const { replicas } = worldOf(input)
    for (const action of started) {
      const replica = replicas.find((r) => action.verb === 'retireContainer' && r.containerName === action.args.name)
      if (replica?.container?.state !== 'running') continue
      for (const { node } of nodesWaitedFor(input, truth, replica.containerName)) {
        const last = shownAt.get(node)?.get(replica.endpoint.address) ?? -Infinity
        expect(input.now - last, `${action.key} after ${node} named it last`).toBeGreaterThanOrEqual(wait)
      }
    }
  }
}

const timeoutMs = 180_000

describe('planApplication, properties', () => {
  it('any world, any order of ends -> plans converge, then plan nothing and leave nothing over', () => {
    fc.assert(
      fc.property(anyWorld, ({ input, story }) => {
        const followed = follow(input, story)
        expectConverged(followed)
        expectTidy(followed, story.fates)
      }),
      { numRuns },
    )
  }, timeoutMs)

  it('one ready replica at the start, any changes -> never without one, surge bounded, nothing stopped too early', () => {
    fc.assert(
      fc.property(anyChange, ({ input, story, counts, brokenReplicas }) => {
        const least = brokenReplicas.length > 0 ? 1 : Math.min(...counts)
        const most = Math.max(...counts)
        // What a blue-green change has made stays beside the old set until it is replaced, also when the next change is rolling.
        const wholeSets = [input.desired.spec, ...(story.changes ?? []).map((c) => c.spec)].some((spec) => spec?.strategy === 'blue-green')
        const surge = wholeSets ? most : Math.ceil(most / 4)
        const watchDrains = drainWatch()
        const followed = follow(input, story, (moment) => {
          watchDrains(moment)
          expect(reached(moment), `serving after ${moment.afterMs} ms`).toBeGreaterThanOrEqual(least)
          // What is broken or cannot be seen keeps its place, and takes none from a release that has to prove itself; what a
          // silent node has takes none elsewhere, where others must be able to stand in for it. What drains may be wanted again.
          const staying = moment.input.desired.endpoints.filter((e) => e.state !== 'draining')
          const revived = Math.max(1, Math.floor(most / 4))
          const extra = revived + Math.max(1, brokenReplicas.length, story.silence ? counts.length - 1 : 0)
          const onSilent = staying.filter((e) => e.node === story.silence?.node).length
          for (const number of [onSilent, staying.length - onSilent])
            expect(number, 'replicas that are to stay').toBeLessThanOrEqual(most + surge + extra)
        })
        expectConverged(followed)
        expectTidy(followed, brokenReplicas.length > 0 ? ['', 'neverReady', ...(story.fates ?? []).slice(2)] : story.fates)
      }),
      { numRuns },
    )
  }, timeoutMs)

  it('converged -> plans nothing at any later time', () => {
    fc.assert(
      fc.property(anyChange, fc.integer({ min: 0, max: 10_000_000 }), ({ input, story }, laterMs) => {
        const followed = follow(input, story)
        expectConverged({ ...followed, input: { ...followed.input, now: followed.input.now + laterMs } })
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  }, timeoutMs)
})
