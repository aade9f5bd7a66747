import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { merged, withoutNulls } from './patch.js'

describe('merged', () => {
  it.each([
    ['absent stays', { a: 1, b: 2 }, {}, { a: 1, b: 2 }],
    ['undefined stays', { a: 1 }, { a: undefined }, { a: 1 }],
    ['null goes', { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ['lists are replaced', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['objects are merged', { a: { x: 1, y: 2 } }, { a: { y: 3, x: null } }, { a: { y: 3 } }],
    ['an object where none was', {}, { a: { x: null, y: 1 } }, { a: { y: 1 } }],
    ['nulls inside lists go', {}, { a: [{ x: null, y: 1 }] }, { a: [{ y: 1 }] }],
  ])('%s', (_what, spec, patch, expected) => expect(merged(spec, patch)).toEqual(expected))

  it('any patch -> the spec it is given is left as it was, and no null is left', () => {
    // As GraphQL gives them: a list has no null for an item.
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant(null),
        fc.integer(),
        fc.string(),
        fc.array(
          tie('value').filter((v) => v !== null),
          { maxLength: 3 },
        ),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
      ),
    })).value
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), value),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), value),
        (start, patch) => {
          const spec = withoutNulls(start)
          const before = JSON.stringify(spec)
          const result = merged(spec, patch)
          expect(JSON.stringify(spec)).toBe(before)
          expect(JSON.stringify(merged(result, patch))).toBe(JSON.stringify(result))
          expect(JSON.stringify(result)).not.toMatch(/[:,[]null[,}\]]/)
        },
      ),
    )
  })
})
