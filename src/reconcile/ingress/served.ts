import { acmeProblem, domainIssues } from './domain-issues.js'
import { domainKey, type Domain, type TlsMode } from './domain.js'
import { ingressDefaults, type IngressSecret, type IngressSpec, type IngressTarget, type LeftOut } from './spec.js'

/** A domain that gets a route. */
export interface Served {
  target: IngressTarget
  domain: Domain
  tls: TlsMode
  /** With `tls: certificate` only. */
  secret: IngressSecret | null
}

export interface Settled {
  served: Served[]
  leftOut: LeftOut[]
}

type Obstacle = Pick<LeftOut, 'reason' | 'message'>

/** Which domains are served, in the order in which requests are matched, and what stops the others. */
export function settleDomains(settings: IngressSpec, targets: IngressTarget[], refused: ReadonlyMap<string, string>): Settled {
  const holders = new Map<string, IngressTarget>()
  const settled: Settled = { served: [], leftOut: [] }
  for (const target of targets.toSorted((a, b) => compare(a.resource, b.resource))) {
    for (const domain of target.domains) {
      const candidate = candidateOf(settings, target, domain)
      const obstacle = taken(holders, candidate) ?? told(refused, domain) ?? invalid(candidate) ?? withoutCertificate(candidate)
      if (obstacle) settled.leftOut.push({ resource: target.resource, host: domain.host, path: domain.path ?? '/', ...obstacle })
      else settled.served.push(candidate)
    }
  }
  return { served: settled.served.sort(byPrecedence), leftOut: settled.leftOut.sort(byOwner) }
}

function candidateOf(settings: IngressSpec, target: IngressTarget, domain: Domain): Served {
  const tls = domain.tls ?? settings.defaultTls ?? ingressDefaults.defaultTls
  return { target, domain, tls, secret: tls === 'certificate' ? secretOf(target, domain.certificate) : null }
}

function secretOf({ resource, secretVersions }: IngressTarget, secret: string | undefined): IngressSecret | null {
  if (secret === undefined || !Object.hasOwn(secretVersions, secret)) return null
  const version = secretVersions[secret] ?? 0
  return { file: `${resource}-${secret}-${version}.pem`, resource, secret, version }
}

function taken(holders: Map<string, IngressTarget>, { target, domain }: Served): Obstacle | null {
  const key = domainKey(domain)
  const holder = holders.get(key)
  if (!holder) {
    holders.set(key, target)
    return null
  }
  return { reason: 'HostTaken', message: holder === target ? `${key} is there twice` : `${key} belongs to ${holder.title}` }
}

function told(refused: ReadonlyMap<string, string>, domain: Domain): Obstacle | null {
  const message = refused.get(domainKey(domain))
  return message === undefined ? null : { reason: 'Refused', message }
}

/** What names files, and what is dialled, goes into the configuration outside of any quotes. */
const plainResource = /^[A-Za-z0-9_-]+$/
const plainDial = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}$|^unix\/\/[A-Za-z0-9._/-]+$/

function invalid({ target, domain, tls }: Served): Obstacle | null {
  const issue = domainIssues([domain], target.dial === null ? target.ports : undefined)[0]
  const message = issue
    ? `${issue.path.slice(1).join('.')} ${issue.message}`
    : ((tls === 'acme' ? acmeProblem(domain.host) : null) ?? unplain(target))
  return message === null ? null : { reason: 'InvalidRoute', message }
}

function unplain({ resource, dial }: IngressTarget): string | null {
  if (!plainResource.test(resource)) return `${resource} cannot name endpoint files`
  return dial === null || plainDial.test(dial) ? null : `${dial} cannot be dialled`
}

function withoutCertificate({ domain, tls, secret }: Served): Obstacle | null {
  if (tls !== 'certificate' || secret) return null
  return {
    reason: 'CertificateMissing',
    message: `the project has no secret ${domain.certificate}, which would hold the certificate`,
  }
}

/** An exact host before a wildcard, a longer path before a shorter one; the rest only makes the order one of its kind. */
function byPrecedence({ domain: a }: Served, { domain: b }: Served): number {
  const [pathA, pathB] = [a.path ?? '/', b.path ?? '/']
  return (
    Number(a.host.startsWith('*')) - Number(b.host.startsWith('*')) ||
    compare(a.host, b.host) ||
    pathB.length - pathA.length ||
    compare(pathA, pathB)
  )
}

function byOwner(a: LeftOut, b: LeftOut): number {
  return compare(a.resource, b.resource) || compare(a.host, b.host) || compare(a.path, b.path)
}

/** By code units, as every machine has them: a locale would order differently elsewhere. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
