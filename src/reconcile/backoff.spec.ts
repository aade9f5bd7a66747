import { describe, expect, it } from 'vitest'
import { backoffMs, currentFailures, nextFailure, type Failure } from './backoff.js'

const failed = { key: 'pull:x', reason: 'RegistryUnreachable', message: 'no route', retryable: true }

describe('backoffMs', () => {
  it.each([
    [0, 1_000],
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [9, 256_000],
    [10, 300_000],
    [10_000, 300_000],
  ])('%i failures -> %i ms', (failures, ms) => expect(backoffMs(failures)).toBe(ms))
})

describe('nextFailure', () => {
  const third: Failure = { ...failed, generation: 2, count: 3, nextTryAt: 0 }
  it.each([
    { it: 'first -> one, next try after a second', previous: undefined, generation: 2, count: 1, nextTryAt: 51_000 },
    { it: 'one more of the same generation -> counts on', previous: third, generation: 2, count: 4, nextTryAt: 58_000 },
    { it: 'a newer generation -> counts from one', previous: third, generation: 3, count: 1, nextTryAt: 51_000 },
  ])('$it', ({ previous, generation, count, nextTryAt }) => {
    expect(nextFailure(previous, failed, generation, 50_000)).toEqual({ ...failed, generation, count, nextTryAt })
  })

  it('it failed differently this time -> the latest reason speaks', () => {
    const now = { ...failed, reason: 'ImageNotFound', message: 'unknown tag', retryable: false }
    expect(nextFailure(third, now, 2, 0)).toMatchObject({ reason: 'ImageNotFound', message: 'unknown tag', retryable: false, count: 4 })
  })
})

describe('currentFailures', () => {
  it('failures of several generations -> only those of the current one, by key', () => {
    const list: Failure[] = [1, 2, 3].map((generation) => ({ ...failed, key: `k${generation}`, generation, count: 1, nextTryAt: 0 }))
    expect([...currentFailures(list, 2)]).toEqual([['k2', list[1]]])
  })
})
