import { describe, expect, it } from 'vitest'
import { domainIssues, domainKey, domainSchema, type Domain } from './domain.js'

const hash = `$2b$10$${'a'.repeat(53)}`

/** `path: message` of what is wrong with a domain by itself. */
function refusals(fields: object): string[] {
  const parsed = domainSchema.safeParse({ host: 'a.test', ...fields })
  return parsed.success ? [] : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
}

describe('domainSchema', () => {
  it('host -> kept in its one spelling', () => {
    expect(domainSchema.parse({ host: ' https://MÜNCHEN.example./ ' }).host).toBe('xn--mnchen-3ya.example')
  })

  it.each(['/', '/api', '/api/v2', '/a.b/c_d~e', '/caf%C3%A9', "/x;y=1,2/(a)'b", '/@me', '/%20', '/..a', '/A'])(
    'path %s -> fine',
    (path) => {
      expect(refusals({ path })).toEqual([])
    },
  )

  it.each([
    '',
    'api',
    '/api/',
    '//',
    '/a//b',
    '/./a',
    '/a/..',
    '/a b',
    '/é',
    '/a*',
    '/a?b',
    '/a#b',
    '/{x}',
    '/a\\b',
    '/a[b',
    '/a]',
    '/%',
    '/%2',
    '/%c3',
    '/%41',
    '/%2F',
    '/%2e%2e',
    '/%5C',
    '/%00',
  ])('path %j -> refused', (path) => {
    expect(refusals({ path })).not.toEqual([])
  })

  it.each([
    [{ host: '' }, /^host: is empty/],
    [{ requestHeaders: [{ name: 'x y' }] }, /^requestHeaders.0.name: is no header name/],
    [{ requestHeaders: [{ name: '*' }] }, /^requestHeaders.0.name: is no header name/],
    [{ responseHeaders: [{ name: 'x-*' }] }, /^responseHeaders.0.name: is no header name/],
    [{ responseHeaders: [{ name: 'x', value: 'a\r\nb: c' }] }, /^responseHeaders.0.value: must not contain a line break/],
    [{ requestHeaders: [{ name: 'x', value: '\u0007' }] }, /^requestHeaders.0.value: must not contain/],
    [{ basicAuth: [] }, /^basicAuth: must name somebody/],
    [{ basicAuth: [{ username: 'a:b', passwordHash: hash }] }, /^basicAuth.0.username/],
    [{ basicAuth: [{ username: 'a', passwordHash: 'secret' }] }, /^basicAuth.0.passwordHash: must be a bcrypt hash/],
    [{ allowedAddresses: [] }, /^allowedAddresses: must name somebody/],
    [{ allowedAddresses: ['everybody'] }, /^allowedAddresses.0: must be an IP address/],
    [{ bodyLimitBytes: 0 }, /^bodyLimitBytes/],
    [{ timeouts: { readSeconds: 0 } }, /^timeouts.readSeconds: must be at least 0.1/],
    [{ balancing: { policy: 'cookie', cookie: 'a b' } }, /^balancing.cookie/],
    [{ colour: 'red' }, /colour/],
  ])('%j -> refused', (fields, message) => {
    expect(refusals(fields).join('\n')).toMatch(message)
  })
})

describe('domainKey', () => {
  it.each([
    [{ host: 'a.test' }, 'a.test/'],
    [{ host: 'a.test', path: '/' }, 'a.test/'],
    [{ host: 'a.test', path: '/Api' }, 'a.test/api'],
    [{ host: '*.a.test', path: '/x' }, '*.a.test/x'],
  ])('%j -> %s', (domain, key) => {
    expect(domainKey(domain)).toBe(key)
  })
})

/** `path: message` of what is wrong with a list; ports 8080 and 9090 unless said. */
function issues(domains: object[], ports: number[] | undefined = [8080, 9090]): string[] {
  const parsed = domains.map((domain): Domain => domainSchema.parse({ host: 'a.test', ...domain }))
  return domainIssues(parsed, ports).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const to = (url: string) => ({ redirect: { to: url } })

describe('domainIssues', () => {
  it.each([
    ['nothing but a host', [{}]],
    ['a port of the application', [{ port: 9090 }]],
    ['one host, two paths', [{}, { path: '/api', stripPath: true }]],
    ['a wildcard and a name below it', [{ host: '*.x.test' }, { host: 'a.x.test' }]],
    ['one host, the same TLS', [{ tls: 'acme' }, { path: '/api', tls: 'acme' }]],
    ['one host, a path without TLS', [{ tls: 'acme' }, { path: '/open', tls: 'off' }]],
    ['own certificate', [{ tls: 'certificate', certificate: 'mine' }]],
    ['own certificate of a wildcard', [{ host: '*.x.test', tls: 'certificate', certificate: 'mine' }]],
    ['internal for a wildcard', [{ host: '*.x.test', tls: 'internal' }]],
    ['acme for what an own authority may know', [{ tls: 'acme' }, { host: 'a.internal', tls: 'acme' }]],
    ['redirect elsewhere', [to('https://www.a.test')]],
    [
      'redirect with what it can have',
      [{ ...to('https://b.test'), tls: 'internal', responseHeaders: [{ name: 'x', value: 'y' }], allowedAddresses: ['::1'] }],
    ],
    ['redirect to a path beside its own', [{ path: '/old', ...to('https://a.test/new') }]],
    ['redirect to another port', [to('https://a.test:8443')]],
    ['redirect to https of a host without TLS here', [{ tls: 'off', ...to('https://a.test') }]],
    ['balancing by cookie', [{ balancing: { policy: 'cookie', cookie: 'seat' } }]],
    ['Host for the application', [{ requestHeaders: [{ name: 'Host', value: 'b.test:80' }] }]],
    [
      'networks and addresses',
      [{ allowedAddresses: ['192.0.2.0/24', '192.0.2.7', '2001:db8::/32', '::1', '0.0.0.0/0', '::/0'] }],
    ],
  ])('%s -> fine', (_name, domains) => {
    expect(issues(domains)).toEqual([])
  })

  it.each<[string, object[], unknown[]]>([
    ['twice the same', [{}, { path: '/' }], ['1.host: is there twice: a.test/ is number 1 of the list too']],
    [
      'twice the same but for the case',
      [{ path: '/Api' }, { path: '/api' }],
      ['1.host: is there twice: a.test/api is number 1 of the list too'],
    ],
    ['a port of somebody else', [{ port: 1 }], ['0.port: is no port of the application: it has 8080, 9090']],
    ['stripPath without a path', [{ stripPath: true }], ['0.stripPath: needs a path to take away']],
    ['stripPath of everything', [{ path: '/', stripPath: true }], ['0.stripPath: needs a path to take away']],
    [
      'certificate without its name',
      [{ tls: 'certificate' }],
      ['0.certificate: must name the secret with the chain and its key'],
    ],
    ['name of a certificate without the way', [{ certificate: 'mine' }], ['0.certificate: needs tls: certificate']],
    ['name of a certificate with another way', [{ tls: 'acme', certificate: 'mine' }], ['0.certificate: needs tls: certificate']],
    [
      'acme for a wildcard',
      [{ host: '*.x.test', tls: 'acme' }],
      [expect.stringMatching(/^0.tls: acme cannot prove a wildcard: .*DNS-01/)],
    ],
    ...['localhost', 'a.localhost', 'a.local', 'a.example', 'a.invalid'].map(
      (host) =>
        [`acme for ${host}`, [{ host, tls: 'acme' }], [expect.stringMatching(/^0.tls: acme issues no certificate for/)]] as [
          string,
          object[],
          unknown[],
        ],
    ),
    [
      'two ways for one host',
      [{ tls: 'acme' }, { path: '/x', tls: 'internal' }],
      [expect.stringMatching(/^1.tls: differs from another path of a.test \(acme\)/)],
    ],
    [
      'two certificates for one host',
      [
        { tls: 'certificate', certificate: 'a' },
        { path: '/x', tls: 'certificate', certificate: 'b' },
      ],
      [expect.stringMatching(/^1.tls: differs from another path of a.test \(certificate a\)/)],
    ],
    [
      'cookie without its policy',
      [{ balancing: { policy: 'random', cookie: 'seat' } }],
      ['0.balancing.cookie: needs policy: cookie'],
    ],
    [
      'one user twice',
      [
        {
          basicAuth: [
            { username: 'ann', passwordHash: hash },
            { username: 'ann', passwordHash: hash },
          ],
        },
      ],
      ['0.basicAuth.1.username: is there twice'],
    ],
    [
      'network with a host in it',
      [{ allowedAddresses: ['192.0.2.7/24'] }],
      ['0.allowedAddresses.0: must be the network 192.0.2.0/24 or the address 192.0.2.7'],
    ],
    [
      'network with a host in it',
      [{ allowedAddresses: ['2001:db8::1/64'] }],
      ['0.allowedAddresses.0: must be the network 2001:db8::/64 or the address 2001:db8::1'],
    ],
    [
      'IPv4 in IPv6',
      [{ allowedAddresses: ['::ffff:192.0.2.1'] }],
      [expect.stringMatching(/^0.allowedAddresses.0: must be written as IPv4/)],
    ],
  ])('%s -> told', (_name, domains, told) => {
    expect(issues(domains)).toEqual(told)
  })

  it.each(['Connection', 'Keep-Alive', 'Proxy-Connection', 'TE', 'Trailer', 'transfer-encoding', 'Upgrade', 'Content-Length'])(
    'header %s -> the proxy sets it',
    (name) => {
      expect(issues([{ requestHeaders: [{ name, value: 'x' }], responseHeaders: [{ name }] }])).toEqual(
        ['requestHeaders', 'responseHeaders'].map(
          (field) => `0.${field}.0.name: ${name.toLowerCase()} belongs to the connection: the proxy sets it`,
        ),
      )
    },
  )

  it.each([
    [{ requestHeaders: [{ name: 'Host' }] }, '0.requestHeaders.0.name: host cannot be removed: a request must have it'],
    [{ requestHeaders: [{ name: 'host', value: 'a b' }] }, '0.requestHeaders.0.value: must be a host, with or without a port'],
    [{ responseHeaders: [{ name: 'Host', value: 'b' }] }, '0.responseHeaders.0.name: host is no header of a response'],
    [{ responseHeaders: [{ name: 'X', value: 'b' }, { name: 'x' }] }, '0.responseHeaders.0.name: x is both set and removed'],
  ])('%j -> %s', (domain, told) => {
    expect(issues([domain])).toEqual([told])
  })

  it.each(['port', 'stripPath', 'requestHeaders', 'bodyLimitBytes', 'compression', 'timeouts', 'balancing'])(
    'redirect beside %s -> told',
    (field) => {
      const value = {
        port: 8080,
        stripPath: true,
        requestHeaders: [{ name: 'x', value: 'y' }],
        bodyLimitBytes: 1,
        compression: true,
        timeouts: { readSeconds: 1 },
        balancing: { policy: 'random' },
      }[field]
      expect(issues([{ path: '/x', [field]: value, ...to('https://b.test') }])).toEqual([
        `0.${field}: means nothing beside redirect, which asks the application nothing`,
      ])
    },
  )

  it.each([
    ['b.test', /must be an http or https URL/],
    ['/there', /must be an http or https URL/],
    ['//b.test', /must be an http or https URL/],
    ['ftp://b.test', /must be an http or https URL/],
    ['javascript:alert(1)', /must be an http or https URL/],
    ['https:b.test', /must be an http or https URL/],
    ['https://', /must be an http or https URL/],
    ['https://me:secret@b.test', /must not hold a user/],
    ['https://192.0.2.1', /has a host that is an IP address/],
    ['https://b_c.test', /has a host that holds an underscore/],
    ['https://*.b.test', /must name one host/],
    ['https://a.test', /leads to the domain itself/],
    ['http://a.test', /leads to the domain itself/],
    ['https://A.test./', /leads to the domain itself/],
    ['https://a.test:443', /leads to the domain itself/],
    ['https://a.test/below', /leads to the domain itself/],
  ])('redirect to %s -> told', (url, message) => {
    expect(issues([to(url)]).join('\n')).toMatch(new RegExp(`^0.redirect.to: .*${message.source}`))
  })

  it('redirect of a path to a path below it -> told', () => {
    expect(issues([{ path: '/docs', ...to('https://a.test/docs/v2') }])).toEqual([
      expect.stringContaining('leads to the domain itself'),
    ])
  })

  it('plain host that redirects to itself -> told', () => {
    expect(issues([{ tls: 'off', ...to('http://a.test') }])).toEqual([expect.stringContaining('leads to the domain itself')])
  })

  it.each([
    ['no port, no redirect', {}, [], ['0.port: leads nowhere: the application has no port']],
    ['no port, but a redirect', to('https://b.test'), [], []],
    ['ports that are not known here', { port: 1 }, undefined, []],
  ])('%s -> as said', (_name, domain, ports, told) => {
    const parsed = domainSchema.parse({ host: 'a.test', ...domain })
    expect(domainIssues([parsed], ports).map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual(told)
  })
})
