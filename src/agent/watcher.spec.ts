import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EngineContainer, EngineEvent } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import { NudgeQueue } from './nudge-queue.js'
import { OwnEffects } from './own-effects.js'
import type { Clock } from './ports.js'
import { ToldStates } from './told-states.js'
import { Watcher } from './watcher.js'
import { noLog } from './testing/no-log.js'

const tickMs = 2
const tick = () => vi.advanceTimersByTimeAsync(tickMs)
const debounced = () => vi.advanceTimersByTimeAsync(70)

/** An engine that only has events; each subscription is kept so that the test can feed and break it. */
class EventSource {
  subscriptions: { since: number | null; emit(event: EngineEvent): void; end(error?: Error): void }[] = []
  inspected: string[] = []

  events = (_: unknown, since: number | null, onEvent: (event: EngineEvent) => void, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      this.subscriptions.push({ since, emit: onEvent, end: (error) => (error ? reject(error) : resolve()) })
      signal.addEventListener('abort', () => resolve())
    })

  inspect = async (id: string) => {
    this.inspected.push(id)
    return { id } as EngineContainer
  }

  get last() {
    const last = this.subscriptions.at(-1)
    if (!last) throw new Error('nobody has subscribed')
    return last
  }
}

describe('Watcher', () => {
  let source: EventSource
  let now: number
  let slept: number[]
  let nudged: string[]
  let sweeps: number
  let effects: OwnEffects
  let prober: string[]
  let system: string[]
  let stop: AbortController

  afterEach(() => void vi.useRealTimers())
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    source = new EventSource()
    now = 1_000_000
    slept = []
    nudged = []
    sweeps = 0
    prober = []
    system = []
    stop = new AbortController()
    const clock: Clock = { now: () => now, sleep: (ms) => (slept.push(ms), new Promise((resolve) => setTimeout(resolve, tickMs))) }
    effects = new OwnEffects(clock)
    const watcher = new Watcher({
      instance: 'i',
      engine: source,
      clock,
      prober: {
        track: ({ id }) => prober.push(`track ${id}`),
        ended: (id) => prober.push(`ended ${id}`),
        forget: (id) => prober.push(`forget ${id}`),
      },
      effects,
      told: new ToldStates(),
      nudges: new NudgeQueue((resources, why) => nudged.push(...resources.map((r) => `${r.resource}: ${why}`))),
      log: noLog,
      onSystemEvent: ({ action }) => system.push(action),
      onSubscribe: () => sweeps++,
    })
    void watcher.run(stop.signal)
    return () => stop.abort()
  })

  const event = (action: string, atMs: number, resource = 'app_a', kind = 'application'): EngineEvent => ({
    action,
    containerId: `id-${resource}`,
    containerName: `ek-${resource}`,
    labels: { [label.kind]: kind, [label.resource]: resource },
    timeNano: `${atMs}000000`,
  })

  it('ten events of one resource within a moment -> one nudge', async () => {
    for (let i = 0; i < 10; i++) source.last.emit(event(i % 2 ? 'pause' : 'unpause', now + i))
    await debounced()
    expect(nudged).toEqual(['app_a: container pause'])
  })

  it('an end -> nudged at once; what follows within the moment -> one nudge more', async () => {
    source.last.emit(event('die', now))
    expect(nudged).toEqual(['app_a: container die'])
    for (let i = 1; i < 10; i++) source.last.emit(event(i % 2 ? 'start' : 'die', now + i))
    expect(nudged.length).toBe(1)
    await debounced()
    expect(nudged.slice(1)).toEqual(['app_a: container start'])
  })

  it('events of two resources -> one nudge each', async () => {
    source.last.emit(event('die', now))
    source.last.emit(event('die', now + 1, 'app_b'))
    await debounced()
    expect(nudged).toEqual(['app_a: container die', 'app_b: container die'])
  })

  it('a removal of what was told as ended -> nudged when nothing works on it a while later', async () => {
    source.last.emit(event('die', now))
    source.last.emit(event('destroy', now + 1))
    expect(nudged).toEqual(['app_a: container die'])
    await debounced()
    expect(slept).toEqual([200])
    expect(nudged).toEqual(['app_a: container die', 'app_a: container destroy'])
  })

  it('a removal of what was told as ended, and an action that has begun since -> its pass sees it', async () => {
    source.last.emit(event('die', now))
    source.last.emit(event('destroy', now + 1))
    now += 100
    const end = effects.begin('ek-app_a')
    await debounced()
    end()
    expect(nudged).toEqual(['app_a: container die'])
  })

  it('the same, and the action has ended already -> its pass sees it too', async () => {
    source.last.emit(event('die', now))
    source.last.emit(event('destroy', now + 1))
    now += 100
    effects.begin('ek-app_a')()
    await debounced()
    expect(nudged).toEqual(['app_a: container die'])
  })

  it('a removal of what nobody knew to have ended -> nudged at once', async () => {
    source.last.emit(event('start', now, 'app_b'))
    source.last.emit(event('destroy', now, 'app_b'))
    expect(nudged).toEqual(['app_b: container destroy'])
  })

  it("what the agent's own action causes -> held back; the same after its end -> nudged", async () => {
    const end = effects.begin('ek-app_a')
    source.last.emit(event('start', now))
    source.last.emit(event('die', now, 'app_b'))
    now += 10
    end()
    now += 10
    // Arrives after the action has answered, but happened before.
    source.last.emit(event('update', now - 15))
    await debounced()
    expect(nudged).toEqual(['app_b: container die'])
    source.last.emit(event('die', now))
    await debounced()
    expect(nudged).toEqual(['app_b: container die', 'app_a: container die'])
  })

  it('the prober -> hears of starts, ends and removals, held back or not', async () => {
    effects.begin('ek-app_a')
    for (const [i, action] of ['start', 'die', 'destroy'].entries()) source.last.emit(event(action, now + i))
    await tick()
    expect(prober.sort()).toEqual(['ended id-app_a', 'forget id-app_a', 'track id-app_a'])
  })

  it("an event of the agent's own containers -> no nudge", async () => {
    source.last.emit(event('die', now, 'dns', 'system'))
    await debounced()
    expect(nudged).toEqual([])
    expect(system).toEqual(['die'])
  })

  it('a broken stream -> resumed from the last event, with a full list, and no event told twice', async () => {
    expect(source.last.since).toBe(1_000)
    expect(sweeps).toBe(1)
    source.last.emit(event('die', now + 500))
    await debounced()
    source.last.end()
    await tick()
    await tick()
    expect(source.subscriptions.length).toBe(2)
    // A second earlier, because the engine does not send events in the order of their times.
    expect(source.last.since).toBeCloseTo(999.5, 3)
    expect(sweeps).toBe(2)
    source.last.emit(event('die', now + 500))
    await debounced()
    expect(nudged.length).toBe(1)
  })

  it('events out of order, or of one moment -> each is told', async () => {
    source.last.emit(event('die', now + 10))
    source.last.emit(event('die', now + 5, 'app_b'))
    source.last.emit(event('die', now + 10, 'app_c'))
    await debounced()
    expect(nudged.map((n) => n.slice(0, 5)).sort()).toEqual(['app_a', 'app_b', 'app_c'])
  })

  it('an engine that stays away -> tried for ever, at most two seconds apart; after a good run short again', async () => {
    for (let i = 0; i < 8; i++) {
      source.last.end(new Error('connect ECONNREFUSED'))
      await tick()
      await tick()
      await tick()
    }
    expect(slept).toEqual([200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000])
    now += 60_000
    source.last.end()
    await tick()
    expect(slept.at(-1)).toBe(100)
  })
})
