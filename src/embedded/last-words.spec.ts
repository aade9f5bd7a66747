import { describe, expect, it } from 'vitest'
import { lastWords } from './last-words.js'

describe('lastWords', () => {
  it('plain output -> its last lines', () => {
    expect(lastWords('a\nb\n\n c \nd\ne\n')).toBe('b | c | d | e')
  })

  it('structured log -> the first line of its last error, whatever follows it', () => {
    const log = [
      '{"level":30,"msg":"started"}',
      '{"level":50,"msg":"cannot connect\\nsee the manual"}',
      '{"level":30,"msg":"stopping"}',
      'Node.js v24',
    ]
    expect(lastWords(log.join('\n'))).toBe('cannot connect')
  })

  it('error without a message of its own -> that of the error', () => {
    expect(lastWords('{"level":60,"msg":"","err":{"message":"no memory"}}')).toBe('no memory')
  })

  it('nothing -> nothing', () => expect(lastWords('')).toBe(''))
})
