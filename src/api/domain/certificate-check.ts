import { X509Certificate } from 'node:crypto'
import { ownCertificateProblem } from '../../reconcile/ingress/own-certificate.js'

const certificatePem = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** What a secret's value lacks to serve a host with TLS, in words that quote nothing of it; null = it serves. */
export function certificateFault(value: string, host: string, now: number): string | null {
  const problem = ownCertificateProblem(value)
  if (problem !== null) return `it ${problem}`
  const chain = chainOf(value)
  if (chain === null) return 'a certificate of its chain cannot be read'
  const [leaf] = chain
  if (chain.some((c, at) => at > 0 && !isIssuedBy(chain[at - 1], c)))
    return 'its chain is not in order: each certificate has to be followed by the one that signed it'
  if (chain.some((c) => c.validToDate.getTime() <= now)) return 'a certificate of its chain has expired'
  if (chain.some((c) => c.validFromDate.getTime() > now)) return 'a certificate of its chain is not valid yet'
  return leaf && covers(leaf, host) ? null : `its certificate is not for ${host}`
}

function chainOf(value: string): X509Certificate[] | null {
  try {
    return (value.match(certificatePem) ?? []).map((text) => new X509Certificate(text))
  } catch {
    return null
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
