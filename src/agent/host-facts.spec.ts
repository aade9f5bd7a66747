import { describe, expect, it } from 'vitest'
import { ClockOffset } from './clock-offset.js'
import { connectionsIn, toHex } from './connections.js'
import { routesIn } from './host-routes.js'
import { nodeSubnetOf } from './node-subnet.js'

describe('nodeSubnetOf', () => {
  it('a /20 -> gateway first, reserved resolver second, dynamic range last', () => {
    expect(nodeSubnetOf('10.192.16.0/20')).toEqual({
      cidr: '10.192.16.0/20',
      gateway: '10.192.16.1',
      reservedResolver: '10.192.16.2',
      dynamicRange: '10.192.31.0/24',
    })
  })
  it('above the sign bit, or not at its first address -> right all the same', () => {
    expect(nodeSubnetOf('192.168.19.7/20')).toMatchObject({ cidr: '192.168.16.0/20', dynamicRange: '192.168.31.0/24' })
  })
  it('too small -> refused', () => expect(() => nodeSubnetOf('10.0.0.0/24')).toThrow('too small'))
})

describe('ClockOffset', () => {
  it('nothing measured -> unknown', () => expect(new ClockOffset().ms).toBeNull())
  it('several samples -> the one with the shortest way', () => {
    const offset = new ClockOffset()
    offset.measure(1_000, 1_900, 91_000)
    offset.measure(2_000, 2_010, 92_005)
    offset.measure(3_000, 3_500, 93_490)
    expect(offset.ms).toBe(90_000)
  })
  it('the clock was set right -> old samples fade', () => {
    const offset = new ClockOffset()
    offset.measure(0, 1, 90_000)
    for (let i = 0; i < 8; i++) offset.measure(i, i + 10, i + 5)
    expect(offset.ms).toBe(0)
  })
})

describe('connectionsIn', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0',
    '   1: 0100FB0A:C350 0A01FB0A:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1',
    '   2: 0100FB0A:C351 0A01FB0A:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0',
    '   3: 0000000000000000FFFF00000100FB0A:C352 0000000000000000FFFF00000A01FB0A:1F90 01 0 0 0 0 0 3 1',
  ].join('\n')

  it('established ones -> with their far address, also in the table of IPv6', () => {
    expect(connectionsIn(table)).toEqual([
      { localPort: 50_000, remote: '0A01FB0A' },
      { localPort: 50_002, remote: '0A01FB0A' },
    ])
    expect(toHex('10.251.1.10')).toBe('0A01FB0A')
  })
})

describe('routesIn', () => {
  it('the routing table -> networks with their devices', () => {
    const table = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
      'ek-1\t0000C00A\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0',
    ].join('\n')
    expect(routesIn(table)).toEqual([
      { device: 'eth0', cidr: '0.0.0.0/0' },
      { device: 'docker0', cidr: '172.17.0.0/16' },
      { device: 'ek-1', cidr: '10.192.0.0/20' },
    ])
  })
})
