import { keepsPath } from './domain-issues.js'
import type { Domain } from './domain.js'
import type { Served } from './served.js'
import { slotFileName, slotsPerTarget } from './slots.js'
import { ingressPaths, targetName, type IngressTarget } from './spec.js'

export type Json = Record<string, unknown>

export const retryAfterSeconds = 5

/** Caddy expands {…} in nearly every text; a backslash before a brace makes it a character. */
export function literally(text: string): string {
  return text.replace(/[{}]/g, '\\$&')
}

export function textAnswer(status: number, body: string, headers: Record<string, string[]> = {}): Json {
  return {
    handler: 'static_response',
    status_code: status,
    headers: { 'Content-Type': ['text/plain; charset=utf-8'], ...headers },
    body,
  }
}

export const unavailableAnswer = textAnswer(503, 'No instance of this application is ready. Try again in some seconds.\n', {
  'Retry-After': [String(retryAfterSeconds)],
})

/** Which requests a domain means. A prefix ends at a slash: /api is not /apix. */
export function matchOf({ host, path }: Pick<Domain, 'host' | 'path'>): Json {
  return { host: [host], ...pathMatch(path) }
}

export function pathMatch(path: string | undefined): Json {
  return path === undefined || path === '/' ? {} : { path: [path, `${path}/*`] }
}

export function route(match: Json, handle: Json[]): Json {
  return { ...(Object.keys(match).length === 0 ? {} : { match: [match] }), handle, terminal: true }
}

/** What is done with a request for a domain, first to last. */
export function handlersOf({ target, domain }: Served): Json[] {
  const handlers = [
    ...responseHeaders(domain),
    ...authentication(domain),
    ...(domain.redirect ? [redirect(domain.redirect)] : proxying(target, domain)),
  ]
  return domain.allowedAddresses ? [behindAllowList(domain.allowedAddresses, handlers)] : handlers
}

function behindAllowList(ranges: string[], handle: Json[]): Json {
  const strangers = { not: [{ client_ip: { ranges } }] }
  return { handler: 'subroute', routes: [route(strangers, [textAnswer(403, 'Forbidden\n')]), { handle }] }
}

/** Set when the answer is written, so that they also win over what the application says. */
function responseHeaders({ responseHeaders: wanted }: Domain): Json[] {
  return wanted && wanted.length > 0 ? [{ handler: 'headers', response: { ...headerChanges(wanted), deferred: true } }] : []
}

type Headers = NonNullable<Domain['requestHeaders']>

function headerChanges(headers: Headers): Json {
  const set = new Map<string, string[]>()
  for (const { name, value } of headers) {
    if (value !== undefined) set.set(name.toLowerCase(), [...(set.get(name.toLowerCase()) ?? []), literally(value)])
  }
  const removed = headers.flatMap((h) => (h.value === undefined ? [h.name.toLowerCase()] : []))
  return {
    ...(set.size > 0 ? { set: Object.fromEntries([...set].map(([name, values]) => [capitalised(name), values])) } : {}),
    ...(removed.length > 0 ? { delete: removed } : {}),
  }
}

/** As Go spells names of headers: Caddy would otherwise keep what it is given beside the real one. */
function capitalised(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}

function authentication({ basicAuth }: Domain): Json[] {
  if (!basicAuth) return []
  const accounts = basicAuth.map(({ username, passwordHash }) => ({ username: literally(username), password: passwordHash }))
  // Without the cache every request would cost a whole bcrypt.
  const hashed = {
    handler: 'authentication',
    providers: { http_basic: { hash: { algorithm: 'bcrypt' }, hash_cache: {}, accounts } },
  }
  return [strangersOut(basicAuth.map((user) => user.username)), hashed]
}

/**
 * Caddy compares an unknown name's password with a hash of cost 14, about a second of CPU for each request of anybody:
 * who names no user that there is gets the same answer without.
 */
function strangersOut(usernames: string[]): Json {
  const pattern = `^(?i:basic) (?:${usernames.map(encodedStart).join('|')})`
  const strangers = { not: [{ header_regexp: { Authorization: { pattern } } }] }
  const answer = { handler: 'static_response', status_code: 401, headers: { 'WWW-Authenticate': ['Basic realm="restricted"'] } }
  return { handler: 'subroute', routes: [route(strangers, [answer])] }
}

/** What credentials of a user begin with, as far as no bit of the password is in it; for a regular expression. */
function encodedStart(username: string): string {
  const bytes = new TextEncoder().encode(`${username}:`)
  const encoded = btoa(String.fromCharCode(...bytes)).slice(0, Math.floor((bytes.length * 8) / 6))
  return encoded.replaceAll('+', '\\+')
}

function redirect({ to, permanent = false }: NonNullable<Domain['redirect']>): Json {
  const url = new URL(to)
  const location = keepsPath(url) ? `${literally(url.origin)}{http.request.uri}` : literally(url.href)
  return { handler: 'static_response', status_code: permanent ? 308 : 307, headers: { Location: [location] } }
}

function proxying(target: IngressTarget, domain: Domain): Json[] {
  const { bodyLimitBytes, compression, stripPath, path } = domain
  return [
    ...(bodyLimitBytes === undefined ? [] : [{ handler: 'request_body', max_size: bodyLimitBytes }]),
    ...(compression ? [{ handler: 'encode', encodings: { gzip: {}, zstd: {} }, prefer: ['zstd', 'gzip'] }] : []),
    ...(stripPath && path !== undefined ? [{ handler: 'rewrite', strip_path_prefix: path }] : []),
    reverseProxy(target, domain),
  ]
}

function reverseProxy(target: IngressTarget, domain: Domain): Json {
  const { requestHeaders = [], timeouts, balancing } = domain
  return {
    handler: 'reverse_proxy',
    upstreams: upstreams(target, domain.port),
    load_balancing: { selection_policy: selectionPolicy(balancing), try_duration: '2s', try_interval: '50ms' },
    transport: {
      protocol: 'http',
      dial_timeout: '300ms',
      // Shorter than what servers keep idle connections for: a request must not meet one that is being closed.
      // Caddy's own defaults but for the time: what is given here replaces them all, and Go keeps only two by itself.
      keep_alive: { idle_timeout: '5s', max_idle_conns_per_host: 32, probe_interval: '30s' },
      ...timeoutFields(timeouts),
    },
    // A load of a configuration ends what the one before has open; WebSockets of untouched applications must not notice.
    stream_close_delay: '1h',
    // Here and not before, so that they win over the X-Forwarded-* that the proxy sets itself.
    ...(requestHeaders.length > 0 ? { headers: { request: headerChanges(requestHeaders) } } : {}),
  }
}

function upstreams({ resource, ports, dial }: IngressTarget, port: number | undefined): Json[] {
  if (dial !== null) return [{ dial }]
  const name = targetName(resource, port === ports[0] ? undefined : port)
  return Array.from({ length: slotsPerTarget }, (_, slot) => ({
    dial: `{file.${ingressPaths.endpoints}/${slotFileName(name, slot)}}`,
  }))
}

function selectionPolicy(balancing: Domain['balancing']): Json {
  switch (balancing?.policy) {
    case 'least-connections':
      return { policy: 'least_conn' }
    case 'round-robin':
      return { policy: 'round_robin' }
    case 'ip-hash':
      return { policy: 'client_ip_hash' }
    case 'cookie':
      return { policy: 'cookie', name: balancing.cookie ?? 'evenkeel', fallback: { policy: 'round_robin' } }
    // Caddy's own choice too. Taking strict turns between replicas on one machine costs a twentieth of the requests a second.
    default:
      return { policy: 'random' }
  }
}

function timeoutFields(timeouts: Domain['timeouts']): Json {
  return {
    ...duration('response_header_timeout', timeouts?.responseHeaderSeconds),
    ...duration('read_timeout', timeouts?.readSeconds),
    ...duration('write_timeout', timeouts?.writeSeconds),
  }
}

function duration(field: string, seconds: number | undefined): Json {
  return seconds === undefined ? {} : { [field]: `${Math.round(seconds * 1_000)}ms` }
}
