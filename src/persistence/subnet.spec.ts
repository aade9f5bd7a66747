import { describe, expect, it } from 'vitest'
import { firstFreeSubnet, liesInPool } from './subnet.js'

describe('firstFreeSubnet', () => {
  it.each<[string, string, string[], string | null]>([
    ['nothing taken', '10.192.0.0/12', [], '10.192.0.0/20'],
    ['first taken', '10.192.0.0/12', ['10.192.0.0/20'], '10.192.16.0/20'],
    ['a gap', '10.192.0.0/12', ['10.192.0.0/20', '10.192.32.0/20'], '10.192.16.0/20'],
    ['a wider route', '10.192.0.0/12', ['10.192.0.0/14'], '10.196.0.0/20'],
    ['a narrower route', '10.192.0.0/12', ['10.192.15.255/32'], '10.192.16.0/20'],
    ['a route without prefix', '10.192.0.0/12', ['10.192.3.4'], '10.192.16.0/20'],
    ['a route that begins in the middle of a block', '10.192.0.0/12', ['10.192.8.0/21'], '10.192.16.0/20'],
    ['a default route', '10.192.0.0/12', ['0.0.0.0/0'], '10.192.0.0/20'],
    ['what is no IPv4 route', '10.192.0.0/12', ['fd00::/8', 'x', '', '10.192.0.0/33'], '10.192.0.0/20'],
    ['everything taken', '10.192.0.0/12', ['10.0.0.0/8'], null],
    ['the last one left', '10.192.0.0/18', ['10.192.0.0/19', '10.192.32.0/20'], '10.192.48.0/20'],
    ['a pool of one', '10.192.16.0/20', [], '10.192.16.0/20'],
    ['a pool of one, taken', '10.192.16.0/20', ['10.192.16.0/20'], null],
    ['a pool written with host bits', '10.192.1.2/12', [], '10.192.0.0/20'],
    ['a pool above 128', '192.168.0.0/16', ['192.168.0.0/17'], '192.168.128.0/20'],
  ])('%s', (_what, pool, taken, expected) => expect(firstFreeSubnet(pool, taken)).toBe(expected))

  it('a pool smaller than one network -> said so', () =>
    expect(() => firstFreeSubnet('10.0.0.0/24', [])).toThrow('smaller than one node'))
})

describe('liesInPool', () => {
  it.each([
    ['10.192.16.0/20', true],
    ['10.207.240.0/20', true],
    ['10.208.0.0/20', false],
    ['10.192.0.0/16', false],
    ['10.192.0.0/24', false],
    ['nonsense', false],
  ])('%s', (subnet, expected) => expect(liesInPool('10.192.0.0/12', subnet)).toBe(expected))
})
