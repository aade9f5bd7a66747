import { describe, expect, it } from 'vitest'
import { ChunkWindow } from './chunk-window.js'

describe('ChunkWindow', () => {
  const open = (count: number) => {
    const stop = new AbortController()
    const window = new ChunkWindow(count, stop.signal)
    let through = 0
    const take = () => void Promise.resolve(window.take()).then(() => through++)
    return { window, take, stop, through: async () => (await new Promise((r) => setImmediate(r)), through) }
  }

  it('as many as it is wide -> go through; the next ones wait for more, one each', async () => {
    const { window, take, through } = open(2)
    for (let i = 0; i < 5; i++) take()
    expect(await through()).toBe(2)
    window.more(1)
    expect(await through()).toBe(3)
    window.more(5)
    expect(await through()).toBe(5)
    for (let i = 0; i < 4; i++) take()
    expect(await through()).toBe(8)
  })

  it('its call ended -> nobody waits any more', async () => {
    const { take, stop, through } = open(1)
    for (let i = 0; i < 3; i++) take()
    stop.abort()
    expect(await through()).toBe(3)
  })
})
