import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { networkName } from '../../src/agent/node-network.js'
import { label, volumeName } from '../../src/reconcile/labels.js'
import { openAgentWorld, type AgentWorld } from './agent-world.js'
import { readFileIn, testApp } from './docker-world.js'
import { SmallApi } from './small-api.js'

let world: AgentWorld
let serial = 0
const api = new SmallApi()

beforeAll(async () => {
  await api.start(() => world.subnet)
  world = await openAgentWorld({ apiUrl: api.url })
  await world.connected()
})
afterEach(() => world.removeContainers())
afterAll(async () => {
  await world.close()
  await api.stop()
})

const fresh = () => `app_${++serial}`
const inspect = (name: string) => world.docker.getContainer(name).inspect()
const failure = (reason: string, retryable: boolean, message = /./) =>
  expect.objectContaining({ name: 'ActionFailure', reason, retryable, message: expect.stringMatching(message) as string })
const environOf = async (name: string) => readFileSync(`/proc/${(await inspect(name)).State.Pid}/environ`, 'utf8').split('\0')
const secretEnv = (name: string, secret: string, version = 1) => ({ name, secret: { secret, version } })

describe('environment', () => {
  it('any text, as a literal and as a secret -> the same bytes in the process', async () => {
    const text = fc.string({ unit: fc.constantFrom(...'$#\'"\\(){} =\n\té%`;&|<>*?[]~!a0'), maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 20, maxLength: 40 }), async (pairs) => {
        pairs.forEach(([, secret], i) => api.secrets.set(`s${i}@1`, secret))
        const spec = world.spec(fresh(), {
          env: pairs.map(([plain], i): [string, string] => [`P${i}`, plain]),
          secretEnv: pairs.map((_, i) => secretEnv(`S${i}`, `s${i}`)),
        })
        await world.ensure(spec, 0)
        const wanted = pairs.flatMap(([plain, secret], i) => [`P${i}=${plain}`, `S${i}=${secret}`])
        expect(await environOf(spec.name)).toEqual(expect.arrayContaining(wanted))
        await world.docker.getContainer(spec.name).remove({ force: true })
      }),
      { numRuns: 5 },
    )
  })

  it('a secret for a name that env has -> it wins; asked for once, and nowhere in the labels', async () => {
    api.secrets.set('password@3', 'p$w')
    const spec = world.spec(fresh(), {
      env: [['PASSWORD', 'open']],
      secretEnv: [secretEnv('PASSWORD', 'password', 3), secretEnv('AGAIN', 'password', 3)],
    })
    api.calls.length = 0
    await world.ensure(spec)
    await world.ensure(spec)
    expect((await environOf(spec.name)).filter((e) => /^(PASSWORD|AGAIN)=/.test(e)).sort()).toEqual(['AGAIN=p$w', 'PASSWORD=p$w'])
    expect(api.calls).toEqual([
      { method: 'secretValues', params: { resource: spec.labels[label.resource], refs: [{ secret: 'password', version: 3 }] } },
    ])
    expect(JSON.stringify((await inspect(spec.name)).Config.Labels)).not.toContain('p$w')
  })

  it('a secret that is not there -> its own reason, nothing is made; there -> made', async () => {
    const spec = world.spec(fresh(), { secretEnv: [secretEnv('A', 'late')] })
    await expect(world.ensure(spec)).rejects.toEqual(failure('RequiredSecretMissing', true, /late@1/))
    expect((await world.observe(spec.labels[label.resource] ?? '')).containers).toEqual([])
    api.secrets.set('late@1', 'here')
    expect(await world.ensure(spec)).toMatchObject({ created: true })
  })

  it('a secret that no environment can hold -> refused, and the refusal does not quote it', async () => {
    api.secrets.set('binary@1', 'hid\0den')
    const refused = world.ensure(world.spec(fresh(), { secretEnv: [secretEnv('A', 'binary')] }))
    await expect(refused).rejects.toEqual(failure('BadAction', false, /^(?!.*hid).*NUL/))
  })
})

describe('files', () => {
  it('literal and secret -> there at the start, with mode, owner and parents; not in the labels, not on the host', async () => {
    api.secrets.set('key@1', '-----BEGIN-----\né\n')
    const spec = world.spec(fresh(), {
      user: '1000:1001',
      files: [
        { path: '/etc/app/app.conf', mode: 0o644, content: 'a = 1\n' },
        { path: '/secret/deep/key.pem', mode: 0o400, content: { secret: 'key', version: 1 } },
      ],
    })
    await world.ensure(spec)
    expect(await readFileIn(world.docker, spec.name, '/etc/app/app.conf')).toEqual({ content: 'a = 1\n', mode: 0o644, uid: 1000 })
    expect(await readFileIn(world.docker, spec.name, '/secret/deep/key.pem')).toEqual({
      content: '-----BEGIN-----\né\n',
      mode: 0o400,
      uid: 1000,
    })
    const info = await inspect(spec.name)
    expect(info.Config.User).toBe('1000:1001')
    expect(JSON.stringify(info)).not.toContain('BEGIN')
    expect(info.Mounts).toEqual([])
  })

  it('a crash between create and upload -> the next attempt writes them; one that ran keeps what it made of them', async () => {
    const files = [{ path: '/conf', mode: 0o644, content: 'first' }]
    const spec = world.spec(fresh(), { files })
    await world.ensure(world.spec(fresh()))
    const made = await world.docker.createContainer({
      name: spec.name,
      Image: testApp,
      Labels: spec.labels,
      HostConfig: { NetworkMode: networkName(world.instance) },
    })
    expect(await world.ensure(spec)).toMatchObject({ containerId: made.id, created: false })
    expect(await readFileIn(world.docker, spec.name, '/conf')).toMatchObject({ content: 'first' })
    await world.docker.getContainer(spec.name).kill()
    await world.ensure({ ...spec, files: [{ path: '/conf', mode: 0o644, content: 'second' }] })
    expect(await readFileIn(world.docker, spec.name, '/conf')).toMatchObject({ content: 'first' })
  })

  it('in a volume -> into the volume; where it would be on the host or lost at the start -> refused', async () => {
    const resource = fresh()
    const file = (path: string) => [{ path, mode: 0o644, content: 'x' }]
    const mount = (kind: 'volume' | 'bind', source: string, readOnly: boolean) => [{ kind, source, target: '/data', readOnly }]
    const volume = volumeName(world.instance, resource, 'data')
    const spec = world.spec(resource, { files: file('/data/deep/x'), mounts: mount('volume', volume, false) })
    await world.ensure(spec)
    expect(await readFileIn(world.docker, spec.name, '/data/deep/x')).toMatchObject({ content: 'x' })
    const refused = failure('FileNotPlaceable', false)
    await expect(
      world.ensure(world.spec(fresh(), { files: file('/data/x'), mounts: mount('bind', '/tmp', false) })),
    ).rejects.toEqual(refused)
    await expect(
      world.ensure(world.spec(fresh(), { files: file('/t//x'), tmpfs: [{ target: '/t/', sizeBytes: null }] })),
    ).rejects.toEqual(refused)
    const readOnly = world.spec(resource, {
      files: file('/data/x'),
      mounts: mount('volume', volume, true),
      name: `${spec.name}-ro`,
    })
    await expect(world.ensure(readOnly)).rejects.toEqual(refused)
  })
})

describe('volumes and limits', () => {
  it('a volume -> made with its owner in the labels; the container retired -> it stays, and the next one has it', async () => {
    const resource = fresh()
    const source = volumeName(world.instance, resource, 'data')
    const spec = world.spec(resource, { mounts: [{ kind: 'volume', source, target: '/data', readOnly: false }] })
    await world.ensure(spec)
    const { Labels } = await world.docker.getVolume(source).inspect()
    expect(Labels).toEqual({
      [label.instance]: world.instance,
      [label.kind]: 'application',
      [label.resource]: resource,
      [label.volume]: 'data',
    })
    await world.retire(spec, 1)
    expect((await world.docker.getVolume(source).inspect()).Labels).toEqual(Labels)
    expect(await world.ensure(spec)).toMatchObject({ created: true })
  })

  it("somebody else's volume -> refused for good", async () => {
    const resource = fresh()
    const source = volumeName(world.instance, resource, 'foreign')
    await world.docker.createVolume({ Name: source, Labels: { [label.instance]: world.instance, [label.resource]: 'app_other' } })
    const spec = world.spec(resource, { mounts: [{ kind: 'volume', source, target: '/data', readOnly: false }] })
    await expect(world.ensure(spec)).rejects.toEqual(failure('VolumeForeign', false, /app_other/))
  })

  it('a user that the image does not know -> refused for good', async () => {
    await expect(world.ensure(world.spec(fresh(), { user: 'nobody-here' }))).rejects.toEqual(failure('UserNotFound', false))
  })

  it('limits -> in force and observed; changed in place -> the same process', async () => {
    const resource = fresh()
    const [less, more] = [32 * 1024 * 1024, 64 * 1024 * 1024]
    const spec = world.spec(resource, { resources: { memoryBytes: less, nanoCpus: null } })
    const { containerId } = await world.ensure(spec)
    const set = (resources: { memoryBytes: number | null; nanoCpus: number | null }) =>
      world.act('setResources', { name: spec.name, resources }, { resource, container: spec.name })
    const observed = async () => (await world.observe(resource)).containers[0]
    expect(await observed()).toMatchObject({ limits: { memoryBytes: less, nanoCpus: null } })
    const before = await observed()
    expect(await set({ memoryBytes: more, nanoCpus: 500_000_000 })).toEqual({})
    expect(await observed()).toEqual({ ...before, limits: { memoryBytes: more, nanoCpus: 500_000_000 } })
    expect((await inspect(containerId)).HostConfig.MemorySwap).toBe(more)
    expect(await set({ memoryBytes: more, nanoCpus: null })).toEqual({})
    await expect(set({ memoryBytes: null, nanoCpus: 1e15 })).rejects.toEqual(failure('ResourcesNotApplied', true))
    await expect(
      world.act('setResources', { name: spec.name, resources: { memoryBytes: less, nanoCpus: null } }, { resource: 'app_other' }),
    ).rejects.toEqual(failure('NameTaken', false))
  })
})
