import ipaddr from 'ipaddr.js'
import { domainKey, type Domain } from './domain.js'
import { canonicalHost, HostError } from './host.js'

/** `path` as zod has it. */
export interface DomainIssue {
  path: (string | number)[]
  message: string
}

/** What is wrong with a list of domains beside each one's own form. `ports` undefined = not known here. */
export function domainIssues(domains: Domain[], ports: number[] | undefined): DomainIssue[] {
  const own = domains.flatMap((domain, i) =>
    issuesOf(domain, ports).map(({ path, message }) => ({ path: [i, ...path], message })),
  )
  return [...own, ...repeated(domains), ...mixedTls(domains)]
}

function issuesOf(domain: Domain, ports: number[] | undefined): DomainIssue[] {
  return [
    ...portIssues(domain, ports),
    ...redirectIssues(domain),
    ...tlsIssues(domain),
    ...headerIssues(domain),
    ...accessIssues(domain),
    ...balancingIssues(domain),
  ]
}

function repeated(domains: Domain[]): DomainIssue[] {
  const first = new Map<string, number>()
  return domains.flatMap((domain, i) => {
    const key = domainKey(domain)
    const before = first.get(key)
    if (before === undefined) first.set(key, i)
    return before === undefined
      ? []
      : [{ path: [i, 'host'], message: `is there twice: ${key} is number ${before + 1} of the list too` }]
  })
}

/** A host has one certificate, whatever its paths say; `off` needs none. */
function mixedTls(domains: Domain[]): DomainIssue[] {
  const first = new Map<string, string>()
  return domains.flatMap((domain, i) => {
    if (domain.tls === undefined || domain.tls === 'off') return []
    const way = domain.certificate === undefined ? domain.tls : `certificate ${domain.certificate}`
    const before = first.get(domain.host) ?? way
    first.set(domain.host, before)
    return before === way
      ? []
      : [{ path: [i, 'tls'], message: `differs from another path of ${domain.host} (${before}): a host has one certificate` }]
  })
}

function portIssues({ port, redirect }: Domain, ports: number[] | undefined): DomainIssue[] {
  if (redirect || ports === undefined) return []
  if (ports.length === 0) return [{ path: ['port'], message: 'leads nowhere: the application has no port' }]
  if (port === undefined || ports.includes(port)) return []
  return [{ path: ['port'], message: `is no port of the application: it has ${ports.join(', ')}` }]
}

const askingTheApplication = [
  'port',
  'stripPath',
  'requestHeaders',
  'bodyLimitBytes',
  'compression',
  'timeouts',
  'balancing',
] as const satisfies (keyof Domain)[]

function redirectIssues(domain: Domain): DomainIssue[] {
  if (!domain.redirect) return []
  const idle = askingTheApplication.filter((field) => domain[field] !== undefined && domain[field] !== false)
  const target = redirectProblem(domain, domain.redirect.to)
  return [
    ...idle.map((field) => ({ path: [field], message: 'means nothing beside redirect, which asks the application nothing' })),
    ...(target === null ? [] : [{ path: ['redirect', 'to'], message: target }]),
  ]
}

function redirectProblem(domain: Domain, to: string): string | null {
  const url = URL.canParse(to) && /^https?:\/\//i.test(to) ? new URL(to) : null
  if (!url) return 'must be an http or https URL with its host, like https://shop.example.com'
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password: everybody can read it'
  try {
    const host = canonicalHost(url.hostname)
    if (host.startsWith('*.')) return 'must name one host, without *'
    if (host === domain.host && leadsBack(domain, url)) return 'leads to the domain itself: browsers would go round in circles'
  } catch (error) {
    if (error instanceof HostError) return `has a host that ${error.message}`
    throw error
  }
  return null
}

/** A host with TLS sends plain requests to https by itself, so both schemes are the same place. */
function leadsBack({ path, tls }: Domain, url: URL): boolean {
  if (url.port !== '') return false
  if (tls === 'off' && url.protocol === 'https:') return false
  return keepsPath(url) || isBelow(url.pathname, path ?? '/')
}

/** A redirect without a path of its own goes on with that of the request. */
export function keepsPath(url: URL): boolean {
  return url.pathname === '/' && url.search === '' && url.hash === ''
}

function isBelow(path: string, prefix: string): boolean {
  const [below, above] = [path.toLowerCase(), prefix.toLowerCase()]
  return above === '/' || below === above || below.startsWith(`${above}/`)
}

function tlsIssues({ host, tls, certificate }: Domain): DomainIssue[] {
  if (tls === 'certificate' && certificate === undefined)
    return [{ path: ['certificate'], message: 'must name the secret with the chain and its key' }]
  if (tls !== 'certificate' && certificate !== undefined) return [{ path: ['certificate'], message: 'needs tls: certificate' }]
  const problem = tls === 'acme' ? acmeProblem(host) : null
  return problem === null ? [] : [{ path: ['tls'], message: problem }]
}

/** `.test` and `.internal` are left out: an authority of one's own may know them. */
const neverPublic = /(^|\.)(localhost|local|example|invalid)$/

/** Why no authority can issue a certificate for a host over ACME; null = one may. */
export function acmeProblem(host: string): string | null {
  if (host.startsWith('*.'))
    return 'acme cannot prove a wildcard: that takes the DNS-01 challenge; use internal or a certificate of your own'
  if (neverPublic.test(host)) return `acme issues no certificate for ${host}: use internal or a certificate of your own`
  return null
}

/** Of one connection, not of a message (RFC 9110, 7.6.1), or counted by the proxy itself. */
const proxysOwn = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function headerIssues(domain: Domain): DomainIssue[] {
  return (['requestHeaders', 'responseHeaders'] as const).flatMap((field) => {
    const headers = domain[field] ?? []
    const removed = new Set(headers.filter((h) => h.value === undefined).map((h) => h.name.toLowerCase()))
    return headers.flatMap(({ name, value }, i) => {
      const problem = headerProblem(field, name.toLowerCase(), value, removed)
      return problem === null ? [] : [{ path: [field, i, problem.at], message: problem.message }]
    })
  })
}

function headerProblem(
  field: 'requestHeaders' | 'responseHeaders',
  name: string,
  value: string | undefined,
  removed: Set<string>,
): { at: string; message: string } | null {
  if (proxysOwn.has(name)) return { at: 'name', message: `${name} belongs to the connection: the proxy sets it` }
  if (value !== undefined && removed.has(name)) return { at: 'name', message: `${name} is both set and removed` }
  if (name !== 'host') return null
  if (field === 'responseHeaders') return { at: 'name', message: 'host is no header of a response' }
  if (value === undefined) return { at: 'name', message: 'host cannot be removed: a request must have it' }
  return /^[A-Za-z0-9._-]+(:[0-9]{1,5})?$/.test(value) ? null : { at: 'value', message: 'must be a host, with or without a port' }
}

function accessIssues({ basicAuth = [], allowedAddresses = [], stripPath, path }: Domain): DomainIssue[] {
  const names = basicAuth.map((user) => user.username)
  const twice = names.flatMap((name, i) =>
    names.indexOf(name) < i ? [{ path: ['basicAuth', i, 'username'], message: 'is there twice' }] : [],
  )
  const addresses = allowedAddresses.flatMap((text, i) => {
    const problem = addressProblem(text)
    return problem === null ? [] : [{ path: ['allowedAddresses', i], message: problem }]
  })
  const strips = stripPath && (path ?? '/') === '/' ? [{ path: ['stripPath'], message: 'needs a path to take away' }] : []
  return [...twice, ...addresses, ...strips]
}

/** 192.0.2.7/24 names one address and means 256: which of the two was wanted is not for us to guess. */
function addressProblem(text: string): string | null {
  if (!ipaddr.isValid(text) && !ipaddr.isValidCIDR(text)) return 'must be an IP address or CIDR, e.g. 192.0.2.0/24'
  if (text.includes(':') && text.includes('.')) return 'must be written as IPv4: requests never come from the mapped form'
  if (!text.includes('/')) return null
  const [address, bits] = ipaddr.parseCIDR(text)
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const network = kind.networkAddressFromCIDR(text)
  return network.toNormalizedString() === address.toNormalizedString()
    ? null
    : `must be the network ${network.toString()}/${bits} or the address ${address.toString()}`
}

function balancingIssues({ balancing }: Domain): DomainIssue[] {
  if (balancing?.cookie === undefined || balancing.policy === 'cookie') return []
  return [{ path: ['balancing', 'cookie'], message: 'needs policy: cookie' }]
}
