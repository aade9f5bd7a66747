import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { containerSpecSchema, type ContainerSpec } from '../../reconcile/action.js'
import { label } from '../../reconcile/labels.js'
import type { Engine, EngineEvent, EngineFile, EngineNetwork, LogLine } from './engine.js'

/** One engine with what the suite needs around it. Everything that it makes is removed by `dispose`. */
export interface EngineUnderTest {
  engine: Engine
  /** Does not exist at the start. */
  network: EngineNetwork
  /** Addresses in the network, outside its dynamic range. */
  addresses: [string, string]
  /** Labels that nothing else on the engine carries. */
  labels: Record<string, string>
  /** A local image whose container runs until it is asked to end, and then ends with 0. */
  image: string
  /** A reference whose registry cannot be reached. */
  unreachableImage: string
  /** Environment with which the image's container ends at once, with this exit code. */
  exitingEnv(code: number): [string, string][]
  /** As a person would: behind the engine's back. */
  pause(name: string): Promise<void>
  removeNetwork(): Promise<void>
  /** What a program in the container would read; null = there is no such file. */
  readFile(container: string, path: string): Promise<{ content: string; mode: number } | null>
  envOf(container: string): Promise<string[]>
  makeVolume(name: string, labels: Record<string, string>): Promise<void>
  /** A folder and a device that the machine has. */
  hostPaths: { folder: string; device: string }
  dispose(): Promise<void>
}

/** What every Engine has to do: run against Docker, and against the model of it that the simulation uses. */
export function engineContract(name: string, open: () => Promise<EngineUnderTest>): void {
  describe(`Engine contract: ${name}`, () => {
    let world: EngineUnderTest
    let engine: Engine
    let serial = 0

    beforeAll(async () => {
      world = await open()
      engine = world.engine
      await engine.ensureNetwork(world.network, world.labels)
    })
    afterEach(async () => {
      for (const container of await engine.list(world.labels)) await engine.remove(container.id, true)
    })
    afterAll(() => world.dispose())

    const spec = (change: Partial<ContainerSpec> = {}): ContainerSpec =>
      containerSpecSchema.parse({
        name: `ek-contract-${process.pid}-${++serial}`,
        image: world.image,
        labels: { ...world.labels, serial: String(serial) },
        env: [],
        address: null,
        restartPolicy: 'no',
        stopGraceSeconds: 5,
        ...change,
      })
    const create = async (change: Partial<ContainerSpec> = {}) => {
      const wanted = spec(change)
      const { id } = await engine.create(wanted, world.network)
      return { ...wanted, id }
    }
    const until = async (holds: () => Promise<boolean>) => {
      const deadline = Date.now() + 10_000
      while (!(await holds())) {
        if (Date.now() > deadline) throw new Error('it did not come about within 10 s')
        await sleep(20)
      }
    }
    const failure = (reason: string, retryable: boolean) => expect.objectContaining({ name: 'EngineFailure', reason, retryable })

    it('nothing of these labels -> an empty list; no such name -> null', async () => {
      expect(await engine.list(world.labels)).toEqual([])
      expect(await engine.inspect('ek-no-such-container')).toBeNull()
    })

    it('created -> found by name, id and labels, not yet started', async () => {
      const made = await create({ address: world.addresses[0], restartPolicy: 'unless-stopped' })
      const found = await engine.inspect(made.name)
      expect(found).toMatchObject({
        id: made.id,
        name: made.name,
        labels: made.labels,
        state: 'created',
        exitCode: null,
        startedAt: null,
        restartCount: 0,
        restartPolicy: 'unless-stopped',
        address: world.addresses[0],
      })
      expect(await engine.inspect(made.id)).toEqual(found)
      expect(await engine.list(world.labels)).toEqual([found])
      expect(found?.imageId).toBe(await engine.imageId(world.image))
    })

    it('a name twice -> NameTaken, and the first one is untouched', async () => {
      const made = await create()
      await expect(engine.create(spec({ name: made.name }), world.network)).rejects.toEqual(failure('NameTaken', true))
      expect((await engine.inspect(made.name))?.id).toBe(made.id)
    })

    it('an image that is not here -> ImageMissing', async () => {
      await expect(create({ image: `sha256:${'0'.repeat(64)}` })).rejects.toEqual(failure('ImageMissing', true))
      expect(await engine.imageId(`sha256:${'0'.repeat(64)}`)).toBeNull()
    })

    it('started -> running at its address; started again -> fine', async () => {
      const made = await create({ address: world.addresses[0] })
      const before = Date.now()
      await engine.start(made.name)
      const found = await engine.inspect(made.name)
      expect(found).toMatchObject({ state: 'running', address: world.addresses[0], exitCode: null })
      expect(found?.startedAt).toBeGreaterThan(before - 5_000)
      await engine.start(made.id)
      expect((await engine.inspect(made.name))?.startedAt).toBe(found?.startedAt)
    })

    it('no address asked for -> one from the network', async () => {
      const made = await create()
      await engine.start(made.name)
      expect((await engine.inspect(made.name))?.address).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
    })

    it('an absent one started -> NotFound', async () => {
      await expect(engine.start('ek-no-such-container')).rejects.toEqual(failure('NotFound', true))
    })

    it('a fixed address held by another -> AddressInUse until that one is gone', async () => {
      const [address] = world.addresses
      const holder = await create({ address })
      await engine.start(holder.name)
      const wanting = await create({ address })
      await expect(engine.start(wanting.name)).rejects.toEqual(failure('AddressInUse', true))
      expect((await engine.inspect(wanting.name))?.state).toBe('created')
      await engine.remove(holder.name, true)
      await engine.start(wanting.name)
      expect((await engine.inspect(wanting.name))?.address).toBe(address)
    })

    it('stopped -> ended by itself within its grace; stopped again, or absent -> fine', async () => {
      const made = await create()
      await engine.start(made.name)
      await engine.stop(made.name, 5)
      expect(await engine.inspect(made.name)).toMatchObject({ state: 'exited', exitCode: 0 })
      await engine.stop(made.name, 5)
      await engine.stop('ek-no-such-container', 5)
    })

    it('stopped under unless-stopped -> stays stopped; started again -> the same container', async () => {
      const made = await create({ restartPolicy: 'unless-stopped' })
      await engine.start(made.name)
      await engine.stop(made.name, 5)
      await sleep(300)
      expect((await engine.inspect(made.name))?.state).toBe('exited')
      await engine.start(made.name)
      expect(await engine.inspect(made.name)).toMatchObject({ id: made.id, state: 'running' })
    })

    it('removed -> gone; a running one only by force; an absent one -> fine', async () => {
      const made = await create()
      await engine.start(made.name)
      await expect(engine.remove(made.name, false)).rejects.toEqual(expect.objectContaining({ name: 'EngineFailure' }))
      await engine.remove(made.name, true)
      expect(await engine.inspect(made.name)).toBeNull()
      await engine.remove(made.name, true)
      const never = await create()
      await engine.remove(never.name, false)
      expect(await engine.inspect(never.name)).toBeNull()
    })

    it('it ends by itself -> exited with its code; under unless-stopped it is started again and counted', async () => {
      const once = await create({ env: world.exitingEnv(3) })
      await engine.start(once.name)
      await until(async () => (await engine.inspect(once.name))?.state === 'exited')
      expect(await engine.inspect(once.name)).toMatchObject({ exitCode: 3, oomKilled: false, restartCount: 0 })
      const again = await create({ env: world.exitingEnv(3), restartPolicy: 'unless-stopped' })
      await engine.start(again.name)
      await until(async () => ((await engine.inspect(again.name))?.restartCount ?? 0) > 0)
    })

    it('another restart policy -> shown; of an absent one -> NotFound', async () => {
      const made = await create()
      await engine.start(made.name)
      await engine.setRestartPolicy(made.name, 'unless-stopped')
      expect((await engine.inspect(made.name))?.restartPolicy).toBe('unless-stopped')
      await engine.setRestartPolicy(made.name, 'no')
      expect((await engine.inspect(made.name))?.restartPolicy).toBe('no')
      await expect(engine.setRestartPolicy('ek-no-such-container', 'no')).rejects.toEqual(failure('NotFound', true))
    })

    it('paused by somebody -> shown, and unpaused', async () => {
      const made = await create()
      await engine.start(made.name)
      await world.pause(made.name)
      expect((await engine.inspect(made.name))?.state).toBe('paused')
      await engine.unpause(made.name)
      expect((await engine.inspect(made.name))?.state).toBe('running')
    })

    it('an image that no registry gave -> an id and no digest', async () => {
      expect(await engine.imageId(world.image)).toMatch(/^sha256:[0-9a-f]{64}$/)
      expect(await engine.imageId((await engine.imageId(world.image)) ?? '')).toBe(await engine.imageId(world.image))
      expect(await engine.repoDigest(world.image)).toBeNull()
      expect(await engine.imageId(world.unreachableImage)).toBeNull()
    })

    it('a registry out of reach -> RegistryUnreachable, for a digest and for a pull', async () => {
      const { signal } = new AbortController()
      await expect(engine.remoteDigest(world.unreachableImage, signal)).rejects.toEqual(failure('RegistryUnreachable', true))
      await expect(engine.pull(world.unreachableImage, signal)).rejects.toEqual(failure('RegistryUnreachable', true))
    })

    it('secrets -> in the environment byte for byte, in place of an entry of the same name, and nowhere in the labels', async () => {
      const wanted = spec({
        env: [
          ['PLAIN', 'a b'],
          ['KEY', 'open'],
        ],
        secretEnv: [{ name: 'KEY', secret: { secret: 'key', version: 2 } }],
      })
      const value = '$x "q" #\n\té=%'
      await engine.create(wanted, world.network, new Map([['key@2', value]]))
      const env = await world.envOf(wanted.name)
      expect(env).toEqual(expect.arrayContaining(['PLAIN=a b', `KEY=${value}`]))
      expect(env.filter((e) => e.startsWith('KEY='))).toHaveLength(1)
      expect(JSON.stringify((await engine.inspect(wanted.name))?.labels)).not.toContain('$x')
    })

    it('files put into a container that never ran -> there with their modes, replaced when put again', async () => {
      const made = await create()
      const owner = { uid: 0, gid: 0 }
      const long = `/srv/${'folder/'.repeat(20)}${'é'.repeat(40)}`
      const file = (path: string, mode: number, content: string): EngineFile => ({
        path,
        mode,
        owner,
        content: Buffer.from(content),
      })
      await engine.putFiles(made.name, [
        file('/etc/app/conf', 0o640, 'first'),
        file(long, 0o644, ''),
        file('/run.sh', 0o755, '#!'),
      ])
      await engine.putFiles(made.name, [file('/etc/app/conf', 0o600, 'second')])
      await engine.start(made.name)
      expect(await world.readFile(made.name, '/etc/app/conf')).toEqual({ content: 'second', mode: 0o600 })
      expect(await world.readFile(made.name, '/run.sh')).toEqual({ content: '#!', mode: 0o755 })
      expect(await world.readFile(made.name, long)).toEqual({ content: '', mode: 0o644 })
      expect(await world.readFile(made.name, '/none')).toBeNull()
      await expect(engine.putFiles('ek-no-such-container', [])).rejects.toEqual(failure('NotFound', true))
    })

    it('a volume -> made with its owner in the labels, kept when the container goes, mounted again', async () => {
      const name = `ek-contract-volume-${process.pid}-${++serial}`
      const owned: Record<string, string> = { ...world.labels, [label.kind]: 'application', [label.resource]: 'app_a' }
      const mounts = [{ kind: 'volume' as const, source: name, target: '/data', readOnly: false }]
      const made = await create({ labels: owned, mounts })
      const labels = await engine.volumeLabels(name)
      expect(labels).toEqual({ ...owned, [label.volume]: name })
      await engine.start(made.name)
      await engine.remove(made.name, true)
      expect(await engine.volumeLabels(name)).toEqual(labels)
      await create({ labels: owned, mounts })
    })

    it('volumes -> listed by their labels; in use -> not removed, whoever has it; else removed, also twice', async () => {
      const owned = { ...world.labels, [label.kind]: 'application', [label.resource]: 'app_b' }
      const [used, free, other] = ['used', 'free', 'other'].map((what) => `ek-contract-${what}-${process.pid}-${++serial}`) as [
        string,
        string,
        string,
      ]
      const made = await create({ labels: owned, mounts: [{ kind: 'volume', source: used, target: '/data', readOnly: false }] })
      await world.makeVolume(free, owned)
      await world.makeVolume(other, { ...owned, [label.resource]: 'app_c' })
      expect(await engine.volumes(owned)).toEqual([free, used].sort())
      await expect(engine.removeVolume(used)).rejects.toEqual(failure('VolumeInUse', true))
      await engine.remove(made.name, true)
      for (const name of [used, used, free]) await engine.removeVolume(name)
      expect(await engine.volumes(owned)).toEqual([])
      expect(await engine.volumeLabels(used)).toBeNull()
      expect(await engine.volumeLabels(other)).not.toBeNull()
      await engine.removeVolume(other)
    })

    it("somebody else's volume -> VolumeForeign, and no container", async () => {
      const name = `ek-contract-foreign-${process.pid}-${++serial}`
      await world.makeVolume(name, world.labels)
      const labels = { ...world.labels, [label.kind]: 'application', [label.resource]: 'app_a' }
      const wanted = spec({ labels, mounts: [{ kind: 'volume', source: name, target: '/data', readOnly: false }] })
      await expect(engine.create(wanted, world.network)).rejects.toEqual(failure('VolumeForeign', false))
      expect(await engine.inspect(wanted.name)).toBeNull()
    })

    it('a folder or a device that the machine lacks -> its own reason; one that it has -> started', async () => {
      const bind = (source: string) => ({ kind: 'bind' as const, source, target: '/host', readOnly: true })
      const device = (source: string) => ({ source, target: '/dev/given', permissions: 'rwm' })
      await expect(create({ mounts: [bind('/no/such/folder')] })).rejects.toEqual(failure('BindSourceMissing', true))
      const without = await create({ devices: [device('/dev/no-such-device')] })
      await expect(engine.start(without.name)).rejects.toEqual(failure('DeviceMissing', true))
      const { folder, device: present } = world.hostPaths
      const made = await create({
        mounts: [bind(folder)],
        devices: [device(present)],
        tmpfs: [{ target: '/t', sizeBytes: 65536 }],
      })
      await engine.start(made.name)
      expect((await engine.inspect(made.name))?.state).toBe('running')
    })

    it('limits -> shown; changed in a running container; more than the machine has -> ResourcesNotApplied', async () => {
      const [less, more] = [64 * 1024 * 1024, 128 * 1024 * 1024]
      expect((await engine.inspect((await create()).name))?.limits).toEqual({ memoryBytes: null, nanoCpus: null })
      const made = await create({ resources: { memoryBytes: less, nanoCpus: null } })
      await engine.start(made.name)
      expect((await engine.inspect(made.name))?.limits).toEqual({ memoryBytes: less, nanoCpus: null })
      await engine.setResources(made.name, { memoryBytes: more, nanoCpus: 100_000_000 })
      expect((await engine.inspect(made.name))?.limits).toEqual({ memoryBytes: more, nanoCpus: 100_000_000 })
      await engine.setResources(made.name, { memoryBytes: less, nanoCpus: null })
      expect((await engine.inspect(made.name))?.limits).toEqual({ memoryBytes: less, nanoCpus: 100_000_000 })
      const far = { memoryBytes: null, nanoCpus: 1_000_000_000_000_000 }
      await expect(engine.setResources(made.name, far)).rejects.toEqual(failure('ResourcesNotApplied', false))
      await expect(create({ resources: far })).rejects.toEqual(failure('ResourcesNotApplied', false))
      await expect(engine.setResources('ek-no-such-container', far)).rejects.toEqual(
        expect.objectContaining({ name: 'EngineFailure' }),
      )
    })

    it('what a program wrote -> its lines, the last of them when only those are wanted', async () => {
      const made = await create({ env: world.exitingEnv(3) })
      await engine.start(made.name)
      await until(async () => (await engine.inspect(made.name))?.state === 'exited')
      const read = async (tail: number | null) => {
        const lines: LogLine[] = []
        await engine.logs(
          made.name,
          { follow: false, tail, sinceMs: null },
          (line) => lines.push(line),
          new AbortController().signal,
        )
        return lines
      }
      const all = await read(null)
      expect(all.length).toBeGreaterThan(0)
      expect(await read(1)).toEqual(all.slice(-1))
      expect(Date.parse(all[0]?.at ?? '')).not.toBeNaN()
    })

    it('the network twice -> kept; with another subnet -> refused', async () => {
      await engine.ensureNetwork(world.network, world.labels)
      await expect(engine.ensureNetwork({ ...world.network, subnet: '10.9.0.0/20' }, world.labels)).rejects.toEqual(
        expect.objectContaining({ name: 'EngineFailure', retryable: false }),
      )
    })

    it('the network vanished -> NetworkMissing; made again, a container that never ran starts', async () => {
      const made = await create()
      await world.removeNetwork()
      try {
        await expect(engine.start(made.name)).rejects.toEqual(failure('NetworkMissing', true))
      } finally {
        await engine.ensureNetwork(world.network, world.labels)
      }
      await engine.start(made.name)
      expect((await engine.inspect(made.name))?.state).toBe('running')
    })

    it('events -> of these labels only, with name and time; told again from an earlier time on', async () => {
      // A simulated clock may lag behind on a busy machine.
      const from = Date.now() / 1000 - 5
      const heard: EngineEvent[] = []
      const stop = new AbortController()
      const listening = engine.events(world.labels, from, (event) => heard.push(event), stop.signal)
      const made = await create()
      await engine.start(made.name)
      await engine.remove(made.name, true)
      // By their stamps: an older one may come a moment after a younger one.
      const mine = () =>
        heard.filter((e) => e.containerId === made.id).sort((a, b) => Number(BigInt(a.timeNano) - BigInt(b.timeNano)))
      await until(async () => mine().some((e) => e.action === 'destroy'))
      const actions = mine().map((e) => e.action)
      expect(actions.filter((a) => ['create', 'start', 'die', 'destroy'].includes(a))).toEqual([
        'create',
        'start',
        'die',
        'destroy',
      ])
      expect(mine().every((e) => e.containerName === made.name)).toBe(true)
      expect(heard.every((e) => Object.entries(world.labels).every(([key, value]) => e.labels[key] === value))).toBe(true)
      expect(Number(mine()[0]?.timeNano) / 1e9).toBeGreaterThan(from)
      stop.abort()
      await listening

      const repeated: EngineEvent[] = []
      const stopAgain = new AbortController()
      const again = engine.events(world.labels, from, (event) => repeated.push(event), stopAgain.signal)
      await until(async () => repeated.some((e) => e.action === 'destroy' && e.containerId === made.id))
      stopAgain.abort()
      await again
    })
  })
}
