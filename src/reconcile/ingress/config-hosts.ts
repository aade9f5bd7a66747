import { shortHash } from '../hash.js'
import { covers, isWildcard } from './certificates.js'

interface Match {
  host?: string[]
}
interface Route {
  match?: Match[]
  /** Of the default host alone: whose copy it is. */
  group?: string
}
interface ConnectionPolicy {
  match?: { sni: string[] }
  certificate_selection?: { any_tag: string[] }
  default_sni?: string
}
interface Server {
  routes?: Route[]
  automatic_https?: { skip_certificates?: string[] }
  tls_connection_policies?: ConnectionPolicy[]
}
interface TlsApp {
  automation?: { policies: { subjects: string[] }[] }
  certificates?: { automate?: string[]; load_files?: { tags: string[] }[] }
}
/** As much of what `renderCaddyConfig` makes as has to do with hosts. */
interface Config {
  apps?: { http?: { servers?: Record<string, Server> }; tls?: TlsApp }
}

/** Every host that a configuration serves, in its own order. */
export function hostsIn(config: object): string[] {
  return [...new Set(routesOf(config).flatMap(hostOf))]
}

/** The same configuration as if nobody had asked for these hosts: what the renderer would make of the others alone. */
export function withoutHosts(config: object, hosts: Iterable<string>): object {
  const gone = new Set(hosts)
  const { apps } = config as Config
  if (!apps?.http?.servers) return config
  const servers = mapped(apps.http.servers, (server) => withoutIn(server, gone))
  const tags = new Set(
    Object.values(servers).flatMap(({ tls_connection_policies = [] }) => tls_connection_policies.flatMap(tagsOf)),
  )
  return {
    ...config,
    apps: { ...apps, http: { ...apps.http, servers }, ...(apps.tls ? { tls: tlsWithout(apps.tls, gone, tags) } : {}) },
  }
}

/**
 * All that a configuration says of each host, whatever others there are: as long as that is the same, what was refused is
 * refused again, and what serves goes on. Of those of `hosts` that it serves.
 */
export function partsOfHosts(config: object, hosts: Iterable<string> = hostsIn(config)): Map<string, string> {
  const routes = Map.groupBy(
    routesOf(config).filter(({ group }) => group === undefined),
    (route) => hostOf(route)[0],
  )
  const { policies = [] } = (config as Config).apps?.tls?.automation ?? {}
  const own = new Map(policiesOf(config).flatMap((p) => (p.match?.sni ?? []).map((host) => [host, tagsOf(p)] as const)))
  const parts = new Map<string, string>()
  for (const host of hosts) {
    const policy = policies.find(({ subjects }) => subjects.includes(host))
    const part = { routes: routes.get(host), policy: policy && { ...policy, subjects: [] }, tags: own.get(host) ?? [] }
    if (part.routes) parts.set(host, shortHash(part))
  }
  return parts
}

/** Which hosts answer with the certificate of a file. */
export function hostsOfCertificate(config: object, file: string): string[] {
  return policiesOf(config).flatMap((policy) => (tagsOf(policy).includes(file) ? (policy.match?.sni ?? []) : []))
}

function serversOf(config: object): Server[] {
  return Object.values((config as Config).apps?.http?.servers ?? {})
}

const routesOf = (config: object) => serversOf(config).flatMap(({ routes = [] }) => routes)
const policiesOf = (config: object) => serversOf(config).flatMap(({ tls_connection_policies = [] }) => tls_connection_policies)
const tagsOf = ({ certificate_selection }: ConnectionPolicy) => certificate_selection?.any_tag ?? []

/** What answers for unknown hosts belongs to the host whose copy it is. */
function hostOf({ match = [], group }: Route): string[] {
  return group === undefined ? match.flatMap(({ host = [] }) => host) : [group]
}

function withoutIn(server: Server, gone: Set<string>): Server {
  const { routes, automatic_https, tls_connection_policies } = server
  return {
    ...server,
    ...(routes ? { routes: routes.filter((route) => !hostOf(route).some((host) => gone.has(host))) } : {}),
    ...(automatic_https?.skip_certificates
      ? { automatic_https: { ...automatic_https, skip_certificates: kept(automatic_https.skip_certificates, gone) } }
      : {}),
    ...(tls_connection_policies ? { tls_connection_policies: connectionsWithout(tls_connection_policies, gone) } : {}),
  }
}

/** Hosts that are named only because they are below somebody's wildcard go with the last such wildcard. */
function connectionsWithout(policies: ConnectionPolicy[], gone: Set<string>): ConnectionPolicy[] {
  const own = policies.flatMap((p) => (p.certificate_selection ? kept(p.match?.sni ?? [], gone) : []))
  const wildcards = own.filter((host) => isWildcard({ host }))
  return policies.flatMap((policy): ConnectionPolicy[] => {
    if (policy.default_sni !== undefined && gone.has(policy.default_sni)) return [{}]
    if (!policy.match) return [policy]
    const rest = kept(policy.match.sni, gone)
    const sni = policy.certificate_selection ? rest : rest.filter((host) => wildcards.some((w) => covers(w, host)))
    return sni.length > 0 ? [{ ...policy, match: { sni } }] : []
  })
}

function tlsWithout({ automation, certificates, ...rest }: TlsApp, gone: Set<string>, tags: Set<string>): TlsApp {
  const policies = (automation?.policies ?? []).flatMap((policy) => {
    const subjects = kept(policy.subjects, gone)
    return subjects.length > 0 ? [{ ...policy, subjects }] : []
  })
  const automate = kept(certificates?.automate ?? [], gone)
  const files = (certificates?.load_files ?? []).filter((file) => file.tags.some((tag) => tags.has(tag)))
  const loaders = { ...(automate.length > 0 ? { automate } : {}), ...(files.length > 0 ? { load_files: files } : {}) }
  return {
    ...rest,
    ...(policies.length > 0 ? { automation: { ...automation, policies } } : {}),
    ...(Object.keys(loaders).length > 0 ? { certificates: loaders } : {}),
  }
}

const kept = (hosts: string[], gone: Set<string>) => hosts.filter((host) => !gone.has(host))

function mapped<T>(record: Record<string, T>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
