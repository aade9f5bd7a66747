import { setImmediate as settled } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { KeyedMutex } from './keyed-mutex.js'

const never = new AbortController().signal

/** A mutex whose holders are told in `held`, in order; `release` lets the one with this name go. */
function world() {
  const mutex = new KeyedMutex()
  const held: string[] = []
  const releases = new Map<string, () => void>()
  const take = (name: string, key = 'k', signal: AbortSignal = never) =>
    mutex.acquire(key, signal).then(
      (release) => {
        held.push(name)
        releases.set(name, release)
      },
      () => undefined,
    )
  return { held, take, release: (name: string) => releases.get(name)?.() }
}

describe('KeyedMutex', () => {
  it('one holder a key, in the order in which they asked; other keys do not wait', async () => {
    const { held, take, release } = world()
    for (const name of ['a', 'b', 'c']) void take(name)
    void take('other', 'k2')
    await settled()
    expect(held.sort()).toEqual(['a', 'other'])
    release('a')
    await settled()
    expect(held).toContain('b')
    expect(held).not.toContain('c')
    release('b')
    await settled()
    expect(held).toContain('c')
  })

  it('the last that waits leaves -> who comes then waits for the holder all the same', async () => {
    const { held, take, release } = world()
    void take('a')
    const leaves = new AbortController()
    void take('b', 'k', leaves.signal)
    await settled()
    leaves.abort()
    await settled()
    void take('c')
    await settled()
    expect(held).toEqual(['a'])
    release('a')
    await settled()
    expect(held).toEqual(['a', 'c'])
  })

  it('all have gone -> the next does not wait', async () => {
    const { held, take, release } = world()
    await take('a')
    release('a')
    await take('b')
    expect(held).toEqual(['a', 'b'])
  })
})
