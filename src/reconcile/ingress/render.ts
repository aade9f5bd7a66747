import { certificatesOf, connectionPolicies, filesOf, hostsOf, secretsOf, tlsApp, type HostCertificate } from './certificates.js'
import { handlersOf, literally, matchOf, pathMatch, route, textAnswer, unavailableAnswer, type Json } from './routes.js'
import { settleDomains, type Served } from './served.js'
import { ingressDefaults, ingressPaths, unavailableDial, type IngressSpec, type IngressTarget, type Rendered } from './spec.js'

/** Caddy's configuration for all domains that can be served. `refused`: what Caddy itself said of a domain, by its key. */
export function renderCaddyConfig(
  settings: IngressSpec,
  targets: IngressTarget[],
  refused: ReadonlyMap<string, string>,
): Rendered {
  const { served, leftOut } = settleDomains(settings, targets, refused)
  const certificates = certificatesOf(served)
  return {
    config: {
      // Told each time: a configuration without it would move the endpoint away.
      admin: { listen: `unix/${ingressPaths.adminSocket}|0660`, config: { persist: true } },
      logging: {
        logs: { default: { level: 'WARN', writer: { output: 'stderr' }, encoder: { format: 'json' }, exclude: quiet } },
      },
      apps: {
        http: httpApp(settings, served, certificates),
        tls: tlsApp(settings, certificates),
        pki: { certificate_authorities: { local: { install_trust: false } } },
      },
    },
    secrets: secretsOf(certificates),
    files: hostsOf(certificates, 'acme').length > 0 ? filesOf(settings) : [],
    leftOut,
    certificates: certificates.map(({ host, mode }) => ({ host, mode })),
  }
}

/**
 * The proxy describes each request to its logger before it knows whether there will be anything to log: a twentieth of
 * Caddy's time. Lost are its words about answers that broke off in the middle and failed changes of protocol.
 */
const quiet = ['http.handlers.reverse_proxy']

function httpApp(settings: IngressSpec, served: Served[], certificates: HostCertificate[]): Json {
  const { httpPort = ingressDefaults.httpPort, httpsPort = ingressDefaults.httpsPort } = settings
  return {
    http_port: httpPort,
    https_port: httpsPort,
    grace_period: '30s',
    servers: {
      http: {
        listen: [`:${httpPort}`],
        automatic_https: { disable: true },
        ...shared(settings),
        protocols: ['h1'],
        routes: plainRoutes(settings, served, httpsPort),
      },
      https: {
        listen: [`:${httpsPort}`],
        automatic_https: automaticHttps(certificates),
        ...shared(settings),
        protocols: ['h1', 'h2', ...(settings.http3 ? ['h3'] : [])],
        tls_connection_policies: connectionPolicies(certificates, nameWithoutOne(settings, certificates)),
        routes: secureRoutes(settings, served),
      },
      unavailable: {
        listen: [unavailableDial],
        automatic_https: { disable: true },
        protocols: ['h1'],
        routes: [{ handle: [unavailableAnswer] }],
      },
    },
  }
}

function automaticHttps(certificates: HostCertificate[]): Json {
  return {
    // We redirect ourselves: Caddy would also do so for domains that want none.
    disable_redirects: true,
    // Else a name in somebody's own certificate would keep another host from getting its own.
    ignore_loaded_certificates: true,
    skip_certificates: hostsOf(certificates, 'certificate'),
  }
}

function shared({ trustedProxies = [] }: IngressSpec): Json {
  return {
    errors: { routes: [unreachable] },
    ...(trustedProxies.length > 0
      ? { trusted_proxies: { source: 'static', ranges: trustedProxies }, trusted_proxies_strict: 1 }
      : {}),
  }
}

/** Nothing of the request has been sent, so trying again is safe; what an application answered badly stays a 502 or 504. */
const unreachable = route(
  { vars_regexp: { '{http.error.message}': { pattern: '^(dial |making dial info|no upstreams available)' } } },
  [unavailableAnswer],
)

const unknownHost: Json = { handle: [textAnswer(404, 'Nothing is served here.\n')] }

function secureRoutes(settings: IngressSpec, served: Served[]): Json[] {
  const secure = served.filter((s) => s.tls !== 'off')
  return [
    ...secure.map((s) => route(matchOf(s.domain), handlersOf(s))),
    ...ofDefaultHost(settings, secure).map((s) => copy(s, route(pathMatch(s.domain.path), handlersOf(s)))),
    unknownHost,
  ]
}

function plainRoutes(settings: IngressSpec, served: Served[], httpsPort: number): Json[] {
  const port = httpsPort === 443 ? '' : `:${httpsPort}`
  return [
    ...served.flatMap((s) => plain(settings, s, matchOf(s.domain), `{http.request.host}${port}`)),
    ...ofDefaultHost(settings, served).flatMap((s) =>
      plain(settings, s, pathMatch(s.domain.path), `${literally(s.domain.host)}${port}`).map((r) => copy(s, r)),
    ),
    unknownHost,
  ]
}

/** A host with TLS sends to it; not what a trusted proxy got over TLS already, which would come back for ever. */
function plain({ trustedProxies = [] }: IngressSpec, served: Served, match: Json, authority: string): Json[] {
  if (served.tls === 'off') return [route(match, handlersOf(served))]
  const upgrade = {
    handler: 'static_response',
    status_code: 308,
    headers: { Location: [`https://${authority}{http.request.uri}`] },
  }
  if (trustedProxies.length === 0) return [route(match, [upgrade])]
  const secureBefore = { remote_ip: { ranges: trustedProxies }, header: { 'X-Forwarded-Proto': ['https'] } }
  return [route({ ...match, ...secureBefore }, handlersOf(served)), route(match, [upgrade])]
}

function ofDefaultHost({ defaultHost }: IngressSpec, served: Served[]): Served[] {
  return served.filter((s) => s.domain.host === defaultHost && !defaultHost.startsWith('*'))
}

/** Says whose copy it is: `withoutHosts` takes it out with its host. To Caddy a group means nothing here, as each route is terminal. */
function copy({ domain }: Served, given: Json): Json {
  return { ...given, group: domain.host }
}

function nameWithoutOne({ defaultHost }: IngressSpec, certificates: HostCertificate[]): string | null {
  return certificates.find((c) => c.host === defaultHost && !c.host.startsWith('*'))?.host ?? null
}
