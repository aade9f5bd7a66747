import fc from 'fast-check'
import type { IngressSpec, IngressTarget } from '../ingress/spec.js'
import { anyDomain, nasty } from './any-domain.js'

/** Applications with domains of all sorts, some of which exclude each other. */
export const anyTargets = fc.uniqueArray(
  fc.record({
    resource: fc.stringMatching(/^app_[a-z0-9]{1,4}$/),
    title: nasty,
    domains: fc.array(anyDomain, { maxLength: 4 }),
    ports: fc.constantFrom<number[][]>([], [8080], [8080, 9090], [9090, 8080]),
    dial: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, fc.constant('127.0.0.1:9000'), nasty),
    secretVersions: fc.constantFrom<Record<string, number>[]>({}, { mine: 3 }),
  }),
  { selector: (target: IngressTarget) => target.resource, maxLength: 5 },
)

export const anySettings: fc.Arbitrary<IngressSpec> = fc.record(
  {
    httpsPort: fc.constantFrom(443, 8443),
    defaultTls: fc.constantFrom('internal', 'acme', 'off'),
    defaultHost: fc.constantFrom('a.a.test', '*.a.test', 'nobody.test'),
    trustedProxies: fc.constantFrom<string[][]>([], ['10.0.0.0/8']),
    http3: fc.boolean(),
  },
  { requiredKeys: [] },
)
