import { describe, expect, it } from 'vitest'
import { applicationSpecSchema, probeOf, settingsBytesMost, templateHash, templateOf, type ApplicationSpec } from './spec.js'

/** `<path>: <message>` of everything that is wrong with `spec`. */
function issues(spec: object): string[] {
  const { error } = applicationSpecSchema.safeParse({ image: 'nginx', ...spec })
  return (error?.issues ?? []).map((i) => `${i.path.join('.')}: ${i.message}`)
}

const of = (length: number, character = 'x') => character.repeat(length)

describe('applicationSpecSchema', () => {
  it.each([
    { it: 'an image alone', spec: {} },
    { it: 'no replicas', spec: { replicas: 0 } },
    { it: 'a hundred replicas', spec: { replicas: 100 } },
    { it: 'env with anything but NUL', spec: { env: [{ name: 'A', value: '$B `c` "d" \'e\' \\ \n\t €😀' }, { name: 'B', value: '' }] } },
    { it: 'a label that only looks reserved', spec: { labels: [{ key: 'evenkeelish', value: '' }, { key: 'x.evenkeel.kind', value: '' }] } },
    { it: 'readiness with a port of its own', spec: { readiness: { path: '/health?full=1', port: 81 } } },
    { it: 'readiness on the first port', spec: { ports: [80], readiness: {} } },
    { it: 'env of 30 KB', spec: { env: [{ name: 'A', value: of(30 * 1024) }] } },
  ])('$it -> accepted, stored as it was said', ({ spec }) => {
    expect(applicationSpecSchema.parse({ image: 'nginx', ...spec })).toEqual({ image: 'nginx', ...spec })
  })

  it.each([
    { it: 'no image', spec: { image: undefined }, field: 'image' },
    { it: 'unknown image syntax', spec: { image: 'https://nginx' }, field: 'image' },
    { it: 'NUL in the image', spec: { image: 'nginx\0' }, field: 'image' },
    { it: '-1 replicas', spec: { replicas: -1 }, field: 'replicas' },
    { it: '101 replicas', spec: { replicas: 101 }, field: 'replicas' },
    { it: 'half a replica', spec: { replicas: 1.5 }, field: 'replicas' },
    { it: 'replicas in words', spec: { replicas: '3' }, field: 'replicas' },
    { it: 'NaN replicas', spec: { replicas: NaN }, field: 'replicas' },
    { it: 'null replicas', spec: { replicas: null }, field: 'replicas' },
    { it: 'NUL in an env value', spec: { env: [{ name: 'OK', value: '' }, { name: 'A', value: 'a\0b' }] }, field: 'env.1.value' },
    { it: 'half a surrogate pair in an env value', spec: { env: [{ name: 'A', value: '\ud800' }] }, field: 'env.0.value' },
    { it: 'NUL in an env name', spec: { env: [{ name: 'A\0', value: '' }] }, field: 'env.0.name' },
    { it: '= in an env name', spec: { env: [{ name: 'A=B', value: '' }] }, field: 'env.0.name' },
    { it: 'an empty env name', spec: { env: [{ name: '', value: '' }] }, field: 'env.0.name' },
    { it: 'an env name twice', spec: { env: [{ name: 'A', value: '1' }, { name: 'A', value: '2' }] }, field: 'env.1' },
    { it: 'an env value over 32 K', spec: { env: [{ name: 'A', value: of(32 * 1024 + 1) }] }, field: 'env.0.value' },
    { it: 'a reserved label', spec: { labels: [{ key: 'evenkeel.instance', value: 'x' }] }, field: 'labels.0.key' },
    { it: 'a label twice', spec: { labels: [{ key: 'a', value: '' }, { key: 'a', value: '' }] }, field: 'labels.1' },
    { it: 'NUL in a label', spec: { labels: [{ key: 'a', value: '\0' }] }, field: 'labels.0.value' },
    { it: 'NUL in a label key', spec: { labels: [{ key: 'a\0', value: '' }] }, field: 'labels.0.key' },
    { it: 'an empty label key', spec: { labels: [{ key: '', value: '' }] }, field: 'labels.0.key' },
    { it: 'NUL in the command', spec: { command: ['sh', '\0'] }, field: 'command.1' },
    { it: 'an empty entrypoint', spec: { entrypoint: [] }, field: 'entrypoint' },
    { it: 'half a surrogate pair in the entrypoint', spec: { entrypoint: ['\udc00'] }, field: 'entrypoint.0' },
    { it: 'port 0', spec: { ports: [0] }, field: 'ports.0' },
    { it: 'port 65536', spec: { ports: [80, 65536] }, field: 'ports.1' },
    { it: 'a port twice', spec: { ports: [80, 80] }, field: 'ports.1' },
    { it: 'readiness without any port', spec: { readiness: { path: '/' } }, field: 'readiness.port' },
    { it: 'a path without /', spec: { ports: [80], readiness: { path: 'health' } }, field: 'readiness.path' },
    { it: 'a path that smuggles a header', spec: { ports: [80], readiness: { path: '/ HTTP/1.1\r\nX: y' } }, field: 'readiness.path' },
    { it: 'a path with é', spec: { ports: [80], readiness: { path: '/é' } }, field: 'readiness.path' },
    { it: 'an interval of 0', spec: { ports: [80], readiness: { intervalSeconds: 0 } }, field: 'readiness.intervalSeconds' },
    { it: 'an endless interval', spec: { ports: [80], readiness: { intervalSeconds: Infinity } }, field: 'readiness.intervalSeconds' },
    { it: 'a budget of 0', spec: { startupBudgetSeconds: 0 }, field: 'startupBudgetSeconds' },
    { it: 'a negative grace', spec: { stopGraceSeconds: -1 }, field: 'stopGraceSeconds' },
    { it: 'more than an hour of draining', spec: { drainSeconds: 3601 }, field: 'drainSeconds' },
    { it: 'a field that does not exist', spec: { replicaz: 3 }, field: '' },
    { it: 'env too big together', spec: { env: [1, 2].map((i) => ({ name: `A${i}`, value: of(24 * 1024) })) }, field: 'env' },
    { it: 'env of quotes, which are escaped twice', spec: { env: [{ name: 'A', value: of(16 * 1024, '"') }] }, field: 'env' },
    { it: 'env of control characters', spec: { env: [{ name: 'A', value: of(8 * 1024, '\u0001') }] }, field: 'env' },
    { it: 'a command too big together', spec: { command: [1, 2].map(() => of(24 * 1024)) }, field: 'command' },
    { it: 'labels too big together', spec: { labels: Array.from({ length: 16 }, (_, i) => ({ key: `l${i}`, value: of(4096) })) }, field: 'labels' },
  ])('$it -> refused at the field, once', ({ spec, field }) => {
    expect(issues(spec).map((i) => i.slice(0, i.indexOf(':')))).toEqual([field])
  })

  it('too big -> the message names size and limit', () => {
    expect(issues({ env: [1, 2].map((i) => ({ name: `A${i}`, value: of(24 * 1024) })) })[0]).toMatch(new RegExp(`take \\d+ bytes .* ${settingsBytesMost}`))
  })
})

describe('templateHash', () => {
  const full: ApplicationSpec = {
    image: 'registry.example/shop/web:1',
    entrypoint: ['/bin/web'],
    command: ['serve'],
    env: [{ name: 'A', value: '1' }],
    labels: [{ key: 'team', value: 'shop' }],
    ports: [8080, 9090],
    replicas: 3,
    readiness: { path: '/health', intervalSeconds: 1 },
    startupBudgetSeconds: 30,
    stopGraceSeconds: 5,
    drainSeconds: 10,
    placement: { node: 'n1' },
  }
  const hash = (spec: ApplicationSpec) => templateHash(templateOf(spec))

  it.each([
    { it: 'an image alone', spec: { image: 'nginx' }, golden: '87132e95dfbdfe0f' },
    { it: 'every field', spec: full, golden: '76a52e4296955ae4' },
  ])('$it -> its golden value: another one would restart every fleet at the upgrade', ({ spec, golden }) => {
    expect(hash(spec)).toBe(golden)
  })

  const changes: { [K in keyof Required<ApplicationSpec>]: { to: ApplicationSpec[K]; newContainer: boolean } } = {
    image: { to: 'registry.example/shop/web:2', newContainer: true },
    entrypoint: { to: undefined, newContainer: true },
    command: { to: ['serve', '-v'], newContainer: true },
    env: { to: [{ name: 'A', value: '2' }], newContainer: true },
    labels: { to: [], newContainer: true },
    ports: { to: [9090, 8080], newContainer: true },
    readiness: { to: { path: '/health', intervalSeconds: 2 }, newContainer: true },
    domains: { to: [{ host: 'shop.test' }], newContainer: false },
    placement: { to: { node: 'n2' }, newContainer: true },
    liveness: { to: { path: '/live' }, newContainer: true },
    secretEnv: { to: [{ name: 'S', secret: 'one', version: 1 }], newContainer: true },
    files: { to: [{ path: '/etc/app.conf', content: 'x' }], newContainer: true },
    user: { to: '1000:1000', newContainer: true },
    publishedPorts: { to: [{ port: 8080, hostPort: 80 }], newContainer: true },
    volumes: { to: [{ name: 'data', path: '/data' }], newContainer: true },
    bindMounts: { to: [{ source: '/srv', path: '/srv' }], newContainer: true },
    tmpfs: { to: [{ path: '/tmp' }], newContainer: true },
    shmBytes: { to: 65_536, newContainer: true },
    devices: { to: [{ source: '/dev/null' }], newContainer: true },
    preDeploy: { to: { command: ['migrate'] }, newContainer: true },
    restartNonce: { to: 1, newContainer: true },
    resources: { to: { memoryBytes: 2 ** 24 }, newContainer: false },
    strategy: { to: 'recreate', newContainer: false },
    dependsOn: { to: ['db'], newContainer: false },
    pullPolicy: { to: 'always', newContainer: false },
    registryCredential: { to: 'hub', newContainer: false },
    suspended: { to: true, newContainer: false },
    replicas: { to: 4, newContainer: false },
    startupBudgetSeconds: { to: 31, newContainer: false },
    stopGraceSeconds: { to: 6, newContainer: false },
    drainSeconds: { to: 11, newContainer: false },
  }
  it.each(Object.entries(changes).map(([field, change]) => ({ field, ...change })))(
    '$field changed -> new containers: $newContainer',
    ({ field, to, newContainer }) => expect(hash({ ...full, [field]: to }) !== hash(full)).toBe(newContainer),
  )
})

describe('probeOf', () => {
  it.each([
    { it: 'no ports -> none', spec: {}, probe: null },
    { it: 'ports -> TCP on the first', spec: { ports: [81, 80] }, probe: { kind: 'tcp', port: 81, path: '/', intervalMs: 2_000, timeoutMs: 2_000, failureThreshold: 3 } },
    { it: 'a path -> HTTP', spec: { ports: [80], readiness: { path: '/up' } }, probe: { kind: 'http', port: 80, path: '/up', intervalMs: 2_000, timeoutMs: 2_000, failureThreshold: 3 } },
    {
      it: 'everything given -> as given, in milliseconds',
      spec: { readiness: { port: 90, intervalSeconds: 0.1, timeoutSeconds: 0.25, failureThreshold: 1 } },
      probe: { kind: 'tcp', port: 90, path: '/', intervalMs: 100, timeoutMs: 250, failureThreshold: 1 },
    },
    {
      it: 'a command -> run in the container, whatever the ports are',
      spec: { ports: [80], readiness: { command: ['check', '-q'] } },
      probe: { kind: 'exec', command: ['check', '-q'], intervalMs: 2_000, timeoutMs: 2_000, failureThreshold: 3 },
    },
  ])('$it', ({ spec, probe }) => expect(probeOf(templateOf({ image: 'x', ...spec }))).toEqual(probe))
})
