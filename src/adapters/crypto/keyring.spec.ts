import { describe, expect, it } from 'vitest'
import { Keyring } from './keyring.js'

describe('Keyring', () => {
  it('sealed -> opens at its place only, and never looks the same twice', () => {
    const ring = Keyring.parse(Keyring.generate())
    const plain = Buffer.from("p'ass $word\n\0\u00e9")
    const sealed = ring.seal(plain, 'secret:1')
    expect(ring.open(sealed, 'secret:1')).toEqual(plain)
    expect(() => ring.open(sealed, 'secret:2')).toThrow('does not open')
    expect(ring.seal(plain, 'secret:1').sealed).not.toEqual(sealed.sealed)
    expect(ring.open(ring.seal(Buffer.alloc(0), 'x'), 'x')).toEqual(Buffer.alloc(0))
  })

  it('any altered byte -> does not open', () => {
    const ring = Keyring.parse(Keyring.generate())
    const { keyId, sealed } = ring.seal(Buffer.from('secret'), 'place')
    for (let at = 0; at < sealed.length; at++) {
      const altered = Buffer.from(sealed)
      altered[at] = (altered[at] ?? 0) ^ 1
      expect(() => ring.open({ keyId, sealed: altered }, 'place')).toThrow()
    }
    expect(() => ring.open({ keyId, sealed: sealed.subarray(0, 10) }, 'place')).toThrow()
  })

  it('key of a rotation -> what the old one sealed still opens, new values take the new one', () => {
    const old = JSON.parse(Keyring.generate()) as { current: string; keys: Record<string, string> }
    const next = JSON.parse(Keyring.generate()) as typeof old
    const before = Keyring.parse(JSON.stringify(old)).seal(Buffer.from('x'), 'p')
    const both = Keyring.parse(JSON.stringify({ current: next.current, keys: { ...old.keys, ...next.keys } }))
    expect(both.open(before, 'p').toString()).toBe('x')
    expect(both.seal(Buffer.from('y'), 'p').keyId).toBe(next.current)
    expect(() => Keyring.parse(JSON.stringify(next)).open(before, 'p')).toThrow(`has no key ${old.current}`)
  })
})
