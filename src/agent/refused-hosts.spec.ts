import { describe, expect, it } from 'vitest'
import { refusedHosts } from './refused-hosts.js'

const hosts = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `h${i + from}.test`)

/** Refuses whatever holds one of the bad ones, and counts. */
function caddyThat(refuses: (hosts: string[]) => string | null) {
  const asked: string[][] = []
  const ask = async (some: string[]) => (asked.push(some), refuses(some))
  const find = async (
    all: { served?: string[]; others?: string[] },
    limits: { questions?: number; timeLeft?: () => boolean } = {},
  ) => refusedHosts({ served: [], others: [], ...all }, ask, { questions: 30, timeLeft: () => true, ...limits })
  return { asked, find }
}
const refusing =
  (...bad: string[]) =>
  (some: string[]) => {
    const found = some.find((host) => bad.includes(host))
    return found === undefined ? null : `no ${found}`
  }

describe('refusedHosts', () => {
  it.each([
    [1, ['h0.test']],
    [2, ['h1.test']],
    [7, ['h6.test']],
    [8, ['h0.test', 'h7.test']],
    [9, ['h3.test', 'h4.test', 'h5.test']],
    [20, ['h1.test', 'h5.test', 'h9.test', 'h13.test']],
  ])('of %i hosts -> just %j, each with its own words', async (count, bad) => {
    const { find, asked } = caddyThat(refusing(...bad))
    expect(await find({ others: hosts(count) })).toEqual(bad.map((host) => ({ host, message: `no ${host}` })))
    expect(asked.length).toBeLessThanOrEqual(30)
  })

  it('one of a thousand -> found within ten questions and some', async () => {
    const { find, asked } = caddyThat(refusing('h777.test'))
    expect(await find({ others: hosts(1_000) })).toEqual([{ host: 'h777.test', message: 'no h777.test' }])
    expect(asked.length).toBeLessThan(22)
  })

  it('one that is new beside a thousand that are served -> three questions', async () => {
    const { find, asked } = caddyThat(refusing('new.test'))
    expect(await find({ served: hosts(1_000), others: ['new.test'] })).toEqual([{ host: 'new.test', message: 'no new.test' }])
    expect(asked.map((some) => some.length)).toEqual([0, 1_000, 1_001])
  })

  it('two that exclude each other -> the one that is not served yet', async () => {
    const { find } = caddyThat((some) => (some.includes('a.test') && some.includes('z.test') ? 'ambiguous' : null))
    expect(await find({ served: ['z.test'], others: ['a.test', 'b.test'] })).toEqual([{ host: 'a.test', message: 'ambiguous' }])
    expect(await find({ others: ['a.test', 'b.test', 'z.test'] })).toEqual([{ host: 'z.test', message: 'ambiguous' }])
  })

  it('also refused without any host -> nobody is to blame, after one question', async () => {
    const { find, asked } = caddyThat(() => 'the settings are wrong')
    expect(await find({ others: hosts(10) })).toEqual([])
    expect(asked).toEqual([[]])
  })

  it('refused by nobody when it is asked -> nobody', async () => {
    const { find } = caddyThat(() => null)
    expect(await find({ served: hosts(3), others: hosts(3, 3) })).toEqual([])
  })

  it.each([3, 4, 40, 1_000])('all %i of them -> a few are named; many are not what is wrong', async (count) => {
    const { find } = caddyThat((some) => (some.length > 0 ? 'no disk' : null))
    expect(await find({ others: hosts(count) })).toHaveLength(count === 3 ? 3 : 0)
  })

  it('more than there are questions for -> those that were found', async () => {
    const bad = hosts(100).filter((_, i) => i % 5 === 4)
    const { find, asked } = caddyThat(refusing(...bad))
    const found = await find({ others: hosts(100) })
    expect(asked).toHaveLength(30)
    expect(found.length).toBeGreaterThan(3)
    expect(found.map((r) => r.host)).toEqual(bad.slice(0, found.length))
  })

  it('no time left -> what was found', async () => {
    let left = 6
    const { find } = caddyThat(refusing('h0.test', 'h63.test'))
    expect((await find({ others: hosts(64) }, { timeLeft: () => left-- > 0 })).map((r) => r.host)).toEqual([])
    left = 9
    expect((await find({ others: hosts(64) }, { timeLeft: () => left-- > 0 })).map((r) => r.host)).toEqual(['h0.test'])
  })

  it('the question itself fails -> so does the search', async () => {
    await expect(
      refusedHosts({ served: [], others: ['a.test'] }, () => Promise.reject(new Error('no Docker')), {
        questions: 30,
        timeLeft: () => true,
      }),
    ).rejects.toThrow('no Docker')
  })
})
