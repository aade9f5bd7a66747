import { afterEach, describe, expect, it } from 'vitest'
import { createControlActivities } from '../../activities/control.activities.js'
import { generateSigningKey, signingKeyOf } from '../../src/adapters/crypto/signing.js'
import { controllerName } from '../../src/reconcile/controller.js'
import { workflowIdOf } from '../../src/reconcile/kind.js'
import { calm } from './calm.js'
import { MemoryPassStore } from './memory-pass-store.js'
import { withVirtualGlobals } from './virtual-globals.js'
import { dnsTtlSeconds, World } from './world.js'

const spec = {
  image: 'registry.test/web-quick:1',
  ports: [80],
  replicas: 2,
  readiness: { path: '/', intervalSeconds: 1 },
  stopGraceSeconds: 2,
}

describe("the mission's engine", () => {
  let world: World
  const within = async (run: (store: MemoryPassStore) => Promise<void>) => {
    const store = new MemoryPassStore({ dnsTtlSeconds })
    world = new World({ seed: 1, profile: calm, store, verbose: false })
    await withVirtualGlobals(world.clock, async () => {
      await world.begin()
      await run(store)
    })
  }
  afterEach(() => world.end())

  const make = async (id: string, change: object = {}, kind = 'application') => {
    await world.options.store.create(
      { id, kind, project: 'shop', name: id.replace('_', '-'), spec: { ...spec, ...change } },
      world.clock.now(),
    )
    world.applications.set(id, { id, generation: 1, replicas: spec.replicas, deleting: false, serving: false })
  }
  const lastResult = async (id: string) => {
    const row = await world.options.store.read(id)
    return { conditions: row?.conditions ?? [], error: row?.lastError ?? null, at: row?.lastPassAt ?? null }
  }
  const readyOf = async (id: string) => (await lastResult(id)).conditions.find((c) => c.type === 'Ready')
  const isReady = async (id: string) => (await readyOf(id))?.status === 'True'

  it('a resource that never ran -> its last result is empty and without error', () =>
    within(async () => {
      world.killWorker()
      await make('app_1')
      world.nudgeOnce('app_1')
      await world.run(60_000)
      expect(await lastResult('app_1')).toEqual({ conditions: [], error: null, at: null })
    }))

  it('controllers before and after a restart of everything -> the same names, the same workflows', () =>
    within(async (store) => {
      await make('app_1')
      const names = async () =>
        (await store.due('', 10, world.clock.now() + 1e9)).map((r) => [
          controllerName(r.kind, r.name),
          workflowIdOf(r.kind, r.id),
        ])
      const before = await names()
      await world.run(35_000)
      world.killWorker()
      world.temporal.loseEverything()
      world.startWorker()
      await world.run(35_000)
      expect(before).toEqual([['application/app-1', 'application:app_1']])
      expect(await names()).toEqual(before)
    }))

  it('the database away during a sweep -> logged, skipped, tried again', () =>
    within(async () => {
      await make('app_1')
      world.faults.away.database = true
      await world.run(31_000)
      expect(world.log).toEqual([expect.stringMatching(/a sweep failed.*database/)])
      expect(await lastResult('app_1')).toMatchObject({ conditions: [] })
      world.faults.away.database = false
      await world.run(40_000)
      expect(await isReady('app_1')).toBe(true)
    }))

  it('one resource that cannot be nudged -> logged, and the others are nudged', () =>
    within(async (store) => {
      for (const id of ['app_1', 'app_2', 'app_3']) await make(id)
      const nudged: string[] = []
      const logged: string[] = []
      const { sweepPage } = createControlActivities({
        instance: 'i',
        store,
        signingKey: signingKeyOf(generateSigningKey().privatePem),
        clock: world.clock.now,
        nudge: ({ id }) => (id === 'app_2' ? Promise.reject(new Error('unreachable')) : Promise.resolve(void nudged.push(id))),
        log: (message) => logged.push(message),
      })
      expect(await sweepPage('')).toBeNull()
      expect(nudged).toEqual(['app_1', 'app_3'])
      expect(logged).toEqual([expect.stringContaining('app_2')])
    }))

  it('resumed between the claim of a pass and its decision -> superseded: nothing is planned without a look', () =>
    within(async (store) => {
      await make('app_1')
      await store.setPaused('app_1', true)
      const { begin } = createControlActivities({
        instance: 'i',
        store: Object.assign(Object.create(store) as typeof store, {
          async claim(id: string) {
            const claimed = await store.claim(id)
            await store.setPaused(id, false)
            return claimed
          },
        }),
        signingKey: signingKeyOf(generateSigningKey().privatePem),
        clock: world.clock.now,
        nudge: () => Promise.resolve(),
        log: () => undefined,
      })
      const begun = await begin('app_1', { inFlight: [], settled: [], quiet: false, seen: [] })
      expect(begun?.decision).toMatchObject({ superseded: true, start: [] })
      expect(await store.read('app_1')).toMatchObject({ observedGeneration: 0 })
    }))

  it('a controller that fails in every pass -> never stops another, and goes on when its cause is gone', () =>
    within(async (store) => {
      await make('app_1', { image: null })
      await make('app_2')
      world.nudgeOnce('app_1')
      world.nudgeOnce('app_2')
      await world.run(20_000)
      expect(await isReady('app_2')).toBe(true)
      expect(await readyOf('app_1')).toBeUndefined()
      await store.change('app_1', spec, 0)
      world.nudgeOnce('app_1')
      await world.run(40_000)
      expect(await isReady('app_1')).toBe(true)
    }))

  it('what it waits for ends at once -> it says so within moments, not at its next resync', () =>
    within(async () => {
      await make('app_2', { dependsOn: ['app-1'] })
      world.nudgeOnce('app_2')
      await world.run(1_000)
      await make('app_1', { image: 'registry.test/bad-exits:1' })
      world.nudgeOnce('app_1')
      await world.run(10_000)
      expect(await readyOf('app_1')).toMatchObject({ status: 'False', reason: 'ContainerExited' })
      expect(await readyOf('app_2')).toMatchObject({
        reason: 'DependencyNotReady',
        message: expect.stringMatching(/app-1.*ContainerExited.*code 2/),
      })
    }))

  it('a grace longer than every other time-out -> a process that needs all of it ends by itself, also when its agent dies meanwhile', () =>
    within(async (store) => {
      const [stubborn, gone] = [{ image: 'registry.test/web-stubborn:1', stopGraceSeconds: 300 }, { suspended: true }]
      await make('app_1', stubborn)
      world.nudgeOnce('app_1')
      await world.run(20_000)
      const { engine } = world.nodes[0]!
      const ended = new Map([...engine.containers.values()].map((c) => [c, null as number | null]))
      expect(ended.size).toBe(2)
      Object.assign(world.applications.get('app_1')!, { replicas: 0, serving: false, generation: 2 })
      await store.change('app_1', { ...spec, ...stubborn, ...gone }, world.clock.now())
      const began = world.clock.now()
      world.nudgeOnce('app_1')
      world.clock.after(20_000, () => world.killAgent(world.nodes[0]!))
      world.clock.after(21_000, () => world.startAgent(world.nodes[0]!))
      await world.runUntil(200_000, () => {
        for (const [container, at] of ended) if (at === null && container.finishedAt !== null) ended.set(container, world.clock.now() - began)
        return false
      })
      expect([...ended.keys()].map((c) => c.exitCode)).toEqual([0, 0])
      for (const ms of ended.values()) expect(ms).toBeGreaterThan(60_000)
      expect(engine.containers.size).toBe(0)
      expect(await readyOf('app_1')).toMatchObject({ status: 'True', reason: 'Suspended' })
    }))

  const interruptions = 40
  const eventsApart = 8
  it.each([
    ['the control worker', () => [() => world.killWorker(), () => world.startWorker()]],
    ['the agent', () => world.nodes.flatMap((n) => [() => world.killAgent(n), () => world.startAgent(n)])],
    ['Temporal, with all that it knew', () => [() => world.temporal.loseEverything(), () => undefined]],
  ] as [string, () => [() => void, () => void]][])(
    '%s dies at any point of a roll-out -> it converges, and serves all the while',
    { timeout: 120_000 },
    async (_, parts) => {
      for (let point = 1; point <= interruptions; point++) {
        await within(async (store) => {
          await make('app_1')
          world.nudgeOnce('app_1')
          await world.run(10_000)
          expect(await isReady('app_1')).toBe(true)
          const application = world.applications.get('app_1')
          Object.assign(application!, { generation: 2 })
          await store.change('app_1', { ...spec, image: 'registry.test/web-slow:1' }, 0)
          world.nudgeOnce('app_1')

          let events = 0
          await world.runUntil(60_000, () => ++events >= point * eventsApart)
          const [kill, start] = parts()
          kill()
          await world.run(500)
          start()
          await world.run(150_000)
          const containers = [...(world.nodes[0]?.engine.containers.values() ?? [])]
          expect(await readyOf('app_1'), `interrupted after ${point * eventsApart} events`).toMatchObject({
            status: 'True',
            observedGeneration: 2,
          })
          expect(
            containers.map((c) => [c.image.reference, c.answering]),
            `interrupted after ${point * eventsApart} events`,
          ).toEqual(Array(2).fill(['registry.test/web-slow:1', true]))
        })
        world.end()
      }
    },
  )
})
