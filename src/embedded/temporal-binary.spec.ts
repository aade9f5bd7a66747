import { describe, expect, it } from 'vitest'
import { newEnough, parseServerVersion } from './temporal-binary.js'

describe('parseServerVersion', () => {
  it('output of the command line -> version of the server inside', () => {
    expect(parseServerVersion('temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)\n')).toBe('1.32.0')
  })

  it('output of another program -> refused with what it said', () => {
    expect(() => parseServerVersion('tctl version 1.18\n')).toThrow('"tctl version 1.18"')
  })
})

describe('newEnough', () => {
  it.each([
    ['1.32.0', true],
    ['1.27.0', true],
    ['1.26.9', false],
    ['0.99.0', false],
    ['2.0.0', true],
  ])('%s -> %s', (version, expected) => {
    expect(newEnough(version)).toBe(expected)
  })
})
