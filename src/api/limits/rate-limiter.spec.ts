import { describe, expect, it } from 'vitest'
import { RateLimiter } from './rate-limiter.js'

describe('RateLimiter', () => {
  it('burst, then one for each part of a second, for each caller apart', () => {
    let now = 0
    const limiter = new RateLimiter(10, 3, () => now)
    const taken = (caller: string, times: number) => Array.from({ length: times }, () => limiter.take(caller))
    expect(taken('a', 4)).toEqual([true, true, true, false])
    expect(taken('b', 1)).toEqual([true])
    now = 99
    expect(taken('a', 1)).toEqual([false])
    now = 201
    expect(taken('a', 3)).toEqual([true, true, false])
    now = 60_000
    expect(taken('a', 4)).toEqual([true, true, true, false])
  })

  it('clock set back -> nobody gets more, nobody is locked out', () => {
    let now = 1_000_000
    const limiter = new RateLimiter(1, 1, () => now)
    expect(limiter.take('a')).toBe(true)
    now = 0
    expect(limiter.take('a')).toBe(false)
    now = 1_000
    expect(limiter.take('a')).toBe(true)
  })

  it('a flood of callers -> bounded memory', () => {
    const limiter = new RateLimiter(1, 1, () => 0)
    for (let n = 0; n < 30_000; n++) limiter.take(`caller ${n}`)
    expect((limiter as unknown as { buckets: Map<string, unknown> }).buckets.size).toBeLessThanOrEqual(10_000)
  })
})
