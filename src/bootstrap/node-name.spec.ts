import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameSchema } from '../reconcile/name.js'
import { localNodeName } from './node-name.js'

describe('localNodeName', () => {
  it.each([
    ['web', 'web'],
    ['Web-01.example.org', 'web-01'],
    ['my_host', 'my-host'],
    ['9lives', 'node-9lives'],
    ['-x-', 'x'],
    ['', 'local'],
    ['...', 'local'],
    ['Ünïcode', 'n-code'],
  ])('%j -> %s', (host, name) => expect(localNodeName(host)).toBe(name))

  it('any host name -> a valid name, with room for a suffix', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (host) => nameSchema.safeParse(localNodeName(host)).success))
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9-]{1,300}$/),
        (host) => nameSchema.safeParse(localNodeName(host)).success && localNodeName(host).length <= 63,
      ),
    )
  })
})
