import { describe, expect, it } from 'vitest'
import { ca, encryptedKey, leaf, shop } from '../../../test/fixtures/certificates.js'
import { certificateFault } from './certificate-check.js'

const now = Date.UTC(2027, 0, 1)
const own = `${shop.certificate}\n${shop.key}`
const broken = (pem: string) => pem.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA')

describe('certificateFault', () => {
  it.each([
    ['chain and key', own, 'shop.example.test'],
    ['key first', `${shop.key}\n${shop.certificate}`, 'shop.example.test'],
    ['a name that a wildcard covers', own, 'a.wild.example.test'],
    ['a wildcard', own, '*.wild.example.test'],
    ['a chain of two', `${leaf.certificate}\n${ca.certificate}\n${leaf.key}`, 'signed.example.test'],
    ['the leaf alone', `${leaf.certificate}\n${leaf.key}`, 'signed.example.test'],
  ])('%s -> serves', (_, value, host) => {
    expect(certificateFault(value, host, now)).toBeNull()
  })

  it.each([
    ['another host', own, 'other.example.test', /is not for other\.example\.test/],
    ['two levels below a wildcard', own, 'a.b.wild.example.test', /is not for/],
    ['a wildcard that it only has one name of', own, '*.example.test', /is not for/],
    ['a subject that is no alternative name', own, 'shop', /is not for/],
    ['no certificate', shop.key, 'shop.example.test', /holds no certificate/],
    ['no key', shop.certificate, 'shop.example.test', /holds no private key/],
    ['nonsense', 'hello', 'shop.example.test', /holds no certificate/],
    ['a broken certificate', `${broken(shop.certificate)}\n${shop.key}`, 'shop.example.test', /cannot be read/],
    [
      'a broken second one',
      `${leaf.certificate}\n${broken(ca.certificate)}\n${leaf.key}`,
      'signed.example.test',
      /chain cannot be read/,
    ],
    ['a broken key', `${shop.certificate}\n${broken(shop.key)}`, 'shop.example.test', /private key that cannot be read/],
    ['a key with a passphrase', `${shop.certificate}\n${encryptedKey}`, 'shop.example.test', /encrypted/],
    ['the key of another', `${shop.certificate}\n${leaf.key}`, 'shop.example.test', /key that is not/],
    ['the root first', `${ca.certificate}\n${leaf.certificate}\n${leaf.key}`, 'signed.example.test', /key that is not/],
    ['a chain that is none', `${leaf.certificate}\n${shop.certificate}\n${leaf.key}`, 'signed.example.test', /not in order/],
  ])('%s -> said so', (_, value, host, fault) => {
    expect(certificateFault(value, host, now)).toMatch(fault)
  })

  it('after its end and before its beginning -> said so', () => {
    expect(certificateFault(own, 'shop.example.test', Date.UTC(2200, 0, 1))).toMatch(/expired/)
    expect(certificateFault(own, 'shop.example.test', Date.UTC(2020, 0, 1))).toMatch(/not valid yet/)
  })
})
