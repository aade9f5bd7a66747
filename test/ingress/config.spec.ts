import { createPrivateKey } from 'node:crypto'
import { connect } from 'node:tls'
import bcrypt from 'bcryptjs'
import Docker from 'dockerode'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { domainSchema } from '../../src/reconcile/ingress/domain.js'
import { ownCertificateProblem } from '../../src/reconcile/ingress/own-certificate.js'
import { renderCaddyConfig } from '../../src/reconcile/ingress/render.js'
import { unavailableDial, type IngressSpec, type IngressTarget, type Rendered } from '../../src/reconcile/ingress/spec.js'
import { anyDomain } from '../../src/reconcile/testing/any-domain.js'
import { CaddyUnderTest, type Answer, type Question } from './caddy-under-test.js'
import { Upstream, type Seen } from './upstream.js'

const UPSTREAMS = ['one', 'two', 'three'] as const
// Salted anew at each call: made once, or no two configurations would be equal.
const [annsHash, bracesHash] = [bcrypt.hashSync('secret', 4), bcrypt.hashSync('{env.HOME}', 4)]
const braces = '{http.request.host} \\{x\\} {{ } $1 %s'

let caddy: CaddyUnderTest
let upstreams: Upstream[]
let roots: string

/** Everything that a domain can say, each on a host of its own. */
function domains(): unknown[] {
  return [
    { host: 'plain.test' },
    { host: '*.wild.test', responseHeaders: [{ name: 'X-Route', value: 'wildcard' }] },
    { host: 'exact.wild.test', responseHeaders: [{ name: 'X-Route', value: 'exact' }] },
    { host: 'paths.test', responseHeaders: [{ name: 'X-Route', value: '/' }] },
    { host: 'paths.test', path: '/api', stripPath: true, responseHeaders: [{ name: 'X-Route', value: '/api' }] },
    { host: 'paths.test', path: '/api/v2', responseHeaders: [{ name: 'X-Route', value: '/api/v2' }] },
    { host: 'paths.test', path: '/caf%C3%A9', stripPath: true, responseHeaders: [{ name: 'X-Route', value: '/café' }] },
    { host: 'moved.test', redirect: { to: 'https://Shop.example.com/' } },
    { host: 'moved.test', path: '/for-ever', redirect: { to: 'https://shop.example.com', permanent: true } },
    { host: 'moved.test', path: '/there', redirect: { to: 'https://shop.example.com/new/{http.request.host}?q={env.PATH}' } },
    {
      host: 'private.test',
      basicAuth: [
        { username: 'ann', passwordHash: annsHash },
        { username: '{env.HOME}', passwordHash: bracesHash },
        { username: 'jürgen>>>???', passwordHash: annsHash },
      ],
    },
    {
      host: 'headers.test',
      requestHeaders: [
        { name: 'x-set', value: braces },
        { name: 'X-Twice', value: 'a' },
        { name: 'x-twice', value: 'b' },
        { name: 'x-removed' },
        { name: 'Host', value: 'other.test:8080' },
        { name: 'X-Forwarded-Proto', value: 'gopher' },
      ],
      responseHeaders: [{ name: 'x-set', value: braces }, { name: 'x-powered-by' }, { name: 'Server', value: 'mine' }],
    },
    { host: 'inside.test', allowedAddresses: ['127.0.0.0/8', '::1'] },
    { host: 'outside.test', allowedAddresses: ['192.0.2.0/24', '2001:db8::/32'] },
    { host: 'small.test', bodyLimitBytes: 10 },
    { host: 'compressed.test', compression: true },
    { host: 'impatient.test', timeouts: { responseHeaderSeconds: 0.3 } },
    { host: 'patient.test', timeouts: { responseHeaderSeconds: 30 } },
    { host: 'half-open.test', timeouts: { readSeconds: 0.3, writeSeconds: 10 } },
    { host: 'least.test', balancing: { policy: 'least-connections' } },
    { host: 'turns.test', balancing: { policy: 'round-robin' } },
    { host: 'random.test', balancing: { policy: 'random' } },
    { host: 'hashed.test', balancing: { policy: 'ip-hash' } },
    { host: 'sticky.test', balancing: { policy: 'cookie', cookie: 'seat' } },
    { host: 'second-port.test', port: 9090 },
    { host: 'inner.test', tls: 'internal' },
    { host: '*.inner.test', tls: 'internal' },
    { host: 'mixed.test', tls: 'internal' },
    { host: 'mixed.test', path: '/open', tls: 'off' },
    { host: 'own.test', tls: 'internal' },
  ]
}

function target(resource: string, more: unknown[], rest: Partial<IngressTarget> = {}): IngressTarget {
  const parsed = more.map((domain) => domainSchema.parse(domain))
  return { resource, title: `test/${resource}`, domains: parsed, ports: [8080, 9090], dial: null, secretVersions: {}, ...rest }
}

function render(targets: IngressTarget[], settings: IngressSpec = {}): Rendered {
  const { httpPort, httpsPort } = caddy
  return renderCaddyConfig({ httpPort, httpsPort, defaultTls: 'off', ...settings }, targets, new Map())
}

async function load({ config, secrets }: Rendered, contents: Record<string, string> = {}): Promise<void> {
  for (const { file, secret } of secrets) await caddy.setSecret(file, contents[secret] ?? '')
  const { status, text } = await caddy.load(config)
  expect({ status, text }).toEqual({ status: 200, text: '' })
}

const everything = (): IngressTarget => target('app_all', domains())

const seen = (answer: Answer): Seen => JSON.parse(answer.text) as Seen
const basic = (user: string, password: string): Question => ({
  headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
})

beforeAll(async () => {
  caddy = await CaddyUnderTest.start(new Docker())
  upstreams = await Promise.all(UPSTREAMS.map((name) => Upstream.start(name)))
  await caddy.setEndpoints('app_all', [upstreams[0]!.dial])
  await caddy.setEndpoints('app_all-9090', [upstreams[1]!.dial])
  await load(render([everything()]))
  roots = await caddy.internalRoots()
})

afterAll(async () => {
  await caddy?.stop()
  for (const upstream of upstreams ?? []) await upstream.stop()
})

describe('what was rendered', () => {
  it('whole configuration -> Caddy has it as it was given', async () => {
    const { config, leftOut } = render([everything()])
    expect(leftOut).toEqual([])
    expect(JSON.parse((await caddy.admin('GET', '/config/')).text)).toEqual(JSON.parse(JSON.stringify(config)))
  })
})

describe('whatever the schema lets through', () => {
  it('600 domains -> Caddy takes what was rendered of them', async () => {
    for (let seed = 0; seed < 6; seed++) {
      const unlike = fc.sample(anyDomain, { numRuns: 100, seed }).filter((domain) => domain.tls !== 'acme')
      // A host of its own for each, or most would be left out as taken.
      const domains = unlike.map((domain, i) => ({
        ...domain,
        host: `n${i}.${domain.host.replace('*.', '')}`,
        tls: 'off' as const,
      }))
      const rendered = render([{ ...target('app_any', []), domains }])
      expect(domains.length - rendered.leftOut.length).toBeGreaterThan(30)
      await load(rendered)
    }
    await load(render([everything()]))
  })
})

describe('routes', () => {
  it.each([
    ['exact.wild.test', '/', 'exact', '/'],
    ['any.wild.test', '/', 'wildcard', '/'],
    ['paths.test', '/', '/', '/'],
    ['paths.test', '/apix', '/', '/apix'],
    ['paths.test', '/api', '/api', '/'],
    ['paths.test', '/api/', '/api', '/'],
    ['paths.test', '/api/a%20b?c=d', '/api', '/a%20b?c=d'],
    ['paths.test', '/API/x', '/api', '/x'],
    ['paths.test', '//api/x', '/api', '/x'],
    ['paths.test', '/x/../api/y', '/api', '/y'],
    ['paths.test', '/api/v2/x', '/api/v2', '/api/v2/x'],
    ['paths.test', '/caf%C3%A9/x', '/café', '/x'],
    ['PATHS.test', '/', '/', '/'],
    ['paths.test:8080', '/', '/', '/'],
  ])('%s%s -> route %s, application sees %s', async (host, path, route, url) => {
    const answer = await caddy.get(host, { path })
    expect({ status: answer.status, route: Buffer.from(String(answer.headers['x-route']), 'latin1').toString('utf8') }).toEqual({
      status: 200,
      route,
    })
    expect(seen(answer).url).toBe(url)
  })

  it.each(['nobody.test', 'a.b.wild.test', 'wild.test', '127.0.0.1'])('unknown host %s -> 404', async (host) => {
    const { status, text } = await caddy.get(host)
    expect({ status, text }).toEqual({ status: 404, text: 'Nothing is served here.\n' })
  })

  it('another port -> its own endpoints', async () => {
    expect(seen(await caddy.get('second-port.test')).name).toBe('two')
    expect(seen(await caddy.get('plain.test')).name).toBe('one')
  })

  it('request -> the application learns who asked for what, and no lie of the client', async () => {
    const { headers } = seen(
      await caddy.get('plain.test', { headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' } }),
    )
    expect(headers).toMatchObject({
      host: 'plain.test',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'plain.test',
    })
  })
})

describe('redirect', () => {
  it.each([
    ['/', 307, 'https://shop.example.com/'],
    ['/a/b?c={d}', 307, 'https://shop.example.com/a/b?c={d}'],
    ['/for-ever/x?y', 308, 'https://shop.example.com/for-ever/x?y'],
    ['/there/x', 307, 'https://shop.example.com/new/%7Bhttp.request.host%7D?q={env.PATH}'],
  ])('%s -> %i %s', async (path, status, location) => {
    const answer = await caddy.get('moved.test', { path })
    expect({ status: answer.status, location: answer.headers.location }).toEqual({ status, location })
  })
})

describe('access', () => {
  it.each([
    ['none', 401, {}],
    ['right', 200, basic('ann', 'secret')],
    ['right again, from the cache', 200, basic('ann', 'secret')],
    ['wrong', 401, basic('ann', 'other')],
    ['unknown', 401, basic('bob', 'secret')],
    ['only the start of a name', 401, basic('an', 'secret')],
    ['more than a name', 401, basic('annn', 'secret')],
    ['a name of all kinds of bytes', 200, basic('jürgen>>>???', 'secret')],
    ['another spelling of the scheme', 200, { headers: { authorization: `bASIC ${btoa('ann:secret')}` } }],
    ['no base64', 401, { headers: { authorization: 'Basic ann:secret' } }],
    ['another scheme', 401, { headers: { authorization: 'Bearer YW5uOnNlY3JldA==' } }],
    ['a name with braces', 200, basic('{env.HOME}', '{env.HOME}')],
    ['what the braces would have meant', 401, basic('/root', '{env.HOME}')],
  ])('credentials: %s -> %i', async (_name, status, question) => {
    const answer = await caddy.get('private.test', question as Question)
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Basic /)
  })

  it('unknown users -> cost no hash of the dear kind that Caddy would compare with', async () => {
    const began = performance.now()
    for (let i = 0; i < 20; i++) expect((await caddy.get('private.test', basic(`bob${i}`, String(i)))).status).toBe(401)
    expect(performance.now() - began).toBeLessThan(5_000)
  })

  it('allowed addresses -> everybody else gets 403', async () => {
    expect((await caddy.get('inside.test')).status).toBe(200)
    expect((await caddy.get('outside.test')).status).toBe(403)
    expect((await caddy.get('outside.test', { headers: { 'x-forwarded-for': '192.0.2.7' } })).status).toBe(403)
  })
})

describe('requests and answers', () => {
  it('headers -> set and removed, every text as it is', async () => {
    const answer = await caddy.get('headers.test', { headers: { 'x-removed': 'here', 'x-set': 'before' } })
    expect(seen(answer).headers).toMatchObject({
      'x-set': braces,
      'x-twice': 'a,b',
      host: 'other.test:8080',
      'x-forwarded-proto': 'gopher',
    })
    expect(seen(answer).headers['x-removed']).toBeUndefined()
    expect(answer.headers).toMatchObject({ 'x-set': braces, server: 'mine' })
    expect(answer.headers['x-powered-by']).toBeUndefined()
    expect((await caddy.get('plain.test')).headers['x-powered-by']).toBe('upstream')
  })

  it.each([
    ['10 bytes', 200, { 'content-length': '10' }, '0123456789'],
    ['11 bytes', 413, { 'content-length': '11' }, '0123456789a'],
    ['11 bytes of unsaid length', 413, { 'transfer-encoding': 'chunked' }, '0123456789a'],
  ])('body of %s -> %i', async (_name, status, headers, body) => {
    expect((await caddy.get('small.test', { method: 'POST', headers, body })).status).toBe(status)
  })

  it.each(['gzip', 'zstd'])('compression -> %s for who takes it', async (coding) => {
    const headers = { 'accept-encoding': coding }
    expect((await caddy.get('compressed.test', { path: '/big', headers })).headers['content-encoding']).toBe(coding)
    expect((await caddy.get('compressed.test', { path: '/big' })).headers['content-encoding']).toBeUndefined()
    expect((await caddy.get('plain.test', { path: '/big', headers })).headers['content-encoding']).toBeUndefined()
  })

  it.each([
    ['impatient.test', '/late?ms=3000', 504],
    ['half-open.test', '/late?ms=3000', 504],
    ['patient.test', '/late?ms=1000', 200],
    ['plain.test', '/late?ms=1000', 200],
  ])('%s%s -> %i', async (host, path, status) => {
    const answer = await caddy.get(host, { path, method: 'POST' })
    expect({ status: answer.status, retry: answer.headers['retry-after'] }).toEqual({ status, retry: undefined })
  })

  it('application that hangs up -> 502, not the 503 of one that is away', async () => {
    const answer = await caddy.get('plain.test', { path: '/hang-up', method: 'POST' })
    expect({ status: answer.status, retry: answer.headers['retry-after'] }).toEqual({ status: 502, retry: undefined })
  })
})

describe('balancing', () => {
  const names = async (host: string, count: number, headers: Record<string, string> = {}) => {
    const answers: string[] = []
    for (let i = 0; i < count; i++) answers.push(seen(await caddy.get(host, { headers })).name)
    return answers
  }

  beforeAll(() =>
    caddy.setEndpoints(
      'app_all',
      upstreams.map((u) => u.dial),
    ),
  )
  afterAll(() => caddy.setEndpoints('app_all', [upstreams[0]!.dial]))

  it('round-robin -> everybody the same', async () => {
    const asked = await names('turns.test', 12)
    expect(UPSTREAMS.map((name) => asked.filter((n) => n === name).length)).toEqual([4, 4, 4])
  })

  it.each(['plain.test', 'least.test', 'random.test'])('%s -> everybody some', async (host) => {
    expect(new Set(await names(host, 60)).size).toBe(3)
  })

  it('ip-hash -> one address, one instance', async () => {
    expect(new Set(await names('hashed.test', 12)).size).toBe(1)
  })

  it('cookie -> who brings it stays where it was', async () => {
    const first = await caddy.get('sticky.test')
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
    expect(cookie).toMatch(/^seat=/)
    expect(new Set(await names('sticky.test', 12, { cookie }))).toEqual(new Set([seen(first).name]))
    expect(new Set(await names('sticky.test', 12)).size).toBe(3)
  })
})

describe('an application that cannot be reached', () => {
  afterAll(() => caddy.setEndpoints('app_all', [upstreams[0]!.dial]))

  it.each([
    ['slots at the responder', [unavailableDial]],
    ['a port that nobody listens on', ['127.0.0.1:1']],
    ['an address that swallows everything', ['192.0.2.1:80']],
    ['a name that does not exist', ['nowhere.invalid:80']],
    ['no address at all', ['what is this']],
    ['an empty file', ['']],
  ])('%s -> 503 and when to come back', async (_name, dials) => {
    await caddy.setEndpoints('app_all', dials)
    for (const method of ['GET', 'POST']) {
      const answer = await caddy.get('plain.test', { method })
      expect({ status: answer.status, retry: answer.headers['retry-after'] }).toEqual({ status: 503, retry: '5' })
      expect(answer.text).toContain('No instance of this application is ready')
    }
  })

  it('files that are missing -> 503, over TLS too', async () => {
    await load(render([everything(), target('app_new', [{ host: 'new.test' }, { host: 'new-inner.test', tls: 'internal' }])]))
    const answers = [await caddy.get('new.test'), await eventuallySecure('new-inner.test')]
    for (const { status, headers } of answers)
      expect({ status, retry: headers['retry-after'] }).toEqual({ status: 503, retry: '5' })
  })

  it('some slots refused -> another one answers', async () => {
    await caddy.setEndpoints('app_all', ['127.0.0.1:1', upstreams[2]!.dial])
    for (let i = 0; i < 6; i++) expect((await caddy.get('plain.test', { method: 'POST', body: 'x' })).status).toBe(200)
  })
})

function encryptedKey(pem: string, type: 'sec1' | 'pkcs8'): string {
  return createPrivateKey(pem).export({ type, format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString()
}

let certificates = 0

/** In a file of another name each time, or Caddy would see the same configuration. */
async function loadWithCertificate(pem: string): Promise<Answer> {
  const version = ++certificates
  const bad = target('app_bad', [{ host: 'bad.test', tls: 'certificate', certificate: 'junk' }], {
    secretVersions: { junk: version },
  })
  const { config, secrets } = render([everything(), bad])
  for (const { file } of secrets) await caddy.setSecret(file, pem)
  return caddy.load(config)
}

/** Certificates are made in the background after a load. */
async function eventuallySecure(host: string, question: Question = {}): Promise<Answer> {
  let answer: Answer | undefined
  await expect
    .poll(async () => (answer = await caddy.getSecure(host, roots, question).catch(() => undefined))?.status)
    .toBeDefined()
  return answer!
}

function certificateOf(servername: string | undefined): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: caddy.httpsPort,
      rejectUnauthorized: false,
      ...(servername ? { servername } : {}),
    })
    socket.on('error', reject)
    socket.on('secureConnect', () => {
      const names = socket.getPeerCertificate().subjectaltname ?? ''
      socket.destroy()
      resolve(names.split(', '))
    })
  })
}

describe('TLS', () => {
  beforeAll(() => load(render([everything()])))

  it.each(['inner.test', 'a.inner.test', 'mixed.test'])(
    'internal: %s -> its certificate, from the internal authority',
    async (host) => {
      const answer = await eventuallySecure(host)
      expect(seen(answer).headers).toMatchObject({ host, 'x-forwarded-proto': 'https' })
    },
  )

  it.each([
    ['inner.test', '/a?b={c}', '/a?b={c}'],
    ['a.inner.test', '/', '/'],
    ['mixed.test', '/opened', '/opened'],
  ])('plain request for %s%s -> sent to https', async (host, path, uri) => {
    const answer = await caddy.get(host, { path })
    expect({ status: answer.status, location: answer.headers.location }).toEqual({
      status: 308,
      location: `https://${host}:${caddy.httpsPort}${uri}`,
    })
  })

  it('path without TLS on a host with it -> plain', async () => {
    expect((await caddy.get('mixed.test', { path: '/open/x' })).status).toBe(200)
  })

  it('host without TLS -> no certificate', async () => {
    await expect(caddy.getSecure('plain.test', roots)).rejects.toThrow()
  })

  it('own certificate -> that one, whatever else is loaded or made', async () => {
    await eventuallySecure('own.test')
    const pem = await caddy.madeCertificate('own.test')
    const own = target(
      'app_own',
      [
        { host: 'given.test', tls: 'certificate', certificate: 'wrong-name' },
        { host: '*.given.test', tls: 'certificate', certificate: 'wild' },
        { host: 'made.given.test', tls: 'internal' },
      ],
      {
        secretVersions: { 'wrong-name': 3, wild: 1 },
      },
    )
    const rendered = render([everything(), own])
    await caddy.setEndpoints('app_own', [upstreams[0]!.dial])
    await load(rendered, { 'wrong-name': pem, wild: pem })
    expect(rendered.secrets.map((s) => s.file)).toEqual(['app_own-wild-1.pem', 'app_own-wrong-name-3.pem'])
    expect(await certificateOf('given.test')).toEqual(['DNS:own.test'])
    expect(await certificateOf('any.given.test')).toEqual(['DNS:own.test'])
    expect(seen(await eventuallySecure('made.given.test')).headers['host']).toBe('made.given.test')
    await load(render([everything()]))
  })
})

describe('settings', () => {
  afterAll(() => load(render([everything()])))

  it('default host -> answers for hosts that nobody has, and for clients that name none', async () => {
    await load(render([everything()], { defaultHost: 'inner.test' }))
    expect((await caddy.get('nobody.test', { path: '/x' })).headers.location).toBe(`https://inner.test:${caddy.httpsPort}/x`)
    await eventuallySecure('inner.test')
    expect(await certificateOf(undefined)).toEqual(['DNS:inner.test'])
    expect(await certificateOf('nobody.test')).toEqual(['DNS:inner.test'])
    await load(render([everything()], { defaultHost: 'plain.test' }))
    expect(seen(await caddy.get('nobody.test')).headers['host']).toBe('nobody.test')
  })

  it('trusted proxies -> their client is the one that is meant', async () => {
    await load(render([everything()], { trustedProxies: ['127.0.0.1'] }))
    const from = (address: string): Question => ({ headers: { 'x-forwarded-for': address } })
    expect((await caddy.get('outside.test', from('192.0.2.7'))).status).toBe(200)
    expect((await caddy.get('outside.test', from('192.0.2.7, 198.51.100.1'))).status).toBe(403)
    expect((await caddy.get('inside.test', from('198.51.100.1'))).status).toBe(403)
  })

  it('trusted proxy that has TLS already -> served, not sent round in circles', async () => {
    await load(render([everything()], { trustedProxies: ['127.0.0.1'] }))
    const answer = await caddy.get('inner.test', { headers: { 'x-forwarded-proto': 'https' } })
    expect(answer.status).toBe(200)
    expect(seen(answer).headers['x-forwarded-proto']).toBe('https')
    expect((await caddy.get('inner.test', { headers: { 'x-forwarded-proto': 'http' } })).status).toBe(308)
  })

  it('HTTP/3 -> offered only when asked for', async () => {
    expect((await eventuallySecure('inner.test')).headers['alt-svc']).toBeUndefined()
    await load(render([everything()], { http3: true }))
    expect((await eventuallySecure('inner.test')).headers['alt-svc']).toContain(`h3=":${caddy.httpsPort}"`)
  })
})

describe('loads and restarts', () => {
  it('configuration that Caddy refuses -> the one before serves, and the admin socket stays', async () => {
    const { status, text } = await loadWithCertificate('no certificate')
    expect(status).toBe(400)
    expect(text).toContain('failed to find any PEM data')
    expect((await caddy.get('plain.test')).status).toBe(200)
  })

  it('own certificates -> Caddy refuses those, and only those, of which we say so', async () => {
    await eventuallySecure('own.test')
    await eventuallySecure('inner.test')
    const [pem, other] = [await caddy.madeCertificate('own.test'), await caddy.madeCertificate('inner.test')]
    const key = pem.slice(pem.indexOf('-----BEGIN EC'))
    const chain = pem.slice(0, pem.indexOf('-----BEGIN EC'))
    const texts = {
      'chain and key': pem,
      'key and chain': `${key}\n${chain}`,
      'key as PKCS 8': chain + createPrivateKey(key).export({ type: 'pkcs8', format: 'pem' }).toString(),
      'line ends of Windows': pem.replaceAll('\n', '\r\n'),
      'words between': `my certificate\n${pem}\nand its end`,
      'leaf alone': chain.slice(0, chain.indexOf('-----END') + 26) + key,
      empty: '',
      'no certificate': key,
      'no key': chain,
      'key of another': chain + other.slice(other.indexOf('-----BEGIN EC')),
      'chain the wrong way round': chain.slice(chain.indexOf('-----END') + 26) + pem,
      'encrypted key': chain + encryptedKey(key, 'pkcs8'),
      'encrypted key of the old kind': chain + encryptedKey(key, 'sec1'),
      'cut in the middle': pem.slice(0, 300),
      'letters lost': pem.replace('MII', 'AAA'),
      'key with letters lost': chain + key.replace('MHcC', 'AAAA'),
    }
    const taken: string[] = []
    for (const [name, text] of Object.entries(texts)) {
      const { status } = await loadWithCertificate(text)
      const problem = ownCertificateProblem(text)
      expect({ name, problem, refused: status !== 200 }).toEqual({ name, problem, refused: problem !== null })
      if (problem === null) taken.push(name)
    }
    expect(taken).toEqual(Object.keys(texts).slice(0, 6))
    await load(render([everything()]))
  })

  it('open WebSocket -> survives loads of other domains', async () => {
    await caddy.setEndpoints('app_all', [upstreams[0]!.dial])
    const socket = new WebSocket(`ws://127.0.0.1:${caddy.httpPort}/`, { headers: { host: 'plain.test' } })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const echo = (text: string) =>
      new Promise<string>((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) return reject(new Error('closed'))
        socket.once('message', (data: Buffer) => resolve(data.toString('utf8'))).once('close', () => reject(new Error('closed')))
        socket.send(text)
      })
    expect(await echo('before')).toBe('one: before')
    for (const host of ['x.test', 'y.test']) await load(render([everything(), target('app_x', [{ host }])]))
    expect(await echo('after')).toBe('one: after')
    socket.terminate()
  })

  it('killed and started again -> serves without anybody telling it anything, also its own 503', async () => {
    await load(render([everything()]))
    await caddy.kill()
    await caddy.up()
    expect(seen(await caddy.get('plain.test')).name).toBe('one')
    expect((await eventuallySecure('inner.test')).status).toBe(200)
    await caddy.setEndpoints('app_all', [])
    const answer = await caddy.get('plain.test')
    expect({ status: answer.status, retry: answer.headers['retry-after'] }).toEqual({ status: 503, retry: '5' })
  })
})
