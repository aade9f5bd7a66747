import { describe, expect, it } from 'vitest'
import { createLogger } from './log.js'

describe('createLogger', () => {
  it.each(['password', 'token', 'authorization', 'secret', 'value', 'values', 'valueBase64', 'sealed'])(
    'a field called %s, at the top or below -> blanked',
    (field) => {
      const lines: string[] = []
      const log = createLogger('test', 'info', { write: (line) => void lines.push(line) })
      log.info({ [field]: 'S3CR3T', a: { [field]: 'S3CR3T' }, b: { c: { [field]: 'S3CR3T' } }, other: 'kept' }, 'words')
      expect(lines.join('')).not.toContain('S3CR3T')
      expect(lines.join('')).toContain('kept')
    },
  )
})
