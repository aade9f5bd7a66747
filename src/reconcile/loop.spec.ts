import { describe, expect, it } from 'vitest'
import type { Decision } from './loop.js'
import { actionNamed, LoopHarness, quietDecision, seenOn } from './testing/loop-harness.js'

const starting = (...keys: string[]) => (): Decision => ({ ...quietDecision, start: keys.map((key) => actionNamed(key)) })
const deciding = (change: Partial<Decision>) => (): Decision => ({ ...quietDecision, ...change })
const throwing = (message: string) => (): Decision => {
  throw new Error(message)
}

/** A loop that has had its first pass, with these decisions for it and the following ones. */
async function started(...decisions: (() => Decision)[]): Promise<LoopHarness> {
  const loop = new LoopHarness()
  loop.decisions = [...decisions, () => quietDecision]
  loop.run()
  await loop.settle()
  return loop
}

describe('reconcileLoop', () => {
  describe('passes', () => {
    it('start -> one pass at once, then quiet until the resync', async () => {
      const loop = await started()
      expect({ passes: loop.passes.length, waits: loop.waits }).toEqual({ passes: 1, waits: [3_600_000] })
    })

    it('resync timer -> one pass', async () => {
      const loop = await started()
      await loop.timeUp()
      expect(loop.passes).toHaveLength(2)
    })

    it.each([
      { requeueAfterMs: 700, resyncMs: 3_600_000, wait: 700 },
      { requeueAfterMs: 9_000_000, resyncMs: 3_600_000, wait: 3_600_000 },
      { requeueAfterMs: null, resyncMs: 20, wait: 20 },
    ])('plan wants $requeueAfterMs, resync $resyncMs -> waits $wait', async ({ requeueAfterMs, resyncMs, wait }) => {
      const loop = new LoopHarness()
      loop.resyncMs = resyncMs
      loop.decisions = [deciding({ requeueAfterMs })]
      loop.run()
      await loop.settle()
      expect(loop.waits).toEqual([wait])
    })

    it('ten nudges while a pass observes -> one more pass', async () => {
      const loop = await started()
      let nudged = false
      loop.whileObserving = async () => {
        if (nudged) return
        nudged = true
        for (let i = 0; i < 10; i++) void loop.nudge()
        await Promise.resolve()
      }
      await loop.nudge()
      await loop.settle()
      expect(loop.passes).toHaveLength(3)
    })

    it('ten nudges between passes -> one pass', async () => {
      const loop = await started()
      await loop.nudge(10)
      expect(loop.passes).toHaveLength(2)
    })

    it('a node that is away -> told, not asked', async () => {
      const loop = new LoopHarness()
      loop.nodes = ['node_1', 'node_2']
      loop.away = [{ node: 'node_2', message: 'no heartbeat' }]
      loop.run()
      await loop.settle()
      expect(loop.passes[0]?.observed).toEqual([seenOn('node_1'), { node: 'node_2', unreachable: 'NodeAway', message: 'no heartbeat' }])
      expect(loop.observations).toBe(1)
    })

    it('an action after a look -> its agent looks at the images that were seen, and asks no registry', async () => {
      const loop = new LoopHarness()
      loop.seeing = { images: { 'app:1': 'sha256:1', 'app@sha256:2': null } }
      loop.decisions = [starting('a'), () => quietDecision]
      loop.run()
      await loop.settle()
      expect(loop.looks).toEqual([{ node: 'node_1', kind: 'k', resource: 'r', images: ['app:1', 'app@sha256:2'], connectionsTo: [] }])
    })

    it('superseded -> looks again at once', async () => {
      const loop = await started(deciding({ superseded: true }))
      expect({ passes: loop.passes.length, waits: loop.waits.length }).toEqual({ passes: 2, waits: 1 })
    })

    it('superseded with actions to start -> none is started', async () => {
      const loop = await started(() => ({ ...starting('a')(), superseded: true }))
      expect(loop.running()).toEqual([])
    })
  })

  describe('failed passes', () => {
    it('fails again and again -> backs off, doubling, and starts over after a good one', async () => {
      const loop = await started(throwing('no database'), throwing('no database'), throwing('no database'), () => quietDecision, throwing('again'))
      for (let i = 0; i < 4; i++) await loop.timeUp()
      expect(loop.waits).toEqual([1_000, 2_000, 4_000, 3_600_000, 1_000])
      expect(loop.failed).toEqual(['no database', 'no database', 'no database', 'again'])
    })

    it('failures before this run -> the back-off goes on', async () => {
      const loop = new LoopHarness()
      loop.decisions = [throwing('still none')]
      loop.run({ count: 3 })
      await loop.settle()
      expect(loop.waits).toEqual([8_000])
    })

    it('a nudge -> tried before the back-off ends', async () => {
      const loop = await started(throwing('no database'))
      await loop.nudge()
      expect(loop.passes).toHaveLength(2)
    })
  })

  describe('outcomes', () => {
    it('an action ends -> told to the next pass, once, with the generation that started it', async () => {
      const loop = await started(() => ({ ...starting('a')(), generation: 7 }))
      await loop.ends('a')
      await loop.nudge()
      expect(loop.passes.map((p) => p.settled)).toEqual([[], ['a@7'], []])
    })

    it('the pass that was told fails -> told again, then never more', async () => {
      const loop = await started(starting('a'), throwing('no database'))
      await loop.ends('a')
      await loop.timeUp()
      await loop.nudge()
      expect(loop.passes.map((p) => p.settled)).toEqual([[], ['a@1'], ['a@1'], []])
    })

    it('the pass that was told is superseded -> told again', async () => {
      const loop = await started(starting('a'), deciding({ superseded: true }))
      await loop.ends('a')
      expect(loop.passes.map((p) => p.settled)).toEqual([[], ['a@1'], ['a@1']])
    })

    it('ends while a pass observes -> in flight for that pass, told to the next', async () => {
      const loop = await started(starting('a'))
      let ended = false
      loop.whileObserving = async () => {
        if (!ended) loop.endNow('a')
        ended = true
        await Promise.resolve()
      }
      await loop.nudge()
      await loop.settle()
      expect(loop.passes.map((p) => ({ inFlight: p.inFlight.map((a) => a.key), settled: p.settled }))).toEqual([
        { inFlight: [], settled: [] },
        { inFlight: ['a'], settled: [] },
        { inFlight: [], settled: ['a@1'] },
      ])
    })

    it('one fails -> its siblings go on', async () => {
      const loop = await started(starting('a', 'b', 'c'))
      await loop.ends('b', null, false)
      expect(loop.running()).toEqual(['a', 'c'])
      expect(loop.passes[1]?.inFlight.map((a) => a.key)).toEqual(['a', 'c'])
    })

    it('something runs -> no resync timer, only what the plan asks for', async () => {
      const loop = await started(starting('a'))
      await loop.nudge()
      expect(loop.waits).toEqual([null, null])
    })

    it('cancel of a running key -> cancelled, and in flight until it has ended', async () => {
      const loop = await started(starting('a'), deciding({ cancel: ['a', 'unknown'] }))
      await loop.nudge()
      await loop.nudge()
      expect(loop.cancelled).toEqual(['a'])
      expect(loop.passes[2]?.inFlight.map((a) => a.key)).toEqual(['a'])
    })
  })

  describe('what an action saw', () => {
    it('it ended alone -> the next pass asks nobody', async () => {
      const loop = await started(starting('a'))
      await loop.ends('a', seenOn('node_1', 'r1'))
      expect(loop.passes[1]).toMatchObject({ bySeen: true, observed: [seenOn('node_1', 'r1')] })
      expect(loop.observations).toBe(1)
    })

    it('a nudge came with it -> asked', async () => {
      const loop = await started(starting('a'))
      loop.endNow('a', seenOn('node_1', 'r1'))
      await loop.nudge()
      expect(loop.passes[1]?.bySeen).toBe(false)
    })

    it('it saw nothing -> asked', async () => {
      const loop = await started(starting('a'))
      await loop.ends('a', null)
      expect(loop.passes[1]?.bySeen).toBe(false)
    })

    it('the node was asked while it ran -> asked again, for what it saw may be older', async () => {
      const loop = await started(starting('a'))
      await loop.nudge()
      await loop.ends('a', seenOn('node_1', 'old'))
      expect(loop.passes.map((p) => p.bySeen)).toEqual([false, false, false])
    })

    it('another action of the node ended while it ran -> asked, for what it saw may lack that one', async () => {
      const loop = await started(starting('a', 'b'))
      await loop.ends('b', seenOn('node_1', 'new'))
      await loop.ends('a', seenOn('node_1', 'old'))
      expect(loop.passes.map((p) => p.bySeen)).toEqual([false, true, false])
    })

    it('two end together -> asked', async () => {
      const loop = await started(starting('a', 'b'))
      loop.endNow('b', seenOn('node_1', 'new'))
      loop.endNow('a', seenOn('node_1', 'old'))
      await loop.settle()
      expect(loop.passes[1]).toMatchObject({ bySeen: false, settled: ['b@1', 'a@1'] })
    })

    it('the pass that used it failed -> asked', async () => {
      const loop = await started(starting('a'), throwing('no database'))
      await loop.ends('a', seenOn('node_1', 'r1'))
      await loop.timeUp()
      expect(loop.passes.map((p) => p.bySeen)).toEqual([false, true, false])
    })
  })

  describe('ends', () => {
    it('resource gone -> finalized', async () => {
      const loop = new LoopHarness()
      loop.gone = true
      loop.run()
      expect(await loop.finished()).toBe('finalized')
    })

    it('decided to be finalized -> finalized', async () => {
      const loop = await started(deciding({ finalized: true }))
      expect(loop.end).toBe('finalized')
    })

    it.each([
      { it: 'finalized', provoke: async (loop: LoopHarness) => loop.nudge(), decision: deciding({ finalized: true }), end: 'finalized' },
      {
        it: 'resource gone',
        provoke: async (loop: LoopHarness) => {
          loop.gone = true
          await loop.nudge()
        },
        decision: () => quietDecision,
        end: 'finalized',
      },
      { it: 'stopped', provoke: async (loop: LoopHarness) => loop.stop(), decision: () => quietDecision, end: 'stopped' },
    ])('$it with actions in flight -> ends when the last has ended', async ({ provoke, decision, end }) => {
      const loop = await started(starting('a', 'b'), decision)
      await provoke(loop)
      expect(loop.end).toBeUndefined()
      await loop.ends('a')
      expect(loop.end).toBeUndefined()
      await loop.ends('b')
      expect(loop.end).toBe(end)
    })

    it('stopped -> starts nothing more and cancels nothing', async () => {
      const loop = await started(starting('a'))
      await loop.stop()
      await loop.ends('a')
      expect({ passes: loop.passes.length, cancelled: loop.cancelled }).toEqual({ passes: 1, cancelled: [] })
    })

    it.each(['idle', 'quiet'] as const)('grown old (%s) and idle -> again', async (pressure) => {
      const loop = await started()
      loop.pressure = pressure
      await loop.nudge()
      expect(loop.end).toBe('again')
    })

    it('grown old with an action in flight -> not before it has ended and was told', async () => {
      const loop = await started(starting('a'))
      loop.pressure = 'quiet'
      await loop.nudge()
      expect(loop.end).toBeUndefined()
      await loop.ends('a')
      expect(loop.end).toBe('again')
      expect(loop.passes.map((p) => ({ quiet: p.quiet, settled: p.settled }))).toEqual([
        { quiet: false, settled: [] },
        { quiet: true, settled: [] },
        { quiet: true, settled: ['a@1'] },
      ])
    })

    it('grown old while outcomes could not be told -> not before they are', async () => {
      const loop = await started(starting('a'), throwing('no database'))
      loop.pressure = 'idle'
      await loop.ends('a')
      expect(loop.end).toBeUndefined()
      await loop.timeUp()
      expect(loop.end).toBe('again')
    })
  })
})
