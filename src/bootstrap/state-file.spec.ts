import * as fs from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { readStateFile } from './state-file.js'

vi.mock('node:fs', async (original) => ({ ...(await original<typeof fs>()), readFileSync: vi.fn() }))

const failing = (code: string) =>
  vi.mocked(fs.readFileSync).mockImplementation(() => {
    throw Object.assign(new Error(`${code}: something about it`), { code })
  })

describe('readStateFile', () => {
  it.each(['EACCES', 'EPERM', 'EIO', 'EISDIR', 'ENOTDIR', 'EMFILE', 'ELOOP'])(
    '%s -> an error with the path: what cannot be read is not missing',
    (code) => {
      failing(code)
      expect(() => readStateFile('/home/secrets/master.key', 'the master key')).toThrow(
        `the master key /home/secrets/master.key cannot be read: ${code}`,
      )
    },
  )

  it('ENOENT -> null', () => {
    failing('ENOENT')
    expect(readStateFile('/home/secrets/master.key', 'the master key')).toBeNull()
  })
})
