import type { NetworkInspectInfo } from 'dockerode'
import { describe, expect, it } from 'vitest'
import { overlapWith } from './network-body.js'

describe('overlapWith', () => {
  const wanted = { name: 'evenkeel-i', subnet: '10.192.16.0/20', gateway: '', dynamicRange: '', mtu: 1380, dns: [] }
  const network = (Name: string, ...subnets: string[]) =>
    ({ Name, IPAM: { Config: subnets.map((Subnet) => ({ Subnet })) } }) as NetworkInspectInfo

  it.each([
    ['a wider one', [network('shop', '10.192.0.0/12')], /overlap those of Docker network shop \(10\.192\.0\.0\/12\)/],
    ['a narrower one', [network('shop', '10.192.17.0/24')], /shop \(10\.192\.17\.0\/24\)/],
    ['its neighbours, IPv6, none at all', [network('a', '10.192.0.0/20', 'fd00::/64'), network('host')], /just being taken/],
    ['two', [network('a', '10.192.16.0/24'), network('b', '10.192.31.0/24')], /a \(10\.192\.16\.0\/24\), b \(/],
  ])('%s', (_, networks, said) => {
    expect(overlapWith(networks, wanted)).toMatch(said)
  })
})
