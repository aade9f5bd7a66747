import { describe, expect, it } from 'vitest'
import { preDeployName } from '../labels.js'
import type { ObservedContainer } from '../observed.js'
import {
  addressOf,
  containerOf,
  digestOf,
  endpointOf,
  epoch,
  exited,
  failureOf,
  fresh,
  inFlightOf,
  instance,
  nodeId,
  releaseOf,
  resourceId,
  settledSetup,
  specOf,
  type Setup,
} from '../testing/application-world.js'
import { actionOf, passOf } from '../testing/pass.js'
import { containerName } from '../labels.js'
import { inputOf } from '../testing/application-world.js'
import type { Dependency } from './desired.js'
import type { ApplicationSpec } from './spec.js'

const name = (release: number, replica: number) => containerName(instance, resourceId, release, replica)
const retireOf = (release: number, replica: number) => `retire:${name(release, replica)}`
const publish = `publish:${nodeId}`
const image2 = digestOf('shop/web:2')
const pull2 = `pull:${nodeId}:${image2}`

/** Release 1 serves with `replicas`; release 2 is wanted and was just written down. */
function changing(replicas: number, spec: Partial<ApplicationSpec>, release2: object = {}) {
  const both = { replicas, ...spec }
  const old = settledSetup({ ...specOf(both) })
  const next = specOf({ ...both, image: 'shop/web:2' })
  return { ...old, spec: next, releases: [...old.releases, releaseOf(2, next, release2)] }
}

const second = (setup: { releases: ReturnType<typeof releaseOf>[] }) => setup.releases[1] as ReturnType<typeof releaseOf>
const first = (setup: { releases: ReturnType<typeof releaseOf>[] }) => setup.releases[0] as ReturnType<typeof releaseOf>

interface Row extends Setup {
  it: string
  records?: string[]
  actions: string[]
  ready?: string
  requeue?: number | null
  conditions?: Record<string, string>
}

function runs(rows: Row[]) {
  it.each(rows)('$it', ({ it: _, records = [], actions, ready, requeue, conditions = {}, ...setup }) => {
    const pass = passOf(inputOf(setup))
    expect({ records: pass.records, actions: pass.actions }).toEqual({ records, actions })
    if (ready !== undefined) expect(pass.conditions.Ready).toBe(ready)
    if (requeue !== undefined) expect(pass.requeueAfterMs).toBe(requeue)
    expect(pass.conditions).toMatchObject(conditions)
  })
}

describe('recreate', () => {
  const one = changing(1, { strategy: 'recreate' })
  const [draining] = [{ ...one, endpoints: [endpointOf(1, 0, 'draining')] }]
  runs([
    { it: 'image of the new release is missing -> pulled first, the old one serves', ...one, missingImages: [image2], actions: [pull2], ready: 'False RollingOut' },
    {
      it: 'its pull fails for good -> verdict, and the old one has never stopped',
      ...one,
      missingImages: [image2],
      failures: [failureOf(pull2, { reason: 'ImageNotFound', retryable: false })],
      records: ['verdict 2 ImageNotFound'],
      actions: [],
      ready: 'False ImageNotFound',
      conditions: { Available: 'True ReplicasReady' },
    },
    { it: 'image is here -> the old one is unpublished, nothing new yet', ...one, records: ['draining 1/0'], actions: [publish] },
    { it: 'unpublished, no connection -> the old one stops', ...draining, published: 'live', records: ['unrouted 1/0'], actions: [retireOf(1, 0)] },
    ...[
      { it: 'unpublished just now, a connection is open -> what is under way has a second to end', since: 400, actions: [], requeue: 600 },
      { it: 'unpublished for a second, a connection is open -> stops: until then nobody is served', since: 1_000, actions: [retireOf(1, 0)] },
    ].map(({ since, ...row }) => ({
      ...row,
      ...one,
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - since })],
      published: 'live' as const,
      connections: { [addressOf(1, 0)]: 1 },
    })),
    { it: 'the old container is gone -> the new one is made', ...draining, published: 'live', containers: [], records: ['unrouted 1/0', 'gone 1/0', 'endpoint 2/0'], actions: ['ensure:2:0'] },
    {
      it: 'the new one fails -> its container goes, the old one is not yet made: they cannot be side by side',
      ...one,
      releases: [first(one), releaseOf(2, one.spec, { verdict: { reason: 'ContainerExited', message: '' }, verdictLog: '' })],
      endpoints: [endpointOf(2, 0, 'starting')],
      containers: [containerOf(second(one), 0, exited(1))],
      records: ['draining 2/0'],
      actions: [retireOf(2, 0)],
    },
    {
      it: 'the failed one is gone -> the old release is brought back',
      ...one,
      releases: [first(one), releaseOf(2, one.spec, { verdict: { reason: 'ContainerExited', message: '' }, verdictLog: '' })],
      endpoints: [endpointOf(2, 0, 'draining', { readyAt: null })],
      containers: [],
      published: null,
      records: ['gone 2/0', 'endpoint 1/0'],
      actions: ['ensure:1:0'],
      ready: 'False ContainerExited',
    },
    {
      it: 'scaled down within a release -> only the surplus leaves',
      ...settledSetup(specOf({ strategy: 'recreate', replicas: 2 })),
      spec: specOf({ strategy: 'recreate', replicas: 1 }),
      records: ['draining 1/1'],
      actions: [publish],
    },
  ])

  it.each([
    { it: 'a published port', spec: { publishedPorts: [{ port: 8080, hostPort: 80 }] }, kind: 'FallbackToRecreate', says: 'host port 80' },
    { it: 'a volume that is written to', spec: { volumes: [{ name: 'data', path: '/data' }] }, kind: 'FallbackToRecreate', says: 'volume data' },
    { it: 'a read-only volume', spec: { volumes: [{ name: 'data', path: '/data', readOnly: true }] }, kind: undefined, says: '' },
    { it: 'blue-green with a published port', spec: { strategy: 'blue-green' as const, publishedPorts: [{ port: 8080, hostPort: 80 }] }, kind: 'FallbackToRecreate', says: 'blue-green' },
    { it: 'recreate with a published port', spec: { strategy: 'recreate' as const, publishedPorts: [{ port: 8080, hostPort: 80 }] }, kind: undefined, says: '' },
  ])('$it -> condition: $kind', ({ spec, kind, says }) => {
    const pass = passOf(inputOf(settledSetup(specOf(spec))))
    expect(pass.conditions.StrategyHonoured).toBe(kind && `False ${kind}`)
    if (kind) expect(pass.messages.StrategyHonoured).toContain(says)
  })
})

describe('blue-green', () => {
  const two = changing(2, { strategy: 'blue-green' })
  const r2 = second(two)
  const half = { ...two, endpoints: [...two.endpoints, endpointOf(2, 0, 'ready'), endpointOf(2, 1, 'starting')] }
  runs([
    { it: 'a new release -> its whole set at once', ...two, records: ['endpoint 2/0', 'endpoint 2/1'], actions: ['ensure:2:0', 'ensure:2:1'] },
    {
      it: 'half of it is ready -> nothing is switched, nothing leaves',
      ...half,
      containers: [...two.containers, containerOf(r2, 0), containerOf(r2, 1, fresh())],
      published: passOf(inputOf(two)).input.observed.flatMap((o) => (o.unreachable === null ? [o.published] : []))[0] ?? null,
      actions: [],
      ready: 'False RollingOut',
    },
    {
      it: 'all of it is ready -> one switch: the new set in, the old set out',
      ...half,
      containers: [...two.containers, containerOf(r2, 0), containerOf(r2, 1)],
      records: ['ready 2/1', 'serving 2', 'draining 1/1', 'draining 1/0'],
      actions: [publish],
    },
  ])

  it('half of it is ready -> readers are shown the old set alone', () => {
    const pass = passOf(inputOf({ ...half, containers: [...two.containers, containerOf(r2, 0), containerOf(r2, 1, fresh())], published: null }))
    expect(actionOf(pass, publish, 'publishEndpoints').args.publication?.addresses).toEqual(two.endpoints.map((e) => e.address))
  })

  it('all of it is ready -> readers are shown the new set alone', () => {
    const pass = passOf(inputOf({ ...half, containers: [...two.containers, containerOf(r2, 0), containerOf(r2, 1)] }))
    expect(actionOf(pass, publish, 'publishEndpoints').args.publication?.addresses).toEqual([endpointOf(2, 0, 'ready').address, endpointOf(2, 1, 'ready').address])
  })
})

describe.each(['rolling', 'blue-green', 'recreate'] as const)('an image that cannot be had, %s', (strategy) => {
  const two = changing(2, { strategy })
  const resolve2 = `resolve:${nodeId}:shop/web:2`
  const served = { ready: 'False ImageNotFound', conditions: { Available: 'True ReplicasReady' } }
  runs([
    {
      it: 'its tag is not there -> told, the old set serves on',
      ...two,
      releases: [first(two)],
      generation: 2,
      failures: [failureOf(resolve2, { generation: 2, reason: 'ImageNotFound', retryable: false })],
      actions: [resolve2],
      ...served,
    },
    {
      it: 'its pull fails for good -> given up, the old set serves on',
      ...two,
      endpoints: strategy === 'recreate' ? two.endpoints : [...two.endpoints, endpointOf(2, 0, 'starting')],
      missingImages: [image2],
      failures: [failureOf(pull2, { reason: 'ImageNotFound', retryable: false })],
      records: ['verdict 2 ImageNotFound', ...(strategy === 'recreate' ? [] : ['draining 2/0', 'gone 2/0'])],
      actions: [],
      ...served,
    },
  ])
})

describe('pre-deploy command', () => {
  const preDeploy = { command: ['migrate', '--all'] }
  const one = changing(1, { preDeploy })
  const r2 = second(one)
  const ran = (release: ReturnType<typeof releaseOf>, change: Partial<ObservedContainer> = {}): ObservedContainer =>
    containerOf(release, 0, {
      id: `pre-${release.number}`,
      name: preDeployName(instance, resourceId, release.number),
      address: null,
      purpose: 'pre-deploy',
      ...exited(0),
      ...change,
    })
  const withRan = (change: Partial<ObservedContainer>) => ({ ...one, containers: [...one.containers, ran(r2, change)] })
  runs([
    { it: 'a new release -> its command runs before any replica of it', ...one, actions: ['pre-deploy:2'], ready: 'False RollingOut' },
    { it: 'image missing -> pulled first', ...one, missingImages: [image2], actions: [pull2] },
    {
      it: 'it runs -> told, the old one serves, nothing else',
      ...withRan({ state: 'running', exitCode: null }),
      inFlight: [inFlightOf('pre-deploy:2', { verb: 'runToEnd', container: preDeployName(instance, resourceId, 2) })],
      actions: ['pre-deploy:2'],
      ready: 'False PreDeploying',
    },
    { it: 'it runs and nobody waits for it (worker was killed) -> waited for again, not run twice', ...withRan({ state: 'running', exitCode: null }), actions: ['pre-deploy:2'] },
    { it: 'ended well -> written down, replicas are made, its container goes', ...withRan({}), records: ['pre-deployed 2', 'endpoint 2/0'], actions: [`retire:${preDeployName(instance, resourceId, 2)}`, 'ensure:2:0'] },
    {
      it: 'ended badly -> verdict, its last words are kept, the old one serves',
      ...withRan({ exitCode: 3 }),
      records: ['verdict 2 PreDeployFailed'],
      actions: ['log:2'],
      ready: 'False PreDeployFailed',
      conditions: { Available: 'True ReplicasReady' },
    },
    {
      it: 'a newer release while the command of an older one runs -> waits for its end',
      ...one,
      spec: specOf({ preDeploy, image: 'shop/web:3' }),
      releases: [...one.releases, releaseOf(3, specOf({ preDeploy, image: 'shop/web:3' }))],
      containers: [...one.containers, ran(r2, { state: 'running', exitCode: null })],
      inFlight: [inFlightOf('pre-deploy:2', { verb: 'runToEnd', container: preDeployName(instance, resourceId, 2) })],
      actions: [],
    },
    { it: 'already run for this release -> not again', ...one, releases: [first(one), releaseOf(2, one.spec, { preDeployedAt: epoch })], records: ['endpoint 2/0'], actions: ['ensure:2:0'] },
    { it: 'no replica is wanted -> it does not run', ...one, spec: { ...one.spec, replicas: 0 }, records: ['draining 1/0'], actions: [publish] },
    {
      it: 'no replica is wanted any more before it began -> its container goes',
      ...withRan({ state: 'created', exitCode: null }),
      spec: { ...one.spec, replicas: 0 },
      endpoints: [],
      containers: [ran(r2, { state: 'created', exitCode: null })],
      actions: [`retire:${preDeployName(instance, resourceId, 2)}`],
    },
    { it: 'being deleted -> its container goes', ...withRan({ state: 'running', exitCode: null }), deleting: true, records: ['draining 1/0'], actions: [publish, `retire:${preDeployName(instance, resourceId, 2)}`] },
  ])

  it('its container -> image, env and files of the release, the command in place of the entry point, no address', () => {
    const setup = changing(1, { preDeploy, env: [{ name: 'A', value: '1' }], entrypoint: ['/app'], publishedPorts: [] })
    const { container } = actionOf(passOf(inputOf(setup)), 'pre-deploy:2', 'runToEnd').args
    expect(container).toMatchObject({ image: image2, env: [['A', '1']], entrypoint: ['migrate', '--all'], command: [], address: null, restartPolicy: 'no' })
    expect(container.labels['evenkeel.purpose']).toBe('pre-deploy')
  })

  it('with recreate -> the old one serves until the command has ended well', () => {
    const setup = changing(1, { preDeploy, strategy: 'recreate' })
    expect(passOf(inputOf(setup))).toMatchObject({ records: [], actions: ['pre-deploy:2'] })
    const done = { ...setup, containers: [...setup.containers, ran(second(setup))] }
    expect(passOf(inputOf(done)).records).toEqual(['pre-deployed 2', 'draining 1/0'])
  })
})

describe('dependencies', () => {
  const one = changing(1, { dependsOn: ['db'] })
  const db = (change: Partial<NonNullable<Dependency['ready']>> | null): Dependency[] => [
    { name: 'db', ready: change && { status: 'True', reason: 'Running', message: 'fine', current: true, ...change } },
  ]
  const waits = { actions: [], ready: 'False DependencyNotReady', requeue: null }
  runs([
    { it: 'not there -> waits', ...one, dependencies: db(null), ...waits },
    { it: 'not ready -> waits', ...one, dependencies: db({ status: 'False' }), ...waits },
    { it: 'ready for an older generation -> waits', ...one, dependencies: db({ current: false }), ...waits },
    { it: 'ready -> starts', ...one, dependencies: db({}), records: ['endpoint 2/0'], actions: ['ensure:2:0'] },
    { it: 'unready while the application serves -> nothing happens to it', ...settledSetup(specOf({ dependsOn: ['db'] })), dependencies: db({ status: 'False' }), actions: [], ready: 'True Running' },
  ])

  it('what is waited for -> told with its own reason', () => {
    const pass = passOf(inputOf({ ...one, dependencies: db({ status: 'False', reason: 'ContainerExited', message: 'exit code 1' }) }))
    expect(pass.messages.Ready).toContain('db, which is not ready: ContainerExited: exit code 1')
  })
})

describe('suspended', () => {
  const one = settledSetup(specOf())
  const suspended = { ...one, spec: specOf({ suspended: true }) }
  runs([
    { it: 'suspended -> unpublished', ...suspended, records: ['draining 1/0'], actions: [publish] },
    { it: 'all gone -> Ready, and says so', ...suspended, endpoints: [], containers: [], published: 'live', actions: [], ready: 'True Suspended', conditions: { Available: 'False Suspended' } },
    {
      it: 'its container cannot be stopped -> told with the next try, and it stays unpublished',
      ...suspended,
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 60_000 })],
      published: 'live',
      failures: [failureOf(retireOf(1, 0), { message: 'it does not end' })],
      actions: [retireOf(1, 0)],
      ready: 'False EngineError',
    },
    { it: 'resumed -> the same release again', ...one, endpoints: [], containers: [], records: ['endpoint 1/0'], actions: ['ensure:1:0'] },
  ])

  it('a container that cannot be stopped while it is deleted -> told why, with the next try', () => {
    const leaving = { ...one, endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 60_000 })], published: 'live' as const, deleting: true }
    const pass = passOf(inputOf({ ...leaving, failures: [failureOf(retireOf(1, 0), { message: 'it does not end' })] }))
    expect(pass.conditions.Ready).toBe('False Deleting')
    expect(pass.messages.Ready).toMatch(/1 containers are still to be removed: it does not end; failed 1 times, next try at /)
  })

  it('an old one that cannot be stopped -> in the way of recreate and told, beside a complete set no trouble', () => {
    const failures = [failureOf(retireOf(1, 0), { message: 'it does not end' })]
    const draining = [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 60_000 })]
    const change = changing(1, { strategy: 'recreate' })
    expect(passOf(inputOf({ ...change, endpoints: draining, published: 'live', failures })).conditions.Ready).toBe('False EngineError')
    const done = changing(1, {}, { servingAt: epoch - 40_000 })
    const both = [...done.containers, containerOf(second(done), 0)]
    const beside = { ...done, containers: both, endpoints: [...draining, endpointOf(2, 0, 'ready')], published: 'live' as const, failures }
    expect(passOf(inputOf(beside)).conditions.Ready).toBe('True Running')
  })
})

describe('limits', () => {
  const limited = (has: ObservedContainer['limits'], resources: ApplicationSpec['resources']): Setup => {
    const one = settledSetup(specOf())
    return { ...one, spec: specOf(resources ? { resources } : {}), containers: [containerOf(one.releases[0] as never, 0, has ? { limits: has } : {})] }
  }
  const none = { memoryBytes: null, nanoCpus: null }
  runs([
    { it: 'more memory -> changed in the living container', ...limited({ memoryBytes: 2 ** 26, nanoCpus: null }, { memoryBytes: 2 ** 27 }), actions: ['limits:1:0'], ready: 'True Running' },
    { it: 'a first limit -> the same', ...limited(none, { cpus: 0.5 }), actions: ['limits:1:0'] },
    { it: 'as wanted -> nothing', ...limited({ memoryBytes: null, nanoCpus: 5e8 }, { cpus: 0.5 }), actions: [] },
    { it: 'an agent that does not tell -> nothing', ...limited(undefined, { cpus: 0.5 }), actions: [] },
    { it: 'a limit is taken away -> a new release', ...limited({ memoryBytes: 2 ** 26, nanoCpus: null }, undefined), actions: [`resolve:${nodeId}:shop/web:1`], ready: 'False Resolving' },
  ])

  it('the new release that was made for it -> no further one while the old container still has the limit', () => {
    const one = settledSetup(specOf())
    const setup = { ...one, releases: [...one.releases, releaseOf(2, specOf())], containers: [containerOf(one.releases[0] as never, 0, { limits: { memoryBytes: 2 ** 26, nanoCpus: null } })] }
    expect(passOf(inputOf(setup)).records).toEqual(['endpoint 2/0'])
  })
})

describe('a release that served and crashes', () => {
  const crashing = (servedAgoMs: number, restartCount: number, releases = 2) => {
    const one = changing(1, {}, { servingAt: epoch - servedAgoMs })
    const r2 = second(one)
    return {
      ...one,
      releases: one.releases.slice(2 - releases),
      endpoints: [endpointOf(2, 0, 'starting', { readyAt: epoch - servedAgoMs })],
      containers: [containerOf(r2, 0, exited(7, { state: 'restarting', restartCount }))],
      published: null,
    }
  }
  runs([
    { it: 'for moments only, an earlier one could serve -> given up, the earlier one is brought back', ...crashing(20_000, 5), records: ['verdict 2 CrashLoop', 'endpoint 1/0'], actions: ['log:2', 'ensure:1:0'], ready: 'False CrashLoop' },
    { it: 'for long -> goes on, and says so', ...crashing(60_000, 5), actions: [], ready: 'False CrashLoopBackOff' },
    { it: 'for moments, and there is no earlier one -> goes on', ...crashing(20_000, 5, 1), actions: [], ready: 'False CrashLoopBackOff' },
    { it: 'once or twice -> goes on, no alarm', ...crashing(20_000, 2), actions: [], ready: 'False RollingOut' },
  ])
})

describe('liveness', () => {
  const one = settledSetup(specOf({ liveness: { path: '/live' } }))
  const hanging = (startedAgoMs: number): Setup => ({
    ...one,
    containers: [containerOf(one.releases[0] as never, 0, { startedAt: epoch - startedAgoMs, probe: { ready: true, message: '', live: false, liveMessage: 'timed out' } })],
  })
  runs([
    { it: 'fails -> the same container is started again', ...hanging(61_000), actions: ['restart:1:0'] },
    { it: 'fails again within its start-up budget -> waits for the rest of it', ...hanging(20_000), actions: [], requeue: 40_000 },
    { it: 'fails while it drains -> left alone', ...hanging(61_000), endpoints: [endpointOf(1, 0, 'draining')], published: null, spec: specOf({ liveness: { path: '/live' }, replicas: 0 }), records: ['unrouted 1/0'], actions: [retireOf(1, 0)] },
  ])

  it('its probe -> in the label that the prober reads', () => {
    const setup = { ...changing(1, { liveness: { path: '/live', failureThreshold: 5 } }) }
    const { labels } = actionOf(passOf(inputOf(setup)), 'ensure:2:0', 'ensureContainer').args.container
    expect(JSON.parse(labels['evenkeel.liveness'] ?? '')).toMatchObject({ kind: 'http', path: '/live', port: 8080, failureThreshold: 5 })
  })
})

describe('secrets', () => {
  const secretEnv = [{ name: 'TOKEN', secret: 'token' }]
  const context = (versions: Record<string, number>) => ({ projectEnv: [{ name: 'A', value: 'project' }], secretVersions: versions })
  const served = (): Setup => {
    const spec = specOf({ secretEnv })
    const one = settledSetup(spec)
    const release = releaseOf(1, { ...spec, env: [{ name: 'A', value: 'project' }], secretEnv: [{ name: 'TOKEN', secret: 'token', version: 1 }] }, { servingAt: epoch })
    return { ...one, releases: [release], containers: [containerOf(release, 0)] }
  }
  runs([
    { it: 'the version that the release has -> nothing', ...served(), context: context({ token: 1 }), actions: [], ready: 'True Running' },
    { it: 'rotated -> a normal rollout', ...served(), context: context({ token: 2 }), actions: [`resolve:${nodeId}:shop/web:1`] },
    { it: 'gone -> told, the old release serves on, nothing starts', ...served(), context: context({}), actions: [], ready: 'False RequiredSecretMissing', conditions: { Available: 'True ReplicasReady' } },
  ])

  it('in a container -> by name and version; env by project < literal < secret', () => {
    const spec = specOf({ secretEnv: [{ name: 'C', secret: 'token' }], env: [{ name: 'B', value: 'own' }, { name: 'C', value: 'hidden' }] })
    const projectEnv = ['A', 'B', 'C'].map((n) => ({ name: n, value: 'project' }))
    const setup = { spec, context: { projectEnv, secretVersions: { token: 7 } }, observed: [seen('shop/web:1')] }
    const { container } = actionOf(passOf(inputOf(setup)), 'ensure:1:0', 'ensureContainer').args
    expect(container.env).toEqual([['A', 'project'], ['B', 'own']])
    expect(container.secretEnv).toEqual([{ name: 'C', secret: { secret: 'token', version: 7 } }])
  })
})

const seen = (image: string) => ({
  node: nodeId,
  unreachable: null,
  containers: [],
  images: { [digestOf(image)]: 'sha256:abc' },
  published: null,
  connections: {},
  resolved: { image, resolved: digestOf(image), from: 'registry' as const, note: '' },
})

describe('container settings', () => {
  it('every field -> on the wire', () => {
    const spec = specOf({
      user: '1000:1000',
      files: [{ path: '/etc/app.conf', content: 'x', mode: '0600' }],
      volumes: [{ name: 'data', path: '/data', readOnly: true }],
      bindMounts: [{ source: '/srv', path: '/srv' }],
      tmpfs: [{ path: '/tmp', sizeBytes: 4096 }],
      shmBytes: 65_536,
      devices: [{ source: '/dev/null' }],
      resources: { memoryBytes: 2 ** 26, cpus: 1.5 },
      publishedPorts: [{ port: 8080, hostPort: 80 }],
    })
    const { container } = actionOf(passOf(inputOf({ spec, observed: [seen('shop/web:1')] })), 'ensure:1:0', 'ensureContainer').args
    expect(container).toMatchObject({
      user: '1000:1000',
      files: [{ path: '/etc/app.conf', content: 'x', mode: 0o600 }],
      mounts: [
        { kind: 'volume', source: `ek-${instance}-${resourceId}-data`, target: '/data', readOnly: true },
        { kind: 'bind', source: '/srv', target: '/srv', readOnly: false },
      ],
      tmpfs: [{ target: '/tmp', sizeBytes: 4096 }],
      shmBytes: 65_536,
      devices: [{ source: '/dev/null', target: '/dev/null', permissions: 'rwm' }],
      resources: { memoryBytes: 2 ** 26, nanoCpus: 1_500_000_000 },
      publishedPorts: [{ containerPort: 8080, hostPort: 80, hostAddress: '127.0.0.1', protocol: 'tcp' }],
    })
  })
})
