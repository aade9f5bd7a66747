import { describe, expect, it } from 'vitest'
import { slotsPerTarget } from '../../reconcile/ingress/slots.js'
import { fillSlots } from './endpoint-files.js'

describe('fillSlots', () => {
  const count = (dials: string[]) => Object.values(Object.groupBy(dials, (d) => d)).map((d) => d?.length ?? 0)

  it.each([1, 2, 3, 4, 6, 12])('%i endpoints -> each has the same share', (n) => {
    const dials = fillSlots(
      Array.from({ length: n }, (_, i) => `10.0.0.${i}:80`),
      '503',
    )
    expect(count(dials)).toEqual(Array.from({ length: n }, () => slotsPerTarget / n))
  })

  it.each([5, 7, 8, 9, 10, 11])('%i endpoints -> all are dialled, shares differ by one at most', (n) => {
    const shares = count(
      fillSlots(
        Array.from({ length: n }, (_, i) => `10.0.0.${i}:80`),
        '503',
      ),
    )
    expect(shares.length).toBe(n)
    expect(Math.max(...shares) - Math.min(...shares)).toBe(1)
  })

  it('no endpoint -> the 503 responder', () => expect(new Set(fillSlots([], 'u'))).toEqual(new Set(['u'])))
})
