import type { CertificateState } from '../observed.js'
import type { DomainState, IngressDesired, IngressRecord } from './desired.js'
import { ingressDefaults } from './spec.js'

/** Most hosts that one observation asks for: each costs a handshake, and the answer goes through a history. */
export const hostsAtOnce = 20
const day = 86_400_000
/** A certificate that is well is looked at when half of what is left of its life is over, within these. */
const wellLeastMs = 600_000
const wellMostMs = day / 2
/** One that is missing, or that tells an error, is looked at after a tenth of the time that it has been so, within these. */
const missingLeastMs = 1_000
const missingMostMs = 300_000

/** Hosts that are served with a certificate, those whose look is due first before all: never those that are well before one that is not. */
export function hostsToLookAt(desired: IngressDesired): string[] {
  return withCertificate(desired)
    .map((domain) => ({ host: domain.host, at: dueAt(domain) }))
    .sort((a, b) => a.at - b.at || (a.host < b.host ? -1 : 1))
    .slice(0, hostsAtOnce)
    .map(({ host }) => host)
}

/** One domain of each host that has a certificate. */
function withCertificate({ spec, targets, domains }: IngressDesired): DomainState[] {
  const fallback = spec.defaultTls ?? ingressDefaults.defaultTls
  const secured = new Set(targets.flatMap((t) => t.domains.filter((d) => (d.tls ?? fallback) !== 'off').map((d) => d.host)))
  const first = new Map<string, DomainState>()
  for (const domain of domains) if (secured.has(domain.host) && !first.has(domain.host)) first.set(domain.host, domain)
  return [...first.values()]
}

/** What was seen, where it says something new, or where the last look is long ago. */
export function certificateRecords(
  { domains }: IngressDesired,
  seen: Record<string, CertificateState>,
  now: number,
): IngressRecord[] {
  return Object.entries(seen).flatMap(([host, certificate]): IngressRecord[] => {
    const known = domains.filter((d) => d.host === host)
    const news = known.some(
      (d) => d.certificate === null || differs(d.certificate, certificate) || now - d.certificate.seenAt >= missingLeastMs,
    )
    return news ? [{ type: 'certificate', host, certificate }] : []
  })
}

function differs(a: CertificateState, b: CertificateState): boolean {
  return a.issuer !== b.issuer || a.notAfter !== b.notAfter || a.error !== b.error
}

/** When the next certificate is to be looked at; null = there is none to look at. */
export function lookAgainMs(desired: IngressDesired, now: number): number | null {
  const times = withCertificate(desired).map(dueAt)
  if (times.length === 0) return null
  return Math.max(times.reduce((a, b) => Math.min(a, b)) - now, missingLeastMs)
}

function dueAt({ certificate, changedAt }: DomainState): number {
  if (certificate === null) return 0
  const { seenAt, notAfter, error } = certificate
  if (error === null && notAfter !== null) return seenAt + within((notAfter - seenAt) / 2, wellLeastMs, wellMostMs)
  return seenAt + within((seenAt - changedAt) / 10, missingLeastMs, missingMostMs)
}

function within(ms: number, least: number, most: number): number {
  return Math.min(Math.max(ms, least), most)
}
