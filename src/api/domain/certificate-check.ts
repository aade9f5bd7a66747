import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'

const certificatePem = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g
const keyPem = /-----BEGIN (?:RSA |EC )?PRIVATE KEY-----[\s\S]+?-----END (?:RSA |EC )?PRIVATE KEY-----/

/** What a secret's value lacks to serve a host with TLS, in words that quote nothing of it; null = it serves. */
export function certificateFault(value: string, host: string, now: number): string | null {
  const chain = chainOf(value)
  if (typeof chain === 'string') return chain
  const key = keyOf(value)
  if (typeof key === 'string') return key
  const [leaf] = chain
  if (!leaf?.checkPrivateKey(key)) return 'the private key is not that of the first certificate'
  if (chain.some((c, at) => at > 0 && !isIssuedBy(chain[at - 1], c)))
    return 'the chain is not in order: each certificate has to be followed by the one that signed it'
  if (chain.some((c) => c.validToDate.getTime() <= now)) return 'a certificate of the chain has expired'
  if (chain.some((c) => c.validFromDate.getTime() > now)) return 'a certificate of the chain is not valid yet'
  return covers(leaf, host) ? null : `the certificate is not for ${host}`
}

function chainOf(value: string): X509Certificate[] | string {
  const texts = value.match(certificatePem) ?? []
  if (texts.length === 0) return 'there is no PEM certificate in it'
  try {
    return texts.map((text) => new X509Certificate(text))
  } catch {
    return 'a certificate of it cannot be read'
  }
}

function keyOf(value: string): KeyObject | string {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(value))
    return 'its private key is encrypted: give it without a passphrase'
  const [text] = keyPem.exec(value) ?? []
  if (text === undefined) return 'there is no PEM private key in it: it has to hold the chain and the key'
  try {
    return createPrivateKey(text)
  } catch {
    return 'its private key cannot be read'
  }
}

function isIssuedBy(certificate: X509Certificate | undefined, issuer: X509Certificate): boolean {
  return certificate !== undefined && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

/** As browsers do: alternative names only, and a wildcard of ours needs the very same one. */
function covers(certificate: X509Certificate, host: string): boolean {
  if (host.startsWith('*.')) return namesOf(certificate).includes(`DNS:${host}`)
  return certificate.checkHost(host, { subject: 'never' }) !== undefined
}

function namesOf({ subjectAltName }: X509Certificate): string[] {
  return (subjectAltName ?? '').split(', ').map((name) => name.toLowerCase().replace(/^dns:/, 'DNS:'))
}
