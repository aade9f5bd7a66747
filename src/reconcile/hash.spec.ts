import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, shortHash } from './hash.js'

describe('canonicalJson', () => {
  it.each([
    { it: 'keys in any order -> sorted, also inside', value: { b: { d: 1, c: 2 }, a: 3 }, text: '{"a":3,"b":{"c":2,"d":1}}' },
    { it: 'undefined -> left out', value: { a: undefined, b: 1 }, text: '{"b":1}' },
    { it: 'arrays -> keep their order', value: [2, { b: 1, a: 0 }, 1], text: '[2,{"a":0,"b":1},1]' },
    { it: 'null, empty text and empty array -> stay apart', value: { a: null, b: '', c: [] }, text: '{"a":null,"b":"","c":[]}' },
  ])('$it', ({ value, text }) => expect(canonicalJson(value)).toBe(text))

  it('any JSON -> the same text after a trip through a store that reorders keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversedKeys(value))).toBe(canonicalJson(value))
      }),
    )
  })
})

function reversedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversedKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).reverse().map(([k, v]) => [k, reversedKeys(v)]))
}

describe('shortHash', () => {
  it('a value -> its golden hash: another one would restart every fleet', () => {
    expect(shortHash({ image: 'nginx', ports: [80] })).toBe('4797725ef484faea')
  })
})
