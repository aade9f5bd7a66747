import type { CertificateState, DomainState, IngressDesired, IngressRecord } from './desired.js'
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

/** Hosts that are served with a certificate, whose state is unknown or old, those that were looked at longest ago first. */
export function hostsToLookAt(desired: IngressDesired): string[] {
  return withCertificate(desired)
    .sort((a, b) => (a.certificate?.seenAt ?? 0) - (b.certificate?.seenAt ?? 0) || (a.host < b.host ? -1 : 1))
    .map((d) => d.host)
    .filter((host, index, all) => all.indexOf(host) === index)
    .slice(0, hostsAtOnce)
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
  const waits = withCertificate(desired).map((domain) => waitOf(domain, now))
  return waits.length === 0 ? null : Math.min(...waits)
}

function waitOf({ certificate, changedAt }: DomainState, now: number): number {
  if (certificate === null) return missingLeastMs
  const age = now - certificate.seenAt
  if (certificate.error === null && certificate.notAfter !== null) {
    const half = (certificate.notAfter - certificate.seenAt) / 2
    return Math.max(Math.min(Math.max(half, wellLeastMs), wellMostMs) - age, missingLeastMs)
  }
  const patience = Math.min(Math.max((now - changedAt) / 10, missingLeastMs), missingMostMs)
  return Math.max(patience - age, missingLeastMs)
}
