import { describe, expect, it } from 'vitest'
import { KeyFile } from './key-file.js'
import { Keyring } from './keyring.js'

describe('KeyFile', () => {
  it('a key that came after it was read -> read again; what it knows already -> not', () => {
    let text = Keyring.generate()
    let reads = 0
    const file = new KeyFile('master.key', () => (reads++, text))
    const old = file.seal(Buffer.from('old'), 'p')
    text = Keyring.parse(text).rotated()
    const sealed = Keyring.parse(text).seal(Buffer.from('new'), 'p')
    const before = reads
    expect(file.open(old, 'p').toString()).toBe('old')
    expect(reads).toBe(before)
    expect(file.open(sealed, 'p').toString()).toBe('new')
    expect(file.open(old, 'p').toString()).toBe('old')
    expect(reads).toBe(before + 1)
  })

  it('sealing -> always under the key that the file names now', () => {
    let text = Keyring.generate()
    const file = new KeyFile('master.key', () => text)
    const first = file.seal(Buffer.from('x'), 'p').keyId
    text = Keyring.parse(text).rotated()
    expect(file.seal(Buffer.from('x'), 'p').keyId).not.toBe(first)
  })

  it('missing, or without the key -> a sentence', () => {
    const missing = new KeyFile('/home/master.key', () => null)
    expect(() => missing.seal(Buffer.from('x'), 'p')).toThrow('the master key /home/master.key is missing')
    const other = new KeyFile('/home/master.key', () => Keyring.generate())
    expect(() => other.open(Keyring.parse(Keyring.generate()).seal(Buffer.from('x'), 'p'), 'p')).toThrow('has no key')
  })
})
