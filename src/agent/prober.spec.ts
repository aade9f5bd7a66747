import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EngineContainer } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import { Prober } from './prober.js'

const bornAt = 1_000_000

describe('Prober', () => {
  let answers: (at: number) => boolean
  let probedAt: number[]
  let changes: string[]
  let prober: Prober
  beforeEach(() => {
    vi.useFakeTimers({ now: bornAt })
    answers = () => true
    probedAt = []
    changes = []
    prober = new Prober({
      clock: { now: () => Date.now() },
      run: async () => {
        probedAt.push(Date.now() - bornAt)
        return { ok: answers(Date.now() - bornAt), message: 'probed' }
      },
      onChange: ({ resource }, why) => changes.push(`${resource}: ${why}`),
    })
  })
  afterEach(() => {
    prober.stop()
    vi.useRealTimers()
  })

  const container = (change: Partial<EngineContainer> = {}): EngineContainer => ({
    id: 'c',
    name: 'n',
    labels: {
      [label.kind]: 'application',
      [label.resource]: 'app_a',
      [label.probe]: JSON.stringify({ kind: 'http', port: 80, intervalMs: 2_000, timeoutMs: 500, failureThreshold: 3 }),
    },
    imageId: 'i',
    state: 'running',
    exitCode: null,
    oomKilled: false,
    startedAt: bornAt + 1,
    finishedAt: null,
    restartCount: 0,
    restartPolicy: 'no',
    address: '10.0.0.9',
    limits: { memoryBytes: null, nanoCpus: null },
    ...change,
  })
  const state = (c = container()) => prober.stateOf(c).ready

  it('told of late -> says that it was not asked yet, until it was', async () => {
    answers = () => false
    expect(prober.stateOf(container())).toMatchObject({ ready: false, asked: false })
    prober.track(container())
    expect(prober.stateOf(container())).toMatchObject({ ready: false, asked: false })
    await vi.advanceTimersByTimeAsync(1)
    expect(prober.stateOf(container())).toEqual({ ready: false, message: 'probed' })
  })

  it('the agent was frozen while a probe was on the way -> says that it was not asked, until it was again', async () => {
    answers = () => false
    prober.track(container())
    await vi.advanceTimersByTimeAsync(1)
    vi.setSystemTime(Date.now() + 60_000)
    expect(prober.stateOf(container())).toMatchObject({ ready: false, asked: false })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(prober.stateOf(container())).toEqual({ ready: false, message: 'probed' })
  })

  it('paused and gone on -> asked all the time, so it turns ready again', async () => {
    prober.track(container())
    await vi.advanceTimersByTimeAsync(10)
    answers = (at) => at > 20_000
    prober.track(container({ state: 'paused' }))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(state()).toBe(false)
    await vi.advanceTimersByTimeAsync(12_000)
    prober.track(container())
    expect(state()).toBe(true)
  })

  it('a new container -> asked at once, then soon and ever later, up to the interval', async () => {
    answers = () => false
    prober.track(container())
    await vi.advanceTimersByTimeAsync(12_000)
    expect(probedAt.slice(0, 5)).toEqual([0, 25, 62, 118, 202])
    const gaps = probedAt.slice(1).map((t, i) => t - (probedAt[i] ?? 0))
    expect(gaps.at(-1)).toBe(2_000)
    expect(state()).toBe(false)
    expect(changes).toEqual([])
  })

  it('an interval longer than its budget -> asked often enough until it was ready once, then each interval', async () => {
    const probe = { kind: 'http', port: 80, intervalMs: 90_000, timeoutMs: 500, failureThreshold: 3 }
    answers = (at) => at >= 52_000
    const seldom = container({ labels: { ...container().labels, [label.probe]: JSON.stringify(probe) } })
    prober.track(seldom)
    await vi.advanceTimersByTimeAsync(58_000)
    expect(state(seldom)).toBe(true)
    const first = probedAt.at(-1) ?? 0
    await vi.advanceTimersByTimeAsync(90_000)
    expect(probedAt.at(-1)).toBe(first + 90_000)
  })

  it('its first success -> ready, told once, then asked each interval', async () => {
    answers = (at) => at > 50
    prober.track(container())
    await vi.advanceTimersByTimeAsync(100)
    expect(state()).toBe(true)
    await vi.advanceTimersByTimeAsync(6_000)
    expect(changes).toEqual(['app_a: a container turned ready'])
    expect(probedAt.slice(-2)).toEqual([4_062, 6_062])
  })

  it('fewer failures in a row than the threshold -> stays ready; as many -> unready, and told', async () => {
    prober.track(container())
    await vi.advanceTimersByTimeAsync(0)
    answers = (at) => at !== 2_000 && at !== 4_000
    await vi.advanceTimersByTimeAsync(6_500)
    expect(state()).toBe(true)
    answers = () => false
    await vi.advanceTimersByTimeAsync(4_000)
    expect(state()).toBe(true)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(state()).toBe(false)
    expect(changes).toEqual(['app_a: a container turned ready', 'app_a: a container turned unready'])
  })

  it('unready and back -> seen within moments, not an interval later', async () => {
    prober.track(container())
    await vi.advanceTimersByTimeAsync(0)
    answers = () => false
    await vi.advanceTimersByTimeAsync(6_000)
    expect(state()).toBe(false)
    answers = () => true
    await vi.advanceTimersByTimeAsync(30)
    expect(state()).toBe(true)
  })

  it('a container older than the agent -> unknown until a verdict; one failure is none', async () => {
    const old = container({ startedAt: bornAt - 60_000 })
    expect(state(old)).toBeNull()
    answers = (at) => at >= 2_000
    prober.track(old)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(state(old)).toBeNull()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(state(old)).toBe(true)
  })

  it('a container older than the agent that does not answer -> unready after as many failures as ever', async () => {
    const old = container({ startedAt: bornAt - 60_000 })
    answers = () => false
    prober.track(old)
    await vi.advanceTimersByTimeAsync(4_100)
    expect(state(old)).toBe(false)
  })

  it('a restart -> must prove itself again, whatever the order in which it is reported', async () => {
    prober.track(container())
    await vi.advanceTimersByTimeAsync(10)
    answers = () => false
    const again = container({ startedAt: bornAt + 5_000 })
    prober.track(again)
    prober.ended('c', bornAt + 4_900)
    prober.track(container())
    await vi.advanceTimersByTimeAsync(10)
    expect(state(again)).toBe(false)
    answers = () => true
    await vi.advanceTimersByTimeAsync(100)
    expect(state(again)).toBe(true)
  })

  it('an ended container -> not asked any more, and an older report does not revive it', async () => {
    prober.track(container())
    await vi.advanceTimersByTimeAsync(10)
    prober.ended('c', bornAt + 10)
    prober.track(container())
    const asked = probedAt.length
    await vi.advanceTimersByTimeAsync(10_000)
    expect(probedAt.length).toBe(asked)
    expect(state()).toBe(false)
    expect(state(container({ state: 'exited' }))).toBe(false)
  })

  it('no probe, or one that cannot be read -> nothing is known and nothing asked', async () => {
    prober.track(container({ labels: {} }))
    prober.track(container({ id: 'd', labels: { [label.probe]: '{' } }))
    await vi.advanceTimersByTimeAsync(100)
    expect(state(container({ labels: {} }))).toBeNull()
    expect(probedAt).toEqual([])
  })

  describe('awaitReady', () => {
    const never = new AbortController().signal

    it('ready in time -> true, and the change is not told: the waiter tells it', async () => {
      answers = (at) => at > 50
      const ready = prober.awaitReady(container(), 400, never)
      await vi.advanceTimersByTimeAsync(100)
      await expect(ready).resolves.toBe(true)
      expect(changes).toEqual([])
    })

    it('ready before the wait that was announced -> true at once, and not told either; what changes otherwise is', async () => {
      answers = (at) => at < 3_000 || at > 20_000
      const end = prober.expectReady('n')
      prober.track(container())
      await vi.advanceTimersByTimeAsync(100)
      await expect(prober.awaitReady(container(), 400, never)).resolves.toBe(true)
      expect(changes).toEqual([])
      await vi.advanceTimersByTimeAsync(15_000)
      expect(changes).toEqual(['app_a: a container turned unready'])
      end()
      await vi.advanceTimersByTimeAsync(15_000)
      expect(changes).toEqual(['app_a: a container turned unready', 'app_a: a container turned ready'])
    })

    it('not ready in time -> false, and a later change is told', async () => {
      answers = (at) => at > 500
      const ready = prober.awaitReady(container(), 400, never)
      await vi.advanceTimersByTimeAsync(2_000)
      await expect(ready).resolves.toBe(false)
      expect(changes).toEqual(['app_a: a container turned ready'])
    })

    it('it had ended before it was first reported as running -> false at once', async () => {
      answers = () => false
      prober.ended('c', bornAt + 5)
      await expect(prober.awaitReady(container(), 60_000, never)).resolves.toBe(false)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(probedAt).toEqual([])
      answers = () => true
      prober.track(container({ startedAt: bornAt + 500 }))
      await vi.advanceTimersByTimeAsync(10)
      expect(state(container({ startedAt: bornAt + 500 }))).toBe(true)
    })

    it('it ends meanwhile -> false at once', async () => {
      answers = () => false
      const ready = prober.awaitReady(container(), 60_000, never)
      await vi.advanceTimersByTimeAsync(10)
      prober.ended('c', bornAt + 20)
      await expect(ready).resolves.toBe(false)
    })
  })

  it('hundreds at once -> a bounded number of probes on the way', async () => {
    let running = 0
    let most = 0
    const many = new Prober({
      clock: { now: () => Date.now() },
      run: async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 10))
        running--
        return { ok: true, message: '' }
      },
      onChange: () => undefined,
    })
    const all = Array.from({ length: 300 }, (_, i) => container({ id: `c${i}` }))
    for (const c of all) many.track(c)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(most).toBe(64)
    expect(all.every((c) => many.stateOf(c).ready)).toBe(true)
    many.stop()
  })

  it('a full list without it -> forgotten, unless it started after the list was asked for', async () => {
    prober.track(container())
    prober.track(container({ id: 'young', startedAt: bornAt + 500 }))
    prober.keepOnly(new Set(), bornAt + 100)
    expect(prober.knows('c')).toBe(false)
    expect(prober.knows('young')).toBe(true)
  })

  describe('liveness', () => {
    let alive: (at: number) => boolean
    let askedAt: number[]
    beforeEach(() => {
      alive = () => true
      askedAt = []
      prober = new Prober({
        clock: { now: () => Date.now() },
        run: async (_, probe) => {
          const at = Date.now() - bornAt
          if (probe.kind === 'http') return { ok: answers(at), message: 'probed' }
          askedAt.push(at)
          return { ok: alive(at), message: 'felt' }
        },
        onChange: ({ resource }, why) => changes.push(`${resource}: ${why}`),
      })
    })
    const liveness = JSON.stringify({ kind: 'exec', command: ['/live'], intervalMs: 1_000, timeoutMs: 500, failureThreshold: 3 })
    const living = (change: Partial<EngineContainer> = {}, readiness = true) => {
      const c = container(change)
      const { [label.probe]: probe = '', ...others } = c.labels
      return { ...c, labels: { ...others, ...(readiness ? { [label.probe]: probe } : {}), [label.liveness]: liveness } }
    }

    it('never ready -> not asked; ready once -> asked, also when it turns unready', async () => {
      answers = () => false
      prober.track(living())
      await vi.advanceTimersByTimeAsync(30_000)
      expect(askedAt).toEqual([])
      expect(prober.stateOf(living())).toMatchObject({ ready: false, live: null })
      answers = (at) => at < 40_000
      await vi.advanceTimersByTimeAsync(5_000)
      expect(prober.stateOf(living())).toEqual({ ready: true, message: 'probed', live: true, liveMessage: 'felt' })
      await vi.advanceTimersByTimeAsync(30_000)
      expect(prober.stateOf(living())).toMatchObject({ ready: false, live: true })
      expect(askedAt.length).toBeGreaterThan(25)
    })

    it('no readiness probe -> asked from the start', async () => {
      prober.track(living({}, false))
      await vi.advanceTimersByTimeAsync(1)
      expect(prober.stateOf(living({}, false))).toMatchObject({ ready: null, live: true })
    })

    it('as many failures in a row as its threshold -> told once, ready all the while; its restart clears it', async () => {
      prober.track(living())
      await vi.advanceTimersByTimeAsync(1)
      changes = []
      alive = () => false
      await vi.advanceTimersByTimeAsync(2_500)
      expect(prober.stateOf(living())).toMatchObject({ ready: true, live: true })
      await vi.advanceTimersByTimeAsync(10_000)
      expect(prober.stateOf(living())).toMatchObject({ ready: true, live: false, liveMessage: 'felt' })
      expect(changes).toEqual(['app_a: a container hangs'])
      alive = () => true
      const again = living({ startedAt: bornAt + 60_000 })
      prober.track(again)
      expect(prober.stateOf(again)).toMatchObject({ live: null })
      await vi.advanceTimersByTimeAsync(1_500)
      expect(prober.stateOf(again)).toMatchObject({ ready: true, live: true })
    })

    it('a failure now and then -> nothing', async () => {
      alive = (at) => Math.floor(at / 1_000) % 3 === 0
      prober.track(living())
      await vi.advanceTimersByTimeAsync(60_000)
      expect(changes.filter((why) => why.includes('hangs'))).toEqual([])
    })

    it('hanging since before this agent began -> found, because its policy says that it was ready once', async () => {
      answers = alive = () => false
      const old = living({ startedAt: bornAt - 60_000, restartPolicy: 'unless-stopped' })
      prober.track(old)
      await vi.advanceTimersByTimeAsync(5_000)
      expect(prober.stateOf(old)).toMatchObject({ live: false })
      const never = living({ id: 'd', startedAt: bornAt - 60_000, restartPolicy: 'no' })
      prober.track(never)
      await vi.advanceTimersByTimeAsync(5_000)
      expect(prober.stateOf(never)).toMatchObject({ live: null })
    })

    it('an agent that was frozen -> its old verdict is none', async () => {
      alive = () => false
      prober.track(living())
      await vi.advanceTimersByTimeAsync(5_000)
      vi.setSystemTime(Date.now() + 60_000)
      expect(prober.stateOf(living())).toMatchObject({ live: null })
    })
  })
})
