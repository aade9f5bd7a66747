import { describe, expect, it } from 'vitest'
import { endOf } from './keep-log.js'

describe('endOf', () => {
  it('lines that fit -> all of them', () => expect(endOf(['a', '', 'b'])).toBe('a\n\nb\n'))
  it('none -> nothing', () => expect(endOf([])).toBe(''))
  it('a cut within a character -> without that one', () => expect(endOf([`${'x'.repeat(2047)}é`])).toBe(`${'x'.repeat(2047)}\n`))
  it('more than there is room for -> the newest whole lines', () => {
    const kept = endOf(Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(1023, '.')))
    expect(Buffer.byteLength(kept)).toBe(32 * 1024)
    expect(kept.startsWith('68.')).toBe(true)
  })
})
