import { describe, expect, it } from 'vitest'
import { readSecretValue, secretBytesMost, type GivenValue } from './secret-value.js'

const base64 = (text: string | Buffer) => Buffer.from(text as string).toString('base64')

describe('readSecretValue', () => {
  it.each(['', 'S3CR3T-abc$1', 'ends with a line\n', '\uFEFFwith a mark', 'ünï 🔑', `"'\`$(x)\\`, 'x'.repeat(secretBytesMost)])(
    'text %#, plain or in base64 -> the same bytes, nothing trimmed',
    (text) => {
      expect(readSecretValue({ value: text })).toEqual({ bytes: Buffer.from(text) })
      expect(readSecretValue({ valueBase64: base64(text) })).toEqual({ bytes: Buffer.from(text) })
    },
  )

  it.each<[string, GivenValue, string]>([
    ['neither', {}, 'either'],
    ['both', { value: 'VERY-SECRET', valueBase64: base64('VERY-SECRET') }, 'either'],
    ['NUL', { value: 'VERY-SECRET\0' }, 'NUL'],
    ['NUL in base64', { valueBase64: base64('VERY-SECRET\0') }, 'NUL'],
    ['half a surrogate pair', { value: 'VERY-SECRET\ud800' }, 'Unicode'],
    ['no UTF-8', { valueBase64: base64(Buffer.from([0x56, 0xff, 0xfe])) }, 'Unicode'],
    ['no base64', { valueBase64: 'VERY-SECRET' }, 'base64'],
    ['base64 without padding', { valueBase64: 'YQ' }, 'padding'],
    ['too long', { value: `${'x'.repeat(secretBytesMost)}y` }, '65536'],
    ['too long in bytes', { value: 'é'.repeat(secretBytesMost / 2 + 1) }, '65538'],
  ])('%s -> refused, without a word of the value', (_what, given, words) => {
    const read = readSecretValue(given)
    expect(read).toMatchObject({ errors: [{ code: 'INVALID', message: expect.stringContaining(words) }] })
    expect(JSON.stringify(read)).not.toContain('VERY')
  })
})
