import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { tarOf } from './tar.js'

const list = (archive: Buffer) =>
  execFileSync('tar', ['-t', '-v', '--numeric-owner', '-f', '-'], { input: archive, encoding: 'utf8' })

describe('tarOf', () => {
  it('modes, owners and long paths -> as tar reads them, no folders among them', () => {
    const long = `/${'folder/'.repeat(30)}${'é'.repeat(60)}`
    const text = list(
      tarOf(
        [
          { path: '/a//b', mode: 0o640, owner: { uid: 1000, gid: 7 }, content: Buffer.from('x'.repeat(513)) },
          { path: long, mode: 0o400, owner: { uid: 1_000_660_000, gid: 0 }, content: Buffer.alloc(0) },
        ],
        1_700_000_000,
      ),
    ).replace(/\\303\\251/g, 'é')
    const lines = text.trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^-rw-r----- 1000\/7 +513 .* a\/b$/)
    expect(lines[1]).toMatch(/^-r-------- 1000660000\/0 +0 /)
    expect(lines[1]?.endsWith(long.slice(1))).toBe(true)
  })
})
