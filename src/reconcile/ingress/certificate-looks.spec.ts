import { describe, expect, it } from 'vitest'
import { epoch } from '../testing/application-world.js'
import { domainOf, ingressDesiredOf, pending, targetOf, wellOf } from '../testing/ingress-world.js'
import { certificateRecords, hostsAtOnce, hostsToLookAt, lookAgainMs } from './certificate-looks.js'
import type { DomainState } from './desired.js'

const second = 1_000
const minute = 60_000
const hour = 3_600_000
const day = 24 * hour

type Seen = NonNullable<DomainState['certificate']>

const seen = (ageMs: number, change: Partial<Seen> = {}): Partial<DomainState> => ({
  certificate: { issuer: 'CA', notAfter: epoch + 90 * day, error: null, seenAt: epoch - ageMs, ...change },
})
/** Nothing is shown for a host, which was claimed so long ago. */
const missing = (claimedAgoMs: number, seenAgoMs = 0): Partial<DomainState> => ({
  changedAt: epoch - claimedAgoMs,
  ...seen(seenAgoMs, { issuer: null, notAfter: null, error: 'there is no certificate yet' }),
})

const looks: { it: string; domain: Partial<DomainState>; ms: number }[] = [
  { it: 'never looked at -> a second: Caddy is about to make one', domain: { certificate: null }, ms: second },
  { it: 'three months to go -> half a day', domain: seen(0), ms: day / 2 },
  { it: 'three months to go, seen an hour ago -> half a day after that', domain: seen(hour), ms: day / 2 - hour },
  { it: 'twelve hours to go -> half of them', domain: seen(0, { notAfter: epoch + 12 * hour }), ms: 6 * hour },
  { it: 'a minute to go -> ten minutes: not ever more often', domain: seen(0, { notAfter: epoch + minute }), ms: 10 * minute },
  { it: 'expired -> ten minutes', domain: seen(0, { notAfter: epoch - day }), ms: 10 * minute },
  { it: 'expired, seen an hour ago -> now', domain: seen(hour, { notAfter: epoch - day }), ms: second },
  { it: 'overdue by weeks -> now', domain: seen(60 * day), ms: second },
  { it: 'missing, claimed now -> a second', domain: missing(0), ms: second },
  { it: 'missing for a minute -> six seconds', domain: missing(minute), ms: 6 * second },
  {
    it: 'missing for a minute, looked at two seconds ago -> what is left',
    domain: missing(62 * second, 2 * second),
    ms: 4 * second,
  },
  { it: 'missing for a week -> five minutes', domain: missing(7 * day), ms: 5 * minute },
  {
    it: 'there, but its renewal fails -> as one that is missing',
    domain: { ...seen(0, { error: 'rate limited' }), changedAt: epoch - 7 * day },
    ms: 5 * minute,
  },
  { it: 'claimed in the future, by another clock -> a second', domain: missing(-hour), ms: second },
  { it: 'seen in the future, by another clock -> at most so much later', domain: seen(-minute), ms: day / 2 + minute },
]

describe('lookAgainMs', () => {
  it.each(looks)('$it', ({ domain, ms }) =>
    expect(lookAgainMs(ingressDesiredOf({ domains: [domainOf('a.test', domain)] }), epoch)).toBe(ms),
  )

  it('nothing has a certificate -> never', () => {
    expect(lookAgainMs(ingressDesiredOf({ domains: [] }), epoch)).toBeNull()
    expect(lookAgainMs(ingressDesiredOf({ spec: { defaultTls: 'off' } }), epoch)).toBeNull()
  })

  it('several -> the first of them', () => {
    const domains = [domainOf('a.test', seen(0)), domainOf('b.test', missing(minute)), domainOf('c.test', seen(hour))]
    expect(lookAgainMs(ingressDesiredOf({ domains }), epoch)).toBe(6 * second)
  })

  it('any age of anything -> a wait that is a number, at least a second and at most a day', () => {
    const spans = [0, 1, 999, minute, hour, 400 * day, 40_000 * day]
    const waits = spans.flatMap((a) =>
      spans.flatMap((b) =>
        [seen(a, { notAfter: epoch + b }), seen(a, { notAfter: epoch - b }), missing(a, b), missing(b, a)].map((domain) =>
          lookAgainMs(ingressDesiredOf({ domains: [domainOf('a.test', domain)] }), epoch),
        ),
      ),
    )
    expect(waits.filter((ms) => !Number.isFinite(ms) || (ms ?? 0) < second || (ms ?? 0) > day)).toEqual([])
  })
})

describe('hostsToLookAt', () => {
  const asked = (...domains: DomainState[]) => hostsToLookAt(ingressDesiredOf({ domains }))

  it('those that are due first -> first, never looked at before all', () => {
    const hosts = asked(
      domainOf('well.test', seen(minute)),
      domainOf('failing.test', missing(minute, second)),
      domainOf('new.test', pending(0)),
      domainOf('old.test', seen(13 * hour)),
    )
    expect(hosts).toEqual(['new.test', 'old.test', 'failing.test', 'well.test'])
  })

  it('two paths of a host -> one look', () =>
    expect(asked(domainOf('a.test'), domainOf('a.test', { path: '/api' }))).toEqual(['a.test']))

  it('a host that nobody has any more -> none', () => {
    const target = targetOf('app_web', [{ host: 'a.test' }])
    expect(hostsToLookAt(ingressDesiredOf({ domains: [domainOf('a.test'), domainOf('gone.test')], targets: [target] }))).toEqual([
      'a.test',
    ])
  })

  it('off on one path and not on the other -> it has a certificate', () => {
    const target = targetOf('app_web', [
      { host: 'a.test', tls: 'off' },
      { host: 'a.test', path: '/api' },
    ])
    const domains = [domainOf('a.test'), domainOf('a.test', { path: '/api' })]
    expect(hostsToLookAt(ingressDesiredOf({ domains, targets: [target] }))).toEqual(['a.test'])
  })

  it('one that fails among a thousand that are well -> is among those that are looked at when it is due', () => {
    const well = Array.from({ length: 1_000 }, (_, i) => domainOf(`d${i}.test`, seen(hour)))
    expect(asked(...well, domainOf('failing.test', missing(minute, 6 * second)))).toContain('failing.test')
  })

  it('a thousand, looked at when it is time -> each in turn, a few at once, and none again before its time', () => {
    let desired = ingressDesiredOf({ domains: Array.from({ length: 1_000 }, (_, i) => domainOf(`d${i}.test`, pending(0))) })
    const looked = new Map<string, number>()
    let passes = 0
    for (let now = epoch; now < epoch + 2 * minute; now += lookAgainMs(desired, now) ?? Infinity, passes++) {
      const hosts = hostsToLookAt(desired)
      expect(hosts.length).toBeLessThanOrEqual(hostsAtOnce)
      const at = now
      for (const host of hosts) looked.set(host, (looked.get(host) ?? 0) + 1)
      const shown = new Set(hosts)
      desired = { ...desired, domains: desired.domains.map((d) => (shown.has(d.host) ? { ...d, certificate: wellOf(at) } : d)) }
    }
    expect(passes).toBe(1_000 / hostsAtOnce)
    expect([...looked.values()].every((times) => times === 1)).toBe(true)
    expect(looked.size).toBe(1_000)
  })
})

describe('certificateRecords', () => {
  const { seenAt: _, ...shown } = wellOf(epoch)
  const records = (domain: Partial<DomainState>, now = epoch) =>
    certificateRecords(ingressDesiredOf({ domains: [domainOf('a.test', domain)] }), { 'a.test': shown }, now)
  const kept = { certificate: { ...shown, seenAt: epoch - 500 } }

  it.each([
    { it: 'never seen -> kept', domain: { certificate: null }, news: true },
    { it: 'the same a moment ago -> no record', domain: kept, news: false },
    {
      it: 'the same some time ago -> kept: when it was looked at counts',
      domain: { certificate: { ...kept.certificate, seenAt: epoch - second } },
      news: true,
    },
    { it: 'another issuer -> kept', domain: { certificate: { ...kept.certificate, issuer: 'other' } }, news: true },
    { it: 'renewed -> kept', domain: { certificate: { ...kept.certificate, notAfter: 1 } }, news: true },
    { it: 'an error that is over -> kept', domain: { certificate: { ...kept.certificate, error: 'was' } }, news: true },
  ])('$it', ({ domain, news }) =>
    expect(records(domain)).toEqual(news ? [{ type: 'certificate', host: 'a.test', certificate: shown }] : []),
  )

  it('a host that nobody has any more -> no record', () =>
    expect(certificateRecords(ingressDesiredOf({ domains: [] }), { 'a.test': shown }, epoch)).toEqual([]))
})
