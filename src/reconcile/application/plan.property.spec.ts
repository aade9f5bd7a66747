import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { worldOf } from './world.js'
import { applicationDefaults } from './spec.js'
import { applicationReasons } from './conditions.js'
import { admit } from '../admission.js'
import { reachable } from '../observed.js'
import { follow, type Moment } from '../testing/application-run.js'
import { anyChange, anyWorld, numRuns } from '../testing/arbitraries.js'
import { planApplication } from './plan.js'

type Followed = ReturnType<typeof follow>

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

function expectTidy({ input, plan }: Followed, fates: string[] = []): void {
  if (input.resource.deleting) {
    expect(plan.finalize, 'deleted, but not finalized').toBe(true)
    return
  }
  const world = worldOf(input)
  expect(world.strays, 'strays are left').toEqual([])
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

/** Replicas that requests really reach: named by the readers, running, and answering. */
function reached({ input, readers }: Moment): number | undefined {
  const [node] = reachable(input.observed)
  if (!node) return undefined
  const shown = readers.shown(node) ?? []
  return node.containers.filter((c) => c.state === 'running' && c.probe.ready === true && shown.includes(c.address ?? '')).length
}

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
  }, 60_000)

  it('one ready replica at the start, any changes -> never without one, never less capacity than healthy fleets need', () => {
    fc.assert(
      fc.property(anyChange, ({ input, story, counts, brokenReplicas }) => {
        const least = brokenReplicas.length > 0 ? 1 : Math.min(...counts)
        const followed = follow(input, story, (moment) => {
          const serving = reached(moment)
          if (serving !== undefined) expect(serving, `serving after ${moment.afterMs} ms`).toBeGreaterThanOrEqual(least)
        })
        expectConverged(followed)
        expectTidy(followed, brokenReplicas.length > 0 ? ['', 'neverReady', ...(story.fates ?? []).slice(2)] : story.fates)
      }),
      { numRuns },
    )
  }, 60_000)

  it('any changes -> surge stays bounded', () => {
    fc.assert(
      fc.property(anyChange, ({ input, story, counts }) => {
        const most = Math.max(...counts)
        follow(input, story, ({ input: { desired } }) => {
          // One more than the surge may prove a new release when leftovers fill every place.
          expect(desired.endpoints.filter((e) => e.state !== 'draining').length).toBeLessThanOrEqual(most + Math.ceil(most / 4) + 1)
        })
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  }, 60_000)

  it('any changes -> a replica that was shown is stopped only when no DNS answer with it can be alive', () => {
    fc.assert(
      fc.property(anyChange, ({ input, story }) => {
        const shownAt = new Map<string, number>()
        follow(input, story, ({ input: seen, started, readers }) => {
          for (const node of reachable(seen.observed)) for (const address of readers.shown(node) ?? []) shownAt.set(address, seen.now)
          const drainMs = (seen.desired.spec.drainSeconds ?? applicationDefaults.drainSeconds) * 1_000
          const wait = Math.min((seen.desired.dnsTtlSeconds + 1) * 1_000, drainMs)
          const world = worldOf(seen)
          for (const action of started) {
            const replica = world.replicas.find((r) => action.verb === 'retireContainer' && r.containerName === action.args.name)
            const last = replica && shownAt.get(replica.endpoint.address)
            if (last === undefined || replica?.container?.state !== 'running') continue
            expect(seen.now - last, `${action.key} after it was unpublished`).toBeGreaterThanOrEqual(wait)
          }
        })
      }),
      { numRuns },
    )
  }, 60_000)

  it('converged -> the same input plans the same nothing, at any later time', () => {
    fc.assert(
      fc.property(anyChange, fc.integer({ min: 0, max: 10_000_000 }), ({ input, story }, laterMs) => {
        const { input: end } = follow(input, story)
        const plan = planApplication({ ...end, now: end.now + laterMs })
        const { start } = admit({ ...end, wanted: plan.actions, generation: end.resource.generation })
        expect({ records: plan.records, start: start.filter((a) => !end.failures.has(a.key)), requeueAfterMs: plan.requeueAfterMs }).toEqual({
          records: [],
          start: [],
          requeueAfterMs: null,
        })
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  }, 60_000)
})
