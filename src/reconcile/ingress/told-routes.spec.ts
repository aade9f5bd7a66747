import { describe, expect, it } from 'vitest'
import { applicationReasons } from '../application/conditions.js'
import { domainOf, ingressDesiredOf, pending } from '../testing/ingress-world.js'
import type { DomainState } from './desired.js'
import type { LeftOut } from './spec.js'
import { routeRecords } from './told-routes.js'

const applied = { applied: true, failure: null }
const waiting = { applied: false, failure: null }
const failed = { applied: false, failure: 'no such module' }

function leftOutOf(reason: LeftOut['reason'], change: Partial<LeftOut> = {}): LeftOut {
  return { resource: 'app_web', host: 'a.test', path: '/', reason, message: `because of ${reason}`, ...change }
}

const routed = domainOf('a.test')
const fresh = domainOf('a.test', pending(0))
const refused = domainOf('a.test', { routed: false, reason: 'ConfigRefused', message: 'no such module' })
const invalid = domainOf('a.test', { routed: false, reason: 'InvalidRoute', message: 'because of InvalidRoute' })

interface Row {
  it: string
  domain: DomainState
  leftOut?: LeftOut[]
  config: { applied: boolean; failure: string | null }
  told: string | null
}

const rows: Row[] = [
  { it: 'loaded, told before -> no news', domain: routed, config: applied, told: null },
  { it: 'loaded, new -> routed', domain: fresh, config: applied, told: 'true Routed ' },
  { it: 'loaded, refused before -> routed', domain: refused, config: applied, told: 'true Routed ' },
  { it: 'loaded, could not be served before -> routed', domain: invalid, config: applied, told: 'true Routed ' },
  ...(['InvalidRoute', 'HostTaken', 'CertificateMissing', 'Refused'] as const).map((reason) => ({
    it: `loaded without it, ${reason} -> told, though it was routed`,
    domain: routed,
    leftOut: [leftOutOf(reason)],
    config: applied,
    told: `false ${reason} because of ${reason}`,
  })),
  {
    it: 'loaded without it, told before -> no news',
    domain: invalid,
    leftOut: [leftOutOf('InvalidRoute')],
    config: applied,
    told: null,
  },
  {
    it: 'loaded without it, for another reason than before -> told',
    domain: invalid,
    leftOut: [leftOutOf('HostTaken')],
    config: applied,
    told: 'false HostTaken because of HostTaken',
  },
  {
    it: 'the same host is left out of another one -> nothing of this one',
    domain: fresh,
    leftOut: [leftOutOf('HostTaken', { resource: 'app_other' })],
    config: applied,
    told: 'true Routed ',
  },
  {
    it: 'another path of the host is left out -> nothing of this one',
    domain: fresh,
    leftOut: [leftOutOf('HostTaken', { path: '/api' })],
    config: applied,
    told: 'true Routed ',
  },
  {
    it: 'a path in other letters -> is the same path',
    domain: domainOf('a.test', { path: '/API' }),
    leftOut: [leftOutOf('HostTaken', { path: '/api' })],
    config: applied,
    told: 'false HostTaken because of HostTaken',
  },
  {
    it: 'not loaded yet -> the one before serves: no news of what is routed',
    domain: routed,
    leftOut: [leftOutOf('InvalidRoute')],
    config: waiting,
    told: null,
  },
  { it: 'not loaded yet, new -> waits', domain: fresh, config: waiting, told: null },
  { it: 'refused, routed before -> the one before serves it', domain: routed, config: failed, told: null },
  { it: 'refused, new -> told', domain: fresh, config: failed, told: 'false ConfigRefused no such module' },
  { it: 'refused, told before -> no news', domain: refused, config: failed, told: null },
  {
    it: 'refused for another reason -> told',
    domain: { ...refused, message: 'older' },
    config: failed,
    told: 'false ConfigRefused no such module',
  },
]

describe('routeRecords', () => {
  it.each(rows)('$it', ({ domain, leftOut = [], config, told }) => {
    const records = routeRecords(ingressDesiredOf({ domains: [domain] }), { leftOut }, config)
    const texts = records.map((r) => (r.type === 'route' ? `${r.routed} ${r.reason} ${r.message}` : r.type))
    expect(texts).toEqual(told === null ? [] : [told])
    for (const record of records)
      expect(record).toMatchObject({ resource: domain.resource, host: domain.host, path: domain.path })
  })

  it('every reason that an application lists -> is told in some row, or is how a domain starts', () => {
    const reasons = rows.flatMap((r) => (r.told === null ? [] : [r.told.split(' ')[1] ?? '']))
    expect(new Set([...reasons, fresh.reason])).toEqual(new Set(applicationReasons.Routed))
  })

  it('a thousand, a third of them new, a third left out -> one record for each of those', () => {
    const domains = Array.from({ length: 1_000 }, (_, i) => domainOf(`d${i}.test`, i % 3 === 1 ? pending(0) : {}))
    const leftOut = domains.filter((_, i) => i % 3 === 2).map(({ host }) => leftOutOf('InvalidRoute', { host }))
    const records = routeRecords(ingressDesiredOf({ domains }), { leftOut }, applied)
    expect(records).toHaveLength(333 + 333)
    expect(new Set(records.map((r) => r.type === 'route' && r.host)).size).toBe(666)
  })
})
