import { describe, expect, it } from 'vitest'
import type { DomainState } from '../ingress/desired.js'
import { epoch, inputOf, specOf } from '../testing/application-world.js'
import { domainOf, pending } from '../testing/ingress-world.js'
import { applicationReasons } from './conditions.js'
import { routingOf } from './routing.js'
import type { ApplicationSpec } from './spec.js'
import { worldOf } from './world.js'

const day = 86_400_000
type Certificate = NonNullable<DomainState['certificate']>

const certificate = (change: Partial<Certificate> = {}): Partial<DomainState> => ({
  certificate: { issuer: 'CA', notAfter: epoch + day, error: null, seenAt: epoch, ...change },
})
const unrouted = (reason: string, message = `because of ${reason}`): Partial<DomainState> => ({ routed: false, reason, message })

function conditionsOf(domains: DomainState[], { spec, deleting = false }: { spec?: Partial<ApplicationSpec>; deleting?: boolean } = {}) {
  const input = inputOf({ spec: specOf(spec), deleting })
  return routingOf(worldOf({ ...input, desired: { ...input.desired, domains } }))
}

interface Row {
  it: string
  domains: DomainState[]
  routed: string | null
  certificate: string | null
  says?: string
}

const rows: Row[] = [
  { it: 'no domain -> nothing is told', domains: [], routed: null, certificate: null },
  { it: 'routed, not looked at yet -> Routed', domains: [domainOf('a.test', { certificate: null })], routed: 'True Routed', certificate: null, says: 'a.test/' },
  { it: 'new -> waits for an ingress', domains: [domainOf('a.test', pending(0))], routed: 'False Pending', certificate: null, says: 'no ingress of its node' },
  ...(['InvalidRoute', 'HostTaken', 'CertificateMissing', 'Refused', 'ConfigRefused'] as const).map((reason) => ({
    it: `${reason} -> told, with its message`,
    domains: [domainOf('a.test'), domainOf('b.test', { ...unrouted(reason), certificate: null })],
    routed: `False ${reason}`,
    certificate: 'True Issued',
    says: `b.test/: because of ${reason}`,
  })),
  { it: 'one waits and one is wrong -> what is wrong is the reason', domains: [domainOf('a.test', pending(0)), domainOf('b.test', { ...unrouted('HostTaken'), certificate: null })], routed: 'False HostTaken', certificate: null },
  { it: 'all certificates well -> Issued', domains: [domainOf('a.test', certificate())], routed: 'True Routed', certificate: 'True Issued', says: 'by CA until' },
  { it: 'one is not there -> missing, with what was said', domains: [domainOf('a.test', certificate()), domainOf('b.test', certificate({ notAfter: null, issuer: null, error: 'none yet' }))], routed: 'True Routed', certificate: 'False CertificateMissing', says: 'b.test: none yet' },
  { it: 'one has expired, another is missing -> expired is worse', domains: [domainOf('a.test', certificate({ notAfter: epoch })), domainOf('b.test', certificate({ notAfter: null }))], routed: 'True Routed', certificate: 'False CertificateExpired', says: 'a.test: by CA until' },
  { it: 'there, but its renewal fails -> still True: it serves', domains: [domainOf('a.test', certificate({ error: 'rate limited' }))], routed: 'True Routed', certificate: 'True RenewalFailing', says: 'rate limited' },
]

describe('routingOf', () => {
  it.each(rows)('$it', ({ domains, routed, certificate: expected, says }) => {
    const conditions = conditionsOf(domains)
    const told = (type: string) => conditions.filter((c) => c.type === type).map((c) => `${c.status} ${c.reason}`)
    expect(told('Routed')).toEqual(routed === null ? [] : [routed])
    expect(told('CertificateReady')).toEqual(expected === null ? [] : [expected])
    if (says !== undefined) expect(conditions.map((c) => c.message).join('\n')).toContain(says)
  })

  it.each(['Routed', 'CertificateReady'] as const)('%s -> each reason that is listed is given, and none that is not', (type) => {
    const given = rows.flatMap((row) => conditionsOf(row.domains)).filter((c) => c.type === type)
    expect(new Set(given.map((c) => c.reason))).toEqual(new Set(applicationReasons[type]))
  })

  it('being deleted -> nothing is told any more', () => expect(conditionsOf([domainOf('a.test')], { deleting: true })).toEqual([]))

  it('a host without TLS -> nobody waits for its certificate, though one was seen before', () => {
    const domains = [domainOf('a.test', certificate({ notAfter: epoch - 1 }))]
    expect(conditionsOf(domains, { spec: { domains: [{ host: 'a.test', tls: 'off' }] } }).map((c) => c.type)).toEqual(['Routed'])
  })

  it('off on one path of a host and not on the other -> its certificate counts', () => {
    const domains = [domainOf('a.test', certificate()), domainOf('a.test', { path: '/api', ...certificate() })]
    const spec = { domains: [{ host: 'a.test', tls: 'off' as const }, { host: 'a.test', path: '/api' }] }
    expect(conditionsOf(domains, { spec }).map((c) => c.type)).toEqual(['Routed', 'CertificateReady'])
  })

  it('a thousand -> some are named and the rest counted, in a message that a person reads', () => {
    const domains = Array.from({ length: 1_000 }, (_, i) => domainOf(`d${i}.test`, { path: i % 2 ? '/' : '/api' }))
    for (const { message } of conditionsOf(domains)) {
      expect(message).toContain('and 995 more')
      expect(message.length).toBeLessThan(1_000)
    }
  })
})
