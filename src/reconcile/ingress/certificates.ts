import { shortHash } from '../hash.js'
import type { Json } from './routes.js'
import type { Served } from './served.js'
import {
  ingressDefaults,
  ingressPaths,
  type IngressFile,
  type IngressSecret,
  type IngressSpec,
  type TlsModeWithCertificate,
} from './spec.js'

/** A host has one certificate, whatever its paths say. */
export interface HostCertificate {
  host: string
  mode: TlsModeWithCertificate
  /** With mode `certificate` only. */
  secret: IngressSecret | null
}

const strength: Record<TlsModeWithCertificate, number> = { certificate: 3, acme: 2, internal: 1 }

/** The strongest way that any path of a host asks for; of two own certificates the first. */
export function certificatesOf(served: Served[]): HostCertificate[] {
  const hosts = new Map<string, HostCertificate>()
  for (const { domain, tls: mode, secret } of served) {
    if (mode === 'off') continue
    const before = hosts.get(domain.host)
    if (!before || strength[mode] > strength[before.mode]) hosts.set(domain.host, { host: domain.host, mode, secret })
  }
  return [...hosts.values()]
}

export function secretsOf(certificates: HostCertificate[]): IngressSecret[] {
  const byFile = new Map(certificates.flatMap(({ secret }) => (secret ? [[secret.file, secret] as const] : [])))
  return [...byFile.values()].sort((a, b) => (a.file < b.file ? -1 : 1))
}

export function filesOf(settings: IngressSpec): IngressFile[] {
  const content = settings.acme?.trustedRoots
  return content === undefined ? [] : [{ file: `acme-roots-${shortHash(content)}.pem`, content }]
}

/** Policies share no name: Caddy refuses a host that two of them mean. */
export function tlsApp(settings: IngressSpec, certificates: HostCertificate[]): Json {
  const internal = hostsOf(certificates, 'internal')
  const acme = hostsOf(certificates, 'acme')
  const policies = [
    // First, as acme has no wildcards: a wildcard of the other policy would be asked before it.
    ...(acme.length > 0 ? [{ subjects: acme, issuers: [acmeIssuer(settings)] }] : []),
    ...(internal.length > 0 ? [{ subjects: internal, issuers: [{ module: 'internal' }] }] : []),
  ]
  const files = secretsOf(certificates).map(({ file }) => {
    const path = `${ingressPaths.secrets}/${file}`
    return { certificate: path, key: path, tags: [file] }
  })
  const loaders = {
    // Named here, or a wildcard's certificate would do for a host that asks for its own.
    ...(acme.length > 0 ? { automate: acme } : {}),
    ...(files.length > 0 ? { load_files: files } : {}),
  }
  return {
    ...(policies.length > 0 ? { automation: { policies } } : {}),
    ...(Object.keys(loaders).length > 0 ? { certificates: loaders } : {}),
  }
}

function acmeIssuer(settings: IngressSpec): Json {
  const { directory = ingressDefaults.acmeDirectory, email } = settings.acme ?? {}
  const roots = filesOf(settings).map(({ file }) => `${ingressPaths.files}/${file}`)
  return {
    module: 'acme',
    ca: directory,
    ...(email === undefined ? {} : { email }),
    ...(roots.length > 0 ? { trusted_roots_pem_files: roots } : {}),
  }
}

/**
 * Which certificate answers which name. An own certificate is taken for its host and for no other, whatever names stand
 * in it; hosts below its wildcard that have another way come before it.
 */
export function connectionPolicies(certificates: HostCertificate[], defaultHost: string | null): Json[] {
  const own = certificates.filter((c) => c.mode === 'certificate')
  const [exact, wildcards] = [own.filter((c) => !isWildcard(c)), own.filter(isWildcard)]
  const below = certificates
    .filter((c) => c.mode !== 'certificate' && wildcards.some((w) => covers(w.host, c.host)))
    .map((c) => c.host)
  const others = below.length > 0 ? [{ match: { sni: below } }] : []
  // Clients that say no name, or one that nobody has.
  const last = defaultHost === null ? {} : { default_sni: defaultHost, fallback_sni: defaultHost }
  return [...exact.map(ownPolicy), ...others, ...wildcards.map(ownPolicy), last]
}

function ownPolicy({ host, secret }: HostCertificate): Json {
  return { match: { sni: [host] }, certificate_selection: { any_tag: [secret?.file] } }
}

export function hostsOf(certificates: HostCertificate[], mode: TlsModeWithCertificate): string[] {
  return certificates.filter((c) => c.mode === mode).map((c) => c.host)
}

export const isWildcard = ({ host }: Pick<HostCertificate, 'host'>) => host.startsWith('*.')

export function covers(wildcard: string, host: string): boolean {
  return host.slice(host.indexOf('.')) === wildcard.slice(1) && host.includes('.')
}
