import { describe, expect, it } from 'vitest'
import { lineFilter } from './line-filter.js'

const filter = (text: string, regex = false, ignoreCase = false) => lineFilter({ text, regex, ignoreCase })

describe('lineFilter', () => {
  it.each([
    ['a.c', false, false, 'xa.cx', true],
    ['a.c', false, false, 'abc', false],
    ['a.c', true, false, 'xabcx', true],
    ['ERROR (5..)', false, true, 'an error (5..) here', true],
    ['^err(or)?\\s+\\d{3}$', true, true, 'ERR 503', true],
    ['größe', false, true, 'GRÖSSE GRÖßE', true],
  ])('%s regex=%s ignoreCase=%s, line %s -> %s', (text, regex, ignoreCase, line, wanted) =>
    expect(filter(text, regex, ignoreCase)(line)).toBe(wanted),
  )

  it.each(['(a+)+b', '(a|aa)+b', '.*.*.*.*.*b', '(?:a*)*b', '(a{0,30}){0,30}b'])(
    'a pattern that makes a backtracking engine try for ever, %s -> answers at once',
    (text) => {
      const wanted = filter(text, true)
      const before = process.cpuUsage()
      expect(wanted('a'.repeat(64 * 1024))).toBe(false)
      expect(process.cpuUsage(before).user).toBeLessThan(2_000_000) // microseconds
    },
  )

  it.each([
    ['', false],
    ['x'.repeat(501), false],
    ['(', true],
    ['(a)\\1', true],
    ['(?=a)', true],
    ['((a{1,999}){1,999}){1,999}', true],
  ])('%s -> refused', (text, regex) => expect(() => filter(text, regex)).toThrow(/grep.text/))
})
