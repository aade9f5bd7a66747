import { condition, type ConditionDraft } from '../condition.js'
import type { DomainState } from '../ingress/desired.js'
import { domainKey, type Domain } from '../ingress/domain.js'
import type { World } from './world.js'

/** More than a person reads in one line. */
const namedMost = 5

/** What the ingress says of the application's domains; nothing is told of one that has none. */
export function routingOf({ input }: World): ConditionDraft[] {
  const { domains, spec } = input.desired
  if (domains.length === 0 || input.resource.deleting) return []
  const plain = plainHosts(spec.domains ?? [])
  const secured = domains.filter((d) => !plain.has(d.host) && (d.certificate !== null || d.routed))
  const looked = secured.filter((d) => d.certificate !== null)
  return [routed(domains), ...(looked.length > 0 ? [certificates(looked, input.now)] : [])]
}

/** A host has one certificate: it has none only where no path of it asks for one. */
function plainHosts(domains: Domain[]): Set<string> {
  const secured = new Set(domains.filter((d) => d.tls !== 'off').map((d) => d.host))
  return new Set(domains.filter((d) => !secured.has(d.host)).map((d) => d.host))
}

function routed(domains: DomainState[]): ConditionDraft {
  const wrong = domains.filter((d) => !d.routed)
  if (wrong.length === 0) return condition('Routed', 'True', 'Routed', listed(domains.map(domainKey)))
  const told = wrong.find((d) => d.reason !== 'Pending') ?? wrong[0]
  const reason = told?.reason ?? 'Pending'
  const why = (d: DomainState) => (d.reason === 'Pending' ? 'no ingress of its node has taken it up yet' : d.message)
  return condition('Routed', 'False', reason, listed(wrong.map((d) => `${domainKey(d)}: ${why(d)}`)))
}

function certificates(domains: DomainState[], now: number): ConditionDraft {
  const expired = domains.filter(({ certificate }) => certificate?.notAfter != null && certificate.notAfter <= now)
  if (expired.length > 0) return condition('CertificateReady', 'False', 'CertificateExpired', listed(expired.map(textOf)))
  const missing = domains.filter(({ certificate }) => certificate?.notAfter == null)
  if (missing.length > 0) return condition('CertificateReady', 'False', 'CertificateMissing', listed(missing.map(textOf)))
  const failing = domains.filter(({ certificate }) => certificate?.error != null)
  // What there is still serves: the failure is told long before it matters.
  if (failing.length > 0) return condition('CertificateReady', 'True', 'RenewalFailing', listed(failing.map(textOf)))
  return condition('CertificateReady', 'True', 'Issued', listed(domains.map(textOf)))
}

function textOf({ host, certificate }: DomainState): string {
  const { issuer, notAfter, error } = certificate ?? { issuer: null, notAfter: null, error: null }
  const until = notAfter === null ? null : `by ${issuer ?? 'unknown'} until ${new Date(notAfter).toISOString()}`
  return `${host}: ${[until, error].filter((t) => t !== null).join(', ')}`
}

function listed(items: string[]): string {
  const more = items.length - namedMost
  return more > 0 ? `${items.slice(0, namedMost).join('; ')} and ${more} more` : items.join('; ')
}
