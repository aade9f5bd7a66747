import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlanInput } from '../controller.js'
import { shortHash } from '../hash.js'
import { containerName } from '../labels.js'
import { ContainerState, reachable, type ObservedContainer } from '../observed.js'
import { converge } from '../preview.js'
import { containerOf, epoch, nodeId, releaseOf, specOf } from '../testing/application-world.js'
import { anySeed, numRuns } from '../testing/arbitraries.js'
import { deepFreeze } from '../testing/deep-freeze.js'
import { anyProgress, ends, engineAnswer, fails } from '../testing/simulated-world.js'
import { nginxdemoController, planNginxdemo } from './plan.js'
import type { NginxdemoDesired } from './spec.js'

const image = 'nginx:1.28-alpine'
const name = containerName('i1', 'demo_1', 0, 0)
const hash = shortHash([image, 8090])

const anyContainer = fc.record({
  name: fc.constantFrom(name, name, 'renamed', 'another'),
  specHash: fc.constantFrom(hash, hash, 'older'),
  state: fc.constantFrom(...ContainerState),
})

const anyWorld = fc.record({
  containers: fc.uniqueArray(anyContainer, { maxLength: 3, selector: (c) => c.name }),
  imageThere: fc.boolean(),
  deleting: fc.boolean(),
  silentUntilMs: fc.constantFrom(0, 0, 5_000, 50_000),
  pullFails: fc.constantFrom(0, 2, 'never' as const),
  seed: anySeed,
})

function inputOf(containers: ObservedContainer[], imageThere: boolean, deleting: boolean): PlanInput<NginxdemoDesired> {
  return {
    instance: 'i1',
    resource: { id: 'demo_1', kind: 'nginxdemo', projectId: 'p', project: 'demo', name: 'nginx', generation: 1, deleting },
    desired: { spec: { hostPort: 8090 }, node: nodeId },
    observed: [{ node: nodeId, unreachable: null, containers, images: { [image]: imageThere ? 'sha256:n' : null }, published: null, connections: {} }],
    inFlight: [],
    settled: [],
    failures: new Map(),
    holds: new Set(),
    now: epoch,
    quiet: false,
  }
}

describe('planNginxdemo, properties', () => {
  it('any world, any order of ends -> converges to one running container or none, and then plans nothing', () => {
    fc.assert(
      fc.property(anyWorld, ({ containers, imageThere, deleting, silentUntilMs, pullFails, seed }) => {
        const there = containers.map((c, i) => containerOf(releaseOf(0, specOf()), 0, { ...c, id: `any-${i}`, address: null }))
        const gone = (n: string) => there.some((c) => c.name === n && c.state === 'removing')
        const start = inputOf(there, imageThere, deleting)
        let hidden = start.observed
        let pullsLeft = pullFails
        const { plan, input, complete } = converge(
          { ...nginxdemoController, plan: (i) => planNginxdemo(deepFreeze(i)) },
          silentUntilMs === 0 ? start : { ...start, observed: [{ node: nodeId, unreachable: 'AgentSilent', message: '' }] },
          {
            progressOf: anyProgress(seed),
            endingOf: (action, observed) => {
              if (action.verb !== 'pullImage') return action.verb === 'ensureContainer' ? engineAnswer(observed, action) : ends(action)
              if (pullsLeft === 'never') return fails('ImageNotFound', false)
              return pullsLeft-- > 0 ? fails('RegistryUnreachable', true) : ends(action)
            },
            evolve: (i) => {
              const back = silentUntilMs > 0 && i.now >= epoch + silentUntilMs && i.observed.some((o) => o.unreachable !== null)
              const observed = back ? hidden : i.observed
              hidden = back ? [] : hidden
              // Docker itself goes on with what is restarting or being removed.
              const moved = observed.map((o) =>
                o.unreachable === null
                  ? {
                      ...o,
                      containers: o.containers
                        .filter((c) => c.state !== 'removing')
                        .map((c) => (c.state === 'restarting' ? { ...c, state: 'running' as const } : c)),
                    }
                  : o,
              )
              return { input: { ...i, observed: moved }, nextAt: i.now < epoch + silentUntilMs ? epoch + silentUntilMs : null }
            },
            inspect: (i, _, started) => {
              for (const action of started) {
                const ours = reachable(i.observed).flatMap((n) => n.containers.map((c) => c.name))
                if (action.verb === 'retireContainer') expect(ours).toContain(action.args.name)
              }
            },
          },
        )
        expect(complete).toBe(true)
        if (deleting) {
          expect(plan.finalize).toBe(true)
          return
        }
        const left = reachable(input.observed).flatMap((n) => n.containers)
        const blocked = [...input.failures.values()].some((f) => !f.retryable)
        if (blocked) {
          const stay = there.map((c) => c.name).filter((n) => !gone(n))
          expect(left.map((c) => c.name).sort(), 'stopped though nothing can replace it').toEqual(stay.sort())
          return
        }
        expect(left.map((c) => ({ name: c.name, specHash: c.specHash, state: c.state }))).toEqual([{ name, specHash: hash, state: 'running' }])
        expect(planNginxdemo(input)).toMatchObject({ actions: [], requeueAfterMs: null, conditions: [{ status: 'True', reason: 'Running' }] })
      }),
      { numRuns },
    )
  })
})
