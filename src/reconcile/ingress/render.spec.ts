import { describe, expect, it } from 'vitest'
import { domainSchema } from './domain.js'
import { renderCaddyConfig } from './render.js'
import { ingressSpecSchema, type IngressSpec, type IngressTarget, type Rendered } from './spec.js'

type Json = Record<string, unknown>
interface Route {
  match?: Json[]
  handle: Json[]
  terminal?: boolean
}
interface Server {
  listen: string[]
  protocols: string[]
  routes: Route[]
  [other: string]: unknown
}
interface Config {
  admin: Json
  logging: Json
  apps: { http: Json & { servers: Record<'http' | 'https' | 'unavailable', Server> }; tls: Json; pki: Json }
}

const hash = `$2b$10$${'a'.repeat(53)}`
const roots = `-----BEGIN CERTIFICATE-----\nMIIB${'A'.repeat(60)}\n-----END CERTIFICATE-----\n`

function target(resource: string, domains: object[], rest: Partial<IngressTarget> = {}): IngressTarget {
  const parsed = domains.map((domain) => domainSchema.parse(domain))
  return { resource, title: `shop/${resource}`, domains: parsed, ports: [8080, 9090], dial: null, secretVersions: {}, ...rest }
}

function render(
  settings: IngressSpec,
  targets: IngressTarget[],
  refused: Record<string, string> = {},
): Rendered & { config: Config } {
  const rendered = renderCaddyConfig(ingressSpecSchema.parse(settings), targets, new Map(Object.entries(refused)))
  return { ...rendered, config: rendered.config as Config }
}

/** What is done with requests for a domain that has no TLS, and so one route. */
function handlers(fields: object, rest: Partial<IngressTarget> = {}): Json[] {
  const { config, leftOut } = render({}, [target('app', [{ host: 'a.test', tls: 'off', ...fields }], rest)])
  expect(leftOut).toEqual([])
  return config.apps.http.servers.http.routes[0]!.handle
}
const proxy = (fields: object, rest: Partial<IngressTarget> = {}): Json => handlers(fields, rest).at(-1)!

/** Hosts and paths of the routes of a server, in order. */
function matches({ config }: { config: Config }, server: 'http' | 'https'): string[] {
  return config.apps.http.servers[server].routes.flatMap(({ match }) =>
    (match ?? []).map((m) => `${String(m['host'] ?? '')} ${String(m['path'] ?? '')}`.trim()),
  )
}

describe('renderCaddyConfig', () => {
  it('nothing to serve -> still the admin socket, both ports and the 503 responder', () => {
    const { config, secrets, files, leftOut, certificates } = render({}, [])
    expect({ secrets, files, leftOut, certificates }).toEqual({ secrets: [], files: [], leftOut: [], certificates: [] })
    expect(config.admin).toEqual({ listen: 'unix//run/evenkeel/admin.sock|0660', config: { persist: true } })
    expect(config.logging).toEqual({
      logs: {
        default: {
          level: 'WARN',
          writer: { output: 'stderr' },
          encoder: { format: 'json' },
          exclude: ['http.handlers.reverse_proxy'],
        },
      },
    })
    const { servers, ...http } = config.apps.http
    expect(http).toEqual({ http_port: 80, https_port: 443, grace_period: '30s' })
    expect(Object.entries(servers).map(([name, { listen, protocols }]) => [name, listen, protocols])).toEqual([
      ['http', [':80'], ['h1']],
      ['https', [':443'], ['h1', 'h2']],
      ['unavailable', ['unix//run/evenkeel/unavailable.sock'], ['h1']],
    ])
    expect(servers.unavailable.routes).toEqual([
      {
        handle: [
          expect.objectContaining({
            handler: 'static_response',
            status_code: 503,
            headers: expect.objectContaining({ 'Retry-After': ['5'] }) as Json,
          }),
        ],
      },
    ])
    for (const server of [servers.http, servers.https]) {
      expect(server.routes).toEqual([{ handle: [expect.objectContaining({ status_code: 404 })] }])
      expect(server['errors']).toEqual({ routes: [expect.objectContaining({ handle: servers.unavailable.routes[0]!.handle })] })
    }
    expect(config.apps.tls).toEqual({})
    expect(config.apps.pki).toEqual({ certificate_authorities: { local: { install_trust: false } } })
  })

  it('settings -> ports, HTTP/3 and proxies that are believed', () => {
    const { http, https } = render({ httpPort: 8080, httpsPort: 8443, http3: true, trustedProxies: ['10.0.0.0/8'] }, []).config
      .apps.http.servers
    expect([http.listen, https.listen]).toEqual([[':8080'], [':8443']])
    expect(https.protocols).toEqual(['h1', 'h2', 'h3'])
    for (const server of [http, https]) {
      expect(server).toMatchObject({ trusted_proxies: { source: 'static', ranges: ['10.0.0.0/8'] }, trusted_proxies_strict: 1 })
    }
  })
})

describe('a route', () => {
  it('domain alone -> 12 slots of its target, no load and no health check', () => {
    expect(handlers({})).toEqual([
      {
        handler: 'reverse_proxy',
        upstreams: Array.from({ length: 12 }, (_, slot) => ({ dial: `{file./endpoints/app.${slot}}` })),
        load_balancing: { selection_policy: { policy: 'random' }, try_duration: '2s', try_interval: '50ms' },
        transport: {
          protocol: 'http',
          dial_timeout: '300ms',
          keep_alive: { idle_timeout: '5s', max_idle_conns_per_host: 32, probe_interval: '30s' },
        },
        stream_close_delay: '1h',
      },
    ])
  })

  it.each([
    ['the first port', { port: 8080 }, {}, '{file./endpoints/app.0}'],
    ['another port', { port: 9090 }, {}, '{file./endpoints/app-9090.0}'],
    ['a fixed address', {}, { dial: '127.0.0.1:7000', ports: [] }, '127.0.0.1:7000'],
    ['a socket', {}, { dial: 'unix//run/x.sock', ports: [] }, 'unix//run/x.sock'],
  ])('%s -> dials it', (_name, fields, rest, dial) => {
    expect((proxy(fields, rest)['upstreams'] as Json[])[0]).toEqual({ dial })
  })

  it.each([
    ['round-robin', { policy: 'round_robin' }],
    ['least-connections', { policy: 'least_conn' }],
    ['random', { policy: 'random' }],
    ['ip-hash', { policy: 'client_ip_hash' }],
    ['cookie', { policy: 'cookie', name: 'evenkeel', fallback: { policy: 'round_robin' } }],
  ])('balancing %s -> its policy', (policy, selection_policy) => {
    expect(proxy({ balancing: { policy } })['load_balancing']).toMatchObject({ selection_policy })
  })

  it('fields of the request and its answer -> handlers in the order in which they must come', () => {
    const said = handlers({
      path: '/api',
      stripPath: true,
      basicAuth: [{ username: 'a{b}', passwordHash: hash }],
      bodyLimitBytes: 10,
      compression: true,
      responseHeaders: [{ name: 'x-a', value: '{y}' }, { name: 'Server' }],
      requestHeaders: [{ name: 'X-B', value: '1' }, { name: 'x-b', value: '2' }, { name: 'Cookie' }],
      timeouts: { responseHeaderSeconds: 1.5, readSeconds: 2, writeSeconds: 0.1 },
      balancing: { policy: 'cookie', cookie: 'seat' },
    })
    expect(said).toMatchObject([
      { handler: 'headers', response: { set: { 'X-A': ['\\{y\\}'] }, delete: ['server'], deferred: true } },
      {
        handler: 'subroute',
        routes: [
          {
            match: [{ not: [{ header_regexp: { Authorization: { pattern: '^(?i:basic) (?:YXtifT)' } } }] }],
            handle: [{ status_code: 401 }],
          },
        ],
      },
      {
        handler: 'authentication',
        providers: {
          http_basic: { hash: { algorithm: 'bcrypt' }, hash_cache: {}, accounts: [{ username: 'a\\{b\\}', password: hash }] },
        },
      },
      { handler: 'request_body', max_size: 10 },
      { handler: 'encode', encodings: { gzip: {}, zstd: {} } },
      { handler: 'rewrite', strip_path_prefix: '/api' },
      {
        handler: 'reverse_proxy',
        headers: { request: { set: { 'X-B': ['1', '2'] }, delete: ['cookie'] } },
        transport: { response_header_timeout: '1500ms', read_timeout: '2000ms', write_timeout: '100ms' },
        load_balancing: { selection_policy: { name: 'seat' } },
      },
    ])
    expect(said).toHaveLength(7)
  })

  it('allowed addresses -> before everything else', () => {
    expect(handlers({ allowedAddresses: ['192.0.2.0/24', '::1'] })).toMatchObject([
      {
        handler: 'subroute',
        routes: [
          {
            match: [{ not: [{ client_ip: { ranges: ['192.0.2.0/24', '::1'] } }] }],
            handle: [{ status_code: 403 }],
            terminal: true,
          },
          { handle: [{ handler: 'reverse_proxy' }] },
        ],
      },
    ])
  })

  it.each([
    ['https://B.test', undefined, 307, 'https://b.test{http.request.uri}'],
    ['https://b.test/', true, 308, 'https://b.test{http.request.uri}'],
    ['http://b.test:8080', false, 307, 'http://b.test:8080{http.request.uri}'],
    ['https://b.test/there', true, 308, 'https://b.test/there'],
    ['https://b.test/?x={y}', true, 308, 'https://b.test/?x=\\{y\\}'],
    ['https://b.test/{http.request.uri}', true, 308, 'https://b.test/%7Bhttp.request.uri%7D'],
  ])('redirect to %s, permanent %s -> %i %s', (to, permanent, status_code, location) => {
    expect(handlers({ redirect: { to, permanent } })).toEqual([
      { handler: 'static_response', status_code, headers: { Location: [location] } },
    ])
  })
})

describe('the order of routes', () => {
  const rendered = render({}, [
    target('b', [{ host: '*.a.test' }, { host: 'z.test' }, { host: 'x.a.test', path: '/api' }]),
    target('a', [{ host: 'x.a.test' }, { host: 'x.a.test', path: '/api/v2' }, { host: '*.a.test', path: '/long/path/indeed' }]),
  ])

  it.each(['http', 'https'] as const)('%s -> exact before wildcard, longest path first, whoever has them', (server) => {
    expect(matches(rendered, server)).toEqual([
      'x.a.test /api/v2,/api/v2/*',
      'x.a.test /api,/api/*',
      'x.a.test',
      'z.test',
      '*.a.test /long/path/indeed,/long/path/indeed/*',
      '*.a.test',
    ])
    const { routes } = rendered.config.apps.http.servers[server]
    expect(routes.map((r) => r.terminal ?? false)).toEqual([...Array<boolean>(6).fill(true), false])
  })
})

describe('TLS', () => {
  const secrets = { secretVersions: { mine: 7, constructor: 1 } }
  const all = target(
    'app',
    [
      { host: 'in.test' },
      { host: '*.in.test', tls: 'internal' },
      { host: 'a.in.test', tls: 'acme' },
      { host: 'own.test', tls: 'certificate', certificate: 'mine' },
      { host: '*.own.test', tls: 'certificate', certificate: 'mine' },
      { host: 'b.own.test', tls: 'internal' },
      { host: 'off.test', tls: 'off' },
      { host: 'off.test', path: '/x', tls: 'internal' },
    ],
    secrets,
  )
  const acme = { directory: 'https://ca.test/dir', email: 'me@a.test', trustedRoots: roots }
  const rendered = render({ acme }, [all])

  it('policies -> share no name, acme asked first', () => {
    expect(rendered.config.apps.tls).toEqual({
      automation: {
        policies: [
          {
            subjects: ['a.in.test'],
            issuers: [
              {
                module: 'acme',
                ca: 'https://ca.test/dir',
                email: 'me@a.test',
                trusted_roots_pem_files: [`/files/${rendered.files[0]?.file}`],
              },
            ],
          },
          { subjects: ['b.own.test', 'in.test', 'off.test', '*.in.test'], issuers: [{ module: 'internal' }] },
        ],
      },
      certificates: {
        automate: ['a.in.test'],
        load_files: [{ certificate: '/secrets/app-mine-7.pem', key: '/secrets/app-mine-7.pem', tags: ['app-mine-7.pem'] }],
      },
    })
  })

  it('secrets and files -> named by what is in them', () => {
    expect(rendered.secrets).toEqual([{ file: 'app-mine-7.pem', resource: 'app', secret: 'mine', version: 7 }])
    expect(rendered.files).toEqual([{ file: expect.stringMatching(/^acme-roots-[0-9a-f]{16}\.pem$/) as string, content: roots }])
    const other = render({ acme: { ...acme, trustedRoots: roots + roots } }, [all])
    expect(other.files[0]?.file).not.toBe(rendered.files[0]?.file)
    expect(render({ acme }, []).files).toEqual([])
  })

  it('own certificate -> for its host alone, and none is made', () => {
    const { https } = rendered.config.apps.http.servers
    const any_tag = ['app-mine-7.pem']
    expect(https['tls_connection_policies']).toEqual([
      { match: { sni: ['own.test'] }, certificate_selection: { any_tag } },
      { match: { sni: ['b.own.test'] } },
      { match: { sni: ['*.own.test'] }, certificate_selection: { any_tag } },
      {},
    ])
    expect(https['automatic_https']).toEqual({
      disable_redirects: true,
      ignore_loaded_certificates: true,
      skip_certificates: ['own.test', '*.own.test'],
    })
  })

  it('hosts -> told with the way of their certificate', () => {
    expect(rendered.certificates).toEqual([
      { host: 'a.in.test', mode: 'acme' },
      { host: 'b.own.test', mode: 'internal' },
      { host: 'in.test', mode: 'internal' },
      { host: 'off.test', mode: 'internal' },
      { host: 'own.test', mode: 'certificate' },
      { host: '*.in.test', mode: 'internal' },
      { host: '*.own.test', mode: 'certificate' },
    ])
  })

  it('domain without TLS -> on the plain server alone', () => {
    expect(matches(rendered, 'https')).not.toContain('off.test')
    expect(matches(rendered, 'https')).toContain('off.test /x,/x/*')
    expect(
      rendered.config.apps.http.servers.http.routes.find(
        (r) => r.match?.[0]?.['host']?.toString() === 'off.test' && !r.match[0]['path'],
      )?.handle,
    ).toMatchObject([{ handler: 'reverse_proxy' }])
  })

  it.each([
    [443, 'https://{http.request.host}{http.request.uri}'],
    [8443, 'https://{http.request.host}:8443{http.request.uri}'],
  ])('plain request, https on %i -> sent to %s', (httpsPort, location) => {
    const { routes } = render({ httpsPort }, [target('app', [{ host: 'a.test' }])]).config.apps.http.servers.http
    expect(routes[0]).toEqual({
      match: [{ host: ['a.test'] }],
      handle: [{ handler: 'static_response', status_code: 308, headers: { Location: [location] } }],
      terminal: true,
    })
  })

  it('trusted proxies -> what they got over TLS is served at once', () => {
    const { routes } = render({ trustedProxies: ['::1'] }, [target('app', [{ host: 'a.test' }])]).config.apps.http.servers.http
    expect(routes).toMatchObject([
      {
        match: [{ host: ['a.test'], remote_ip: { ranges: ['::1'] }, header: { 'X-Forwarded-Proto': ['https'] } }],
        handle: [{ handler: 'reverse_proxy' }],
      },
      { match: [{ host: ['a.test'] }], handle: [{ status_code: 308 }] },
      { handle: [{ status_code: 404 }] },
    ])
  })

  it('one host, two ways -> the stronger one, whoever asks', () => {
    const targets = [
      target('a', [{ host: 'a.test', tls: 'internal' }]),
      target('b', [{ host: 'a.test', path: '/x', tls: 'acme' }]),
    ]
    expect(render({}, targets).certificates).toEqual([{ host: 'a.test', mode: 'acme' }])
  })

  it('default host -> answers at the end for all others, and for clients that name none', () => {
    const { http, https } = render({ defaultHost: 'a.test' }, [
      target('app', [{ host: 'a.test' }, { host: 'a.test', path: '/x' }]),
    ]).config.apps.http.servers
    expect(https.routes.map((r) => r.match)).toEqual([
      [{ host: ['a.test'], path: ['/x', '/x/*'] }],
      [{ host: ['a.test'] }],
      [{ path: ['/x', '/x/*'] }],
      undefined,
      undefined,
    ])
    expect(http.routes[3]?.handle).toMatchObject([{ headers: { Location: ['https://a.test{http.request.uri}'] } }])
    expect(https['tls_connection_policies']).toEqual([{ default_sni: 'a.test', fallback_sni: 'a.test' }])
    expect(render({ defaultHost: 'b.test' }, []).config).toEqual(render({}, []).config)
  })
})

describe('what is left out', () => {
  const good = { host: 'good.test' }

  it.each<[string, { host?: string; [field: string]: unknown }, Partial<IngressTarget>, IngressSpec, string, RegExp]>([
    ['a port that the application has not', { port: 1 }, {}, {}, 'InvalidRoute', /^port is no port of the application/],
    ['an application without a port', {}, { ports: [] }, {}, 'InvalidRoute', /^port leads nowhere/],
    ['acme by default for a wildcard', { host: '*.x.test' }, {}, { defaultTls: 'acme' }, 'InvalidRoute', /DNS-01/],
    [
      'acme by default for a local host',
      { host: 'a.localhost' },
      {},
      { defaultTls: 'acme' },
      'InvalidRoute',
      /acme issues no certificate/,
    ],
    ['a name that is no name of files', {}, { resource: 'a}/../b' }, {}, 'InvalidRoute', /cannot name endpoint files/],
    ['an address that is none', {}, { dial: '{env.X}:1' }, {}, 'InvalidRoute', /cannot be dialled/],
    [
      'a certificate that is not there',
      { tls: 'certificate', certificate: 'mine' },
      {},
      {},
      'CertificateMissing',
      /no secret mine/,
    ],
    [
      'a certificate that only sounds as if',
      { tls: 'certificate', certificate: 'constructor' },
      {},
      {},
      'CertificateMissing',
      /no secret constructor/,
    ],
  ])('%s -> alone, the others serve', (_name, fields, rest, settings, reason, message) => {
    const rendered = render(settings, [target('bad', [{ host: 'bad.test', ...fields }], rest), target('good', [good])])
    expect(rendered.leftOut).toEqual([
      {
        resource: rest.resource ?? 'bad',
        host: fields.host ?? 'bad.test',
        path: '/',
        reason,
        message: expect.stringMatching(message) as string,
      },
    ])
    expect(matches(rendered, 'https')).toEqual(['good.test'])
  })

  it('refused by Caddy before -> with what it said, and no certificate is made for it', () => {
    const rendered = render({}, [target('app', [{ host: 'bad.test', path: '/X' }, good])], { 'bad.test/x': 'it said no' })
    expect(rendered.leftOut).toEqual([
      { resource: 'app', host: 'bad.test', path: '/X', reason: 'Refused', message: 'it said no' },
    ])
    expect(rendered.certificates).toEqual([{ host: 'good.test', mode: 'internal' }])
  })

  it('two of one host and path -> the resource that sorts first has it, also when it cannot be served', () => {
    const targets = [target('b', [good]), target('a', [{ ...good, port: 1 }]), target('c', [{ ...good, path: '/c' }])]
    expect(render({}, targets).leftOut).toEqual([
      { resource: 'a', host: 'good.test', path: '/', reason: 'InvalidRoute', message: expect.any(String) as string },
      { resource: 'b', host: 'good.test', path: '/', reason: 'HostTaken', message: 'good.test/ belongs to shop/a' },
    ])
  })
})
