import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySettings, anyTargets } from '../testing/any-ingress.js'
import { hostsIn, hostsOfCertificate, partsOfHosts, withoutHosts } from './config-hosts.js'
import { domainKey } from './domain.js'
import { renderCaddyConfig } from './render.js'
import type { IngressSpec, IngressTarget } from './spec.js'

const world = fc.record({ settings: anySettings, targets: anyTargets }).chain((w) => {
  const hosts = [...new Set(w.targets.flatMap((t) => t.domains.map((d) => d.host)))]
  return fc.record({ world: fc.constant(w), gone: fc.subarray(hosts) })
})
const render = ({ settings, targets }: { settings: IngressSpec; targets: IngressTarget[] }, gone: string[] = []) => {
  const domains = targets.flatMap((t) => t.domains).filter((d) => gone.includes(d.host))
  return renderCaddyConfig(settings, targets, new Map(domains.map((d) => [domainKey(d), 'refused'])))
}

describe('withoutHosts, for any domains', () => {
  it('some hosts are taken out -> exactly what is rendered of the others', () => {
    fc.assert(
      fc.property(world, ({ world, gone }) => {
        expect(withoutHosts(render(world).config, gone)).toEqual(render(world, gone).config)
      }),
      { numRuns: 500 },
    )
  })
})

describe('partsOfHosts, for any domains', () => {
  it('other hosts come and go -> the same', () => {
    fc.assert(
      fc.property(world, ({ world, gone }) => {
        const [all, rest] = [render(world).config, render(world, gone).config]
        expect(partsOfHosts(rest)).toEqual(partsOfHosts(all, hostsIn(rest)))
        expect([...partsOfHosts(all, gone).keys()].sort()).toEqual(
          hostsIn(all)
            .filter((host) => gone.includes(host))
            .sort(),
        )
      }),
    )
  })
})

describe('withoutHosts, for hosts that have to do with each other', () => {
  const domains: IngressTarget['domains'] = [
    { host: '*.shop.test', tls: 'certificate', certificate: 'wild' },
    { host: '*.blog.test', tls: 'certificate', certificate: 'wild' },
    { host: 'a.shop.test' },
    { host: 'b.shop.test', tls: 'acme' },
    { host: 'own.shop.test', tls: 'certificate', certificate: 'own' },
    { host: 'a.blog.test', path: '/api' },
    { host: 'plain.test', tls: 'off' },
    { host: 'plain.test', path: '/x', tls: 'certificate', certificate: 'own' },
  ]
  const targets: IngressTarget[] = [
    { resource: 'app_a', title: 'a', domains, ports: [80], dial: null, secretVersions: { wild: 1, own: 2 } },
  ]
  const hosts = [...new Set(domains.map((d) => d.host))]
  const subsets = hosts.reduce<string[][]>((all, host) => [...all, ...all.map((some) => [...some, host])], [[]])

  it.each([undefined, ...hosts])('the default host is %s, any of them are taken out -> exactly the rest', (defaultHost) => {
    const settings = { ...(defaultHost ? { defaultHost } : {}), trustedProxies: ['10.0.0.0/8'] }
    const whole = render({ settings, targets })
    expect(whole.leftOut).toEqual([])
    for (const gone of subsets) expect(withoutHosts(whole.config, gone)).toEqual(render({ settings, targets }, gone).config)
  })
})

describe('what a configuration says of hosts', () => {
  const target = (resource: string, domains: IngressTarget['domains'], version = 1): IngressTarget => ({
    resource,
    title: resource,
    domains,
    ports: [80],
    dial: null,
    secretVersions: { mine: version, other: 1 },
  })
  const own = (host: string, certificate = 'mine') => ({ host, tls: 'certificate' as const, certificate })
  const config = (targets: IngressTarget[], settings: IngressSpec = {}) => render({ settings, targets }).config

  it('hostsIn -> each once, with and without TLS', () => {
    const served = config([target('app_a', [{ host: 'b.test', tls: 'off' }, { host: 'a.test' }, { host: 'a.test', path: '/x' }])])
    expect(hostsIn(served)).toEqual(['a.test', 'b.test'])
    expect([hostsIn({}), hostsIn({ apps: { http: { a: 1 } } })]).toEqual([[], []])
  })

  it('hostsOfCertificate -> those that answer with it', () => {
    const served = config([target('app_a', [own('a.test'), own('*.b.test'), own('c.test', 'other'), { host: 'd.test' }])])
    expect(hostsOfCertificate(served, 'app_a-mine-1.pem')).toEqual(['a.test', '*.b.test'])
    expect(hostsOfCertificate(served, 'app_a-none-1.pem')).toEqual([])
  })

  it.each<[string, IngressTarget, IngressSpec]>([
    ['another version of its certificate', target('app_a', [own('a.test')], 2), {}],
    ['another certificate', target('app_a', [own('a.test', 'other')]), {}],
    ['another way to one', target('app_a', [{ host: 'a.test' }]), {}],
    ['another field', target('app_a', [{ ...own('a.test'), compression: true }]), {}],
    ['another path beside it', target('app_a', [own('a.test'), { ...own('a.test'), path: '/x' }]), {}],
    ['another application', target('app_b', [own('a.test')]), {}],
  ])('%s -> another part', (_, changed, settings) => {
    const before = config([target('app_a', [own('a.test')])])
    expect(partsOfHosts(config([changed], settings)).get('a.test')).not.toBe(partsOfHosts(before).get('a.test'))
  })

  it('another authority -> another part of who asks it, and of nobody else', () => {
    const targets = [target('app_a', [{ host: 'a.test', tls: 'acme' }, { host: 'b.test' }])]
    const [one, two] = [config(targets), config(targets, { acme: { directory: 'https://ca.test/dir' } })]
    expect(partsOfHosts(one).get('a.test')).not.toBe(partsOfHosts(two).get('a.test'))
    expect(partsOfHosts(one).get('b.test')).toBe(partsOfHosts(two).get('b.test'))
  })
})
