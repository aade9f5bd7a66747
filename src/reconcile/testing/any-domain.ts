import fc from 'fast-check'
import { balancingPolicies, domainSchema, tlsModes, type Domain } from '../ingress/domain.js'

/** Texts that some program on the way might take for more than characters. */
export const nasty = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc
    .array(fc.constantFrom('{', '}', '\\', '{env.PATH}', '{http.request.host}', '"', '${X}', 'a', ' ', '%7B'), { maxLength: 8 })
    .map((parts) => parts.join('')),
)
const labels = fc.constantFrom('a', 'b', 'münchen', 'x-1', '*')
const host = fc
  .tuple(labels, fc.constantFrom('a.test', 'b.example.com', 'c.localhost'))
  .map(([label, rest]) => `${label}.${rest}`)
const path = fc.oneof(
  fc.constant('/'),
  fc
    .array(fc.constantFrom('a', 'Api', 'v2', '%C3%A9', "x;y'z"), { minLength: 1, maxLength: 3 })
    .map((parts) => `/${parts.join('/')}`),
)
const headers = (...names: string[]) =>
  fc.array(fc.record({ name: fc.constantFrom(...names), value: nasty }, { requiredKeys: ['name'] }), { maxLength: 3 })
const passwordHash = `$2b$10$${'a'.repeat(53)}`
const users = fc.array(fc.record({ username: nasty, passwordHash: fc.constant(passwordHash) }), { minLength: 1, maxLength: 3 })
const url = fc.oneof(
  nasty,
  fc.webUrl({ withQueryParameters: true }),
  nasty.map((text) => `https://b.test/${text}`),
  nasty.map((text) => `https://b.test/?${text}`),
)
const redirect = fc.record({ to: url, permanent: fc.boolean() })

/** Mostly right, so that most of it is served. */
const proxied = {
  host,
  path,
  port: fc.constant(8080),
  tls: fc.constantFrom('internal', 'off'),
  basicAuth: users,
  requestHeaders: headers('X-A', "x!#$%&'+", 'Set-Cookie'),
  responseHeaders: headers('X-B', 'Server'),
  allowedAddresses: fc.constantFrom(['192.0.2.0/24'], ['::1', '192.0.2.1']),
  bodyLimitBytes: fc.integer({ min: 1, max: 1e9 }),
  compression: fc.boolean(),
  timeouts: fc.record({ readSeconds: fc.double({ min: 0.1, max: 86_400, noNaN: true }) }),
  balancing: fc.record({ policy: fc.constantFrom(...balancingPolicies) }),
}
/** Anything beside anything. */
const wild = {
  ...proxied,
  stripPath: fc.boolean(),
  port: fc.constantFrom(8080, 9090, 1),
  tls: fc.constantFrom(...tlsModes),
  certificate: fc.constantFrom('mine', 'other'),
  redirect,
  requestHeaders: headers('X-A', 'x-a', 'Host', 'Connection'),
  allowedAddresses: fc.constantFrom(['192.0.2.1/24'], ['::1']),
  balancing: fc.record({ policy: fc.constantFrom(...balancingPolicies), cookie: fc.constant('seat') }),
}

/** Whatever the schema lets through; two in four can be served. */
export const anyDomain = fc
  .oneof(
    { weight: 2, arbitrary: fc.record(proxied, { requiredKeys: ['host'] }) },
    fc.record({ host, path, redirect, responseHeaders: headers('X-B') }, { requiredKeys: ['host', 'redirect'] }),
    fc.record(wild, { requiredKeys: ['host'] }),
  )
  .map((given) => domainSchema.safeParse(given))
  .filter((parsed) => parsed.success)
  .map((parsed): Domain => parsed.data)
