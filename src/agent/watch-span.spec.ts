import { describe, expect, it } from 'vitest'
import { WatchSpan } from './watch-span.js'

describe('WatchSpan', () => {
  const following = (span: WatchSpan) => {
    let end!: () => void
    const events = () => new Promise<void>((resolve) => (end = resolve))
    const followed = span.watching({ events }).events({}, null, () => undefined, new AbortController().signal)
    return { breaks: async () => (end(), await followed) }
  }

  it('before the first answer -> every end was missed', () => {
    expect(new WatchSpan().missed(1_000)).toBe(true)
  })

  it('an end before the answer -> missed; after it -> seen', () => {
    const span = new WatchSpan()
    following(span)
    span.answered(1_000)
    span.answered(3_000)
    expect([span.missed(999), span.missed(1_000), span.missed(2_000)]).toEqual([true, false, false])
  })

  it('the subscription breaks -> what ended since then was missed, until the engine answers again', async () => {
    const span = new WatchSpan()
    const { breaks } = following(span)
    span.answered(1_000)
    await breaks()
    expect(span.missed(2_000)).toBe(true)
    following(span)
    span.answered(5_000)
    expect([span.missed(4_999), span.missed(5_001)]).toEqual([true, false])
  })

  it('a container that never ended -> not missed', () => {
    expect(new WatchSpan().missed(null)).toBe(false)
  })
})
