import { describe, expect, it } from 'vitest'
import { shop } from '../../test/fixtures/certificates.js'
import { caddyWords } from './caddy-words.js'

describe('caddyWords', () => {
  it.each([
    [
      'log lines before it',
      '{"level":"info","msg":"using config"}\nError: loading http app module: no\n',
      'loading http app module: no',
    ],
    [
      'as a line of its log',
      '{"level":"warn","msg":"x"}\n{"level":"error","ts":1,"msg":"loading \\"a\\": no"}\n{cut',
      'loading "a": no',
    ],
    ['no error', 'what is this?\n\n', 'what is this?'],
    ['nothing', '', 'no reason was told'],
    ['a hash of a password', `Error: account $2b$10$${'a'.repeat(53)} is odd`, 'account … is odd'],
    ['a key', `Error: parsing ${shop.key.split('\n')[0]} MII`, 'parsing …'],
    ['base64', `Error: decoding ${'QUJD'.repeat(20)}==: bad`, 'decoding …: bad'],
  ])('%s -> its words, and no secret', (_, output, words) => {
    expect(caddyWords(output)).toBe(words)
  })

  it('long -> cut', () => {
    expect(caddyWords(`Error: ${'a b '.repeat(200)}`)).toHaveLength(300)
  })
})
