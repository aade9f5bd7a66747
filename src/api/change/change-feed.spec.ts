import { describe, expect, it } from 'vitest'
import { expanded, orEnd } from './change-feed.service.js'

/** A source of these numbers that then waits for ever, and whether it was returned. */
function sourceOf(...numbers: number[]) {
  const source = {
    returned: false,
    async next(): Promise<IteratorResult<number>> {
      const value = numbers.shift()
      return value === undefined ? new Promise(() => undefined) : { done: false, value }
    },
    async return(): Promise<IteratorResult<number>> {
      source.returned = true
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return source
    },
  }
  return source
}

describe('expanded', () => {
  it('the first ones, then each item as none, one or many', async () => {
    const source = sourceOf(0, 2, 1)
    const items = expanded(source, async (n) => Array.from({ length: n }, () => `${n}`), ['first'])
    const seen = []
    for (let n = 0; n < 4; n++) seen.push((await items.next()).value)
    expect(seen).toEqual(['first', '2', '2', '1'])
    expect(source.returned).toBe(false)
    await items.return?.()
    expect(source.returned).toBe(true)
  })

  it('an item that cannot be read -> told, and its source follows nothing any more', async () => {
    const source = sourceOf(1)
    const items = expanded(source, () => Promise.reject(new Error('the database is away')))
    await expect(items.next()).rejects.toThrow('the database is away')
    expect(source.returned).toBe(true)
  })
})

describe('orEnd', () => {
  it('what is read -> as it is; what cannot be read -> its source ends', async () => {
    const source = sourceOf()
    expect(await orEnd(source, Promise.resolve(7))).toBe(7)
    expect(source.returned).toBe(false)
    await expect(orEnd(source, Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(source.returned).toBe(true)
  })
})
