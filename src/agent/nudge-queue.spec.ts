import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NudgeQueue } from './nudge-queue.js'

describe('NudgeQueue', () => {
  let sent: [string[], string][]
  let queue: NudgeQueue
  beforeEach(() => {
    vi.useFakeTimers()
    sent = []
    queue = new NudgeQueue((resources, why) => sent.push([resources.map((r) => r.resource), why]))
  })
  afterEach(() => vi.useRealTimers())
  const nudge = (resource: string, why = 'event', urgent = false) => queue.nudge({ kind: 'application', resource }, why, urgent)

  it('many within a moment -> each resource once, with its last reason, grouped', () => {
    for (const resource of ['a', 'b', 'a', 'c']) nudge(resource)
    nudge('a', 'drift')
    expect(sent).toEqual([])
    vi.advanceTimersByTime(50)
    expect(sent).toEqual([
      [['a'], 'drift'],
      [['b', 'c'], 'event'],
    ])
  })

  it('a stream of events -> not put off for ever', () => {
    for (let i = 0; i < 20; i++) {
      nudge('a')
      vi.advanceTimersByTime(10)
    }
    expect(sent.length).toBeGreaterThanOrEqual(3)
  })

  it('held -> everything afterwards in one go, also what is urgent', () => {
    queue.hold(300)
    nudge('a')
    nudge('a', 'gone', true)
    vi.advanceTimersByTime(299)
    expect(sent).toEqual([])
    vi.advanceTimersByTime(1)
    expect(sent).toEqual([[['a'], 'gone']])
    vi.advanceTimersByTime(50)
    nudge('b', 'gone', true)
    expect(sent.length).toBe(2)
  })

  it('urgent -> at once, with what waits; more of it in the same moment -> together afterwards', () => {
    nudge('a')
    nudge('b', 'gone', true)
    expect(sent.map(([names]) => names)).toEqual([['a'], ['b']])
    for (const resource of ['c', 'd', 'c']) nudge(resource, 'gone', true)
    expect(sent.length).toBe(2)
    vi.advanceTimersByTime(50)
    expect(sent.slice(2)).toEqual([[['c', 'd'], 'gone']])
  })

  it('a container without a resource -> nobody to nudge', () => {
    nudge('', 'event', true)
    expect(sent).toEqual([])
  })
})
