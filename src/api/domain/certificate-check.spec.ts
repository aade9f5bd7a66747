import { describe, expect, it } from 'vitest'
import { ca, encryptedKey, leaf, shop } from '../../../test/fixtures/certificates.js'
import { certificateFault } from './certificate-check.js'

const now = Date.UTC(2027, 0, 1)
const own = `${shop.certificate}\n${shop.key}`
const broken = (pem: string) => pem.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA')

describe('certificateFault', () => {
  it.each([
    ['chain and key', own, 'shop.example.test', null],
    ['key first', `${shop.key}\n${shop.certificate}`, 'shop.example.test', null],
    ['a name that a wildcard covers', own, 'a.wild.example.test', null],
    ['a wildcard', own, '*.wild.example.test', null],
    ['a chain of two', `${leaf.certificate}\n${ca.certificate}\n${leaf.key}`, 'signed.example.test', null],
    ['the leaf alone', `${leaf.certificate}\n${leaf.key}`, 'signed.example.test', null],
    ['another host', own, 'other.example.test', 'the certificate is not for other.example.test'],
    ['two levels below a wildcard', own, 'a.b.wild.example.test', 'the certificate is not for a.b.wild.example.test'],
    ['a wildcard that it only has one name of', own, '*.example.test', 'the certificate is not for *.example.test'],
    ['a subject that is no alternative name', own, 'shop', 'the certificate is not for shop'],
    ['no certificate', shop.key, 'shop.example.test', 'there is no PEM certificate in it'],
    ['no key', shop.certificate, 'shop.example.test', 'there is no PEM private key in it: it has to hold the chain and the key'],
    ['nonsense', 'hello', 'shop.example.test', 'there is no PEM certificate in it'],
    [
      'a broken certificate',
      `${broken(shop.certificate)}\n${shop.key}`,
      'shop.example.test',
      'a certificate of it cannot be read',
    ],
    ['a broken key', `${shop.certificate}\n${broken(shop.key)}`, 'shop.example.test', 'its private key cannot be read'],
    [
      'a key with a passphrase',
      `${shop.certificate}\n${encryptedKey}`,
      'shop.example.test',
      'its private key is encrypted: give it without a passphrase',
    ],
    [
      'the key of another',
      `${shop.certificate}\n${leaf.key}`,
      'shop.example.test',
      'the private key is not that of the first certificate',
    ],
    [
      'the root first',
      `${ca.certificate}\n${leaf.certificate}\n${leaf.key}`,
      'signed.example.test',
      'the private key is not that of the first certificate',
    ],
    [
      'a chain that is none',
      `${leaf.certificate}\n${shop.certificate}\n${leaf.key}`,
      'signed.example.test',
      'the chain is not in order: each certificate has to be followed by the one that signed it',
    ],
  ])('%s', (_, value, host, fault) => {
    expect(certificateFault(value, host, now)).toBe(fault)
  })

  it('after its end and before its beginning -> said so', () => {
    expect(certificateFault(own, 'shop.example.test', Date.UTC(2200, 0, 1))).toBe('a certificate of the chain has expired')
    expect(certificateFault(own, 'shop.example.test', Date.UTC(2020, 0, 1))).toBe('a certificate of the chain is not valid yet')
  })
})
