import { describe, expect, it } from 'vitest'
import { loopback, nameserversOf, renderCorefile, renderEmptyZone, renderHosts } from './zone-files.js'

describe('renderHosts', () => {
  it('equal contents in any order, also twice -> equal texts', () => {
    const a = { name: 'a.p.internal', address: '10.0.0.2' }
    const b = { name: 'b.p.internal', address: '10.0.0.1' }
    expect(renderHosts([a, b, a])).toBe('10.0.0.1 b.p.internal\n10.0.0.2 a.p.internal\n')
    expect(renderHosts([b, a])).toBe(renderHosts([a, b, a]))
  })
})

describe('renderCorefile', () => {
  const config = { listenAddress: '10.0.0.1', ttlSeconds: 5, upstreams: ['9.9.9.9'], folder: '/dns' }
  it('upstreams -> forwarded to; none -> nothing is forwarded', () => {
    expect(renderCorefile(config)).toContain('forward . 9.9.9.9')
    expect(renderCorefile({ ...config, upstreams: [] })).not.toContain('forward')
  })
  it('always -> bound to its own address only', () => {
    expect(renderCorefile(config).match(/bind 10\.0\.0\.1/g)?.length).toBe(2)
  })
})

describe('renderEmptyZone', () => {
  it('a long TTL -> names that are not there yet are still asked for again soon', () => {
    expect(renderEmptyZone(300)).toContain('internal. 5 IN SOA')
    expect(renderEmptyZone(1)).toContain('internal. 1 IN SOA')
  })
})

describe('nameserversOf', () => {
  it('a resolv.conf -> its servers in order, nothing else', () => {
    const text = '# nameserver 1.1.1.1\nnameserver 127.0.0.53\n  nameserver 9.9.9.9\nsearch a\noptions ndots:2\n'
    expect(nameserversOf(text)).toEqual(['127.0.0.53', '9.9.9.9'])
    expect(nameserversOf(text).filter((a) => !loopback(a))).toEqual(['9.9.9.9'])
  })
})
