import { describe, expect, it } from 'vitest'
import { containerSpecSchema } from '../../reconcile/action.js'
import type { EngineNetwork } from './engine.js'
import { toCreateBody } from './create-body.js'

const network: EngineNetwork = {
  name: 'evenkeel-a',
  subnet: '10.0.0.0/20',
  gateway: '10.0.0.1',
  dynamicRange: '10.0.15.0/24',
  mtu: 1380,
  dns: ['10.0.0.1', '9.9.9.9'],
}
const spec = (change: object = {}) =>
  containerSpecSchema.parse({
    name: 'c',
    image: 'sha256:1',
    labels: { a: 'b' },
    env: [],
    address: '10.0.0.9',
    restartPolicy: 'no',
    stopGraceSeconds: 7,
    ...change,
  })

describe('toCreateBody', () => {
  it('env with every kind of quoting -> the same bytes', () => {
    const values = ['ab$cd$$ef', "array:'self',blob:", '"x"', 'se#cret#', 'AbCd+/9=', 'a\nb\r\nc\t', '  é % `id` \\', '']
    const body = toCreateBody(spec({ env: values.map((v, i) => [`K${i}`, v]) }), network)
    expect(body.Env).toEqual(values.map((v, i) => `K${i}=${v}`))
  })

  it('an address -> asked for; none -> left to the dynamic range', () => {
    expect(toCreateBody(spec(), network).NetworkingConfig).toEqual({
      EndpointsConfig: { 'evenkeel-a': { IPAMConfig: { IPv4Address: '10.0.0.9' } } },
    })
    expect(toCreateBody(spec({ address: null }), network).NetworkingConfig).toEqual({ EndpointsConfig: { 'evenkeel-a': {} } })
  })

  it('no entrypoint, command or hostname -> the image decides', () => {
    const body = toCreateBody(spec(), network)
    expect(body).not.toHaveProperty('Entrypoint')
    expect(body).not.toHaveProperty('Cmd')
    expect(body).not.toHaveProperty('Hostname')
  })

  it('a secret for a name that env has too -> the secret alone', () => {
    const secretEnv = [{ name: 'KEY', secret: { secret: 'key', version: 3 } }]
    const given = spec({
      env: [
        ['KEY', 'open'],
        ['A', 'b'],
      ],
      secretEnv,
    })
    expect(toCreateBody(given, network, new Map([['key@3', ' $v ']])).Env).toEqual(['A=b', 'KEY= $v '])
    expect(() => toCreateBody(given, network)).toThrow('key@3')
  })

  it('mounts, memory, devices, user and limits -> in the words of the engine, with the volume named after its owner', () => {
    const labels = { 'evenkeel.instance': 'i', 'evenkeel.kind': 'application', 'evenkeel.resource': 'app_a' }
    const body = toCreateBody(
      spec({
        labels,
        user: '1000:1000',
        mounts: [
          { kind: 'volume', source: 'ek-i-app_a-data', target: '/data', readOnly: false },
          { kind: 'bind', source: '/srv', target: '/host', readOnly: true },
        ],
        tmpfs: [{ target: '/t', sizeBytes: 4096 }],
        shmBytes: 65_536,
        devices: [{ source: '/dev/fuse', target: '/dev/fuse', permissions: 'rw' }],
        resources: { memoryBytes: 7_000_000, nanoCpus: 500_000_000 },
      }),
      network,
    )
    expect(body.User).toBe('1000:1000')
    expect(body.HostConfig).toMatchObject({
      Mounts: [
        {
          Type: 'volume',
          Source: 'ek-i-app_a-data',
          Target: '/data',
          ReadOnly: false,
          VolumeOptions: { Labels: { ...labels, 'evenkeel.volume': 'data' } },
        },
        { Type: 'bind', Source: '/srv', Target: '/host', ReadOnly: true },
        { Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 4096 } },
      ],
      ShmSize: 65_536,
      Devices: [{ PathOnHost: '/dev/fuse', PathInContainer: '/dev/fuse', CgroupPermissions: 'rw' }],
      Memory: 7_000_000,
      MemorySwap: 7_000_000,
      NanoCpus: 500_000_000,
    })
  })

  it('one container port on two host ports -> both bindings', () => {
    const port = { containerPort: 80, hostAddress: '127.0.0.1', protocol: 'tcp' }
    const body = toCreateBody(
      spec({
        publishedPorts: [
          { ...port, hostPort: 8080 },
          { ...port, hostPort: 8081 },
        ],
      }),
      network,
    )
    expect(body.ExposedPorts).toEqual({ '80/tcp': {} })
    expect(body.HostConfig?.PortBindings).toEqual({
      '80/tcp': [
        { HostIp: '127.0.0.1', HostPort: '8080' },
        { HostIp: '127.0.0.1', HostPort: '8081' },
      ],
    })
  })

  it('always -> bounded logs, our resolver first, short names through search domains, no aliases', () => {
    const {
      HostConfig: host,
      NetworkingConfig: networking,
      StopTimeout: grace,
    } = toCreateBody(spec({ dnsSearch: ['shop.internal'] }), network)
    expect(host).toMatchObject({
      LogConfig: { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } },
      Dns: ['10.0.0.1', '9.9.9.9'],
      DnsOptions: ['ndots:1'],
      DnsSearch: ['shop.internal'],
      Init: false,
    })
    expect(JSON.stringify(networking)).not.toContain('Aliases')
    expect(grace).toBe(7)
  })
})
