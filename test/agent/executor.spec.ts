import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { networkName } from '../../src/agent/node-network.js'
import { label } from '../../src/reconcile/labels.js'
import { freePort } from '../../src/embedded/ports.js'
import { openAgentWorld, until, type AgentWorld } from './agent-world.js'
import { testApp } from './docker-world.js'

let world: AgentWorld
let serial = 0
let resource: string

beforeAll(async () => {
  world = await openAgentWorld()
})
afterEach(async () => {
  const mine = await world.docker.listContainers({
    all: true,
    filters: { label: [`${label.instance}=${world.instance}`, `${label.kind}=application`] },
  })
  await Promise.all(
    mine.map((c) =>
      world.docker
        .getContainer(c.Id)
        .remove({ force: true })
        .catch(() => undefined),
    ),
  )
})
afterAll(() => world.close())

const fresh = () => (resource = `app_${++serial}`)
const inspect = (name: string) => world.docker.getContainer(name).inspect()
const failure = (reason: string, retryable: boolean, message = /./) =>
  expect.objectContaining({ name: 'ActionFailure', reason, retryable, message: expect.stringMatching(message) as string })

describe('ensureContainer', () => {
  it('nothing there -> running, ready and widened; again -> the same container', async () => {
    const spec = world.spec(fresh(), { address: world.address(10) })
    const first = await world.ensure(spec)
    expect(first).toMatchObject({ created: true, ready: true })
    const info = await inspect(spec.name)
    expect(info.HostConfig.RestartPolicy?.Name).toBe('unless-stopped')
    expect(info.HostConfig.LogConfig).toEqual({ Type: 'local', Config: { 'max-file': '3', 'max-size': '10m' } })
    expect(info.NetworkSettings.Networks[networkName(world.instance)]?.IPAddress).toBe(world.address(10))
    expect(await world.ensure(spec)).toEqual({ containerId: first.containerId, created: false, ready: true })
  })

  it('env with every kind of quoting -> the same bytes in the process', async () => {
    const values = [
      'ab$cd$$ef',
      'p__$85',
      "array:'self',blob:",
      '"x"',
      'se#cret#',
      'AbCd+/9=',
      '-----BEGIN-----\nabc\n-----END-----\n',
      'a\r\nb\tc',
      '  é % `id` \\ (x)',
      '',
    ]
    const env = values.map((value, i): [string, string] => [`K${i}`, value])
    const spec = world.spec(fresh(), { env })
    await world.ensure(spec)
    const { Pid } = (await inspect(spec.name)).State
    const real = readFileSync(`/proc/${Pid}/environ`, 'utf8').split('\0')
    expect(real).toEqual(expect.arrayContaining(env.map(([name, value]) => `${name}=${value}`)))
  })

  it('two attempts at once -> one container', async () => {
    const spec = world.spec(fresh())
    const results = await Promise.all([world.ensure(spec), world.ensure(spec), world.ensure(spec)])
    expect(new Set(results.map((r) => r.containerId)).size).toBe(1)
    expect(results.filter((r) => r.created).length).toBe(1)
  })

  it('a crash between create and start -> the next attempt adopts it', async () => {
    const spec = world.spec(fresh())
    await world.ensure(spec)
    await world.docker.getContainer(spec.name).remove({ force: true })
    const made = await world.docker.createContainer({
      name: spec.name,
      Image: testApp,
      Labels: spec.labels,
      HostConfig: { NetworkMode: networkName(world.instance) },
    })
    await world.restartAgent()
    expect(await world.ensure(spec)).toMatchObject({ containerId: made.id, created: false, ready: true })
  })

  it.each(['kill', 'stop', 'pause'] as const)('after docker %s -> the same container runs again', async (command) => {
    const spec = world.spec(fresh())
    const { containerId } = await world.ensure(spec)
    await world.docker.getContainer(spec.name)[command]()
    expect(await world.ensure(spec)).toMatchObject({ containerId, created: false, ready: true })
  })

  it('docker rm -f is under way, its address still held -> a new container at the same address', async () => {
    for (const delayMs of [0, 5, 20, 50, 100, 200]) {
      const spec = world.spec(fresh(), { address: world.address(20) })
      const { containerId } = await world.ensure(spec)
      const removal = world.docker.getContainer(spec.name).remove({ force: true })
      await sleep(delayMs)
      await world.ensure(spec)
      await removal
      // What still ran when it was looked at is found missing by the next pass.
      const { containerId: last } = await world.ensure(spec)
      expect(last).not.toBe(containerId)
      expect((await world.observe(resource)).containers).toMatchObject([
        { id: last, state: 'running', address: world.address(20) },
      ])
      await world.retire(spec, 1)
    }
  })

  it("somebody else's container has the name -> refused until it is gone, and it is not touched", async () => {
    const spec = world.spec(fresh())
    const foreign = await world.docker.createContainer({ name: spec.name, Image: testApp, HostConfig: { NetworkMode: 'none' } })
    try {
      await foreign.start()
      await expect(world.ensure(spec)).rejects.toEqual(
        failure('NameTaken', true, /not from Evenkeel: remove or rename that container/),
      )
      await expect(world.retire(spec)).rejects.toEqual(
        failure('NameTaken', true, /not from Evenkeel: remove or rename that container/),
      )
      expect((await foreign.inspect()).State.Running).toBe(true)
    } finally {
      await foreign.remove({ force: true })
    }
    await world.ensure(spec)
    expect((await world.observe(resource)).containers).toMatchObject([{ name: spec.name, state: 'running' }])
  })

  it("another instance's container has the name -> refused until it is gone", async () => {
    const spec = world.spec(fresh())
    const foreign = await world.docker.createContainer({
      name: spec.name,
      Image: testApp,
      Labels: { ...spec.labels, [label.instance]: 'other' },
    })
    try {
      await expect(world.ensure(spec)).rejects.toEqual(
        failure('NameTaken', true, /another Evenkeel instance \(other\): remove or rename/),
      )
    } finally {
      await foreign.remove({ force: true })
    }
  })

  it('our own container with another spec has the name -> refused, and said so', async () => {
    const spec = world.spec(fresh())
    await world.ensure(spec)
    const changed = { ...spec, labels: { ...spec.labels, [label.specHash]: 'other' } }
    await expect(world.ensure(changed)).rejects.toEqual(
      failure('NameTaken', false, /our own container .* another evenkeel.spec-hash/),
    )
  })

  it('labels of another resource in the spec -> refused before anything is made', async () => {
    const spec = world.spec(fresh())
    await expect(
      world.act('ensureContainer', { container: spec, awaitReadyMs: 0 }, { resource: 'app_other', container: spec.name }),
    ).rejects.toEqual(failure('BadAction', false))
    expect((await world.observe(resource)).containers).toEqual([])
  })

  it('renamed by a person -> the address is awaited, then its holder is named', async () => {
    const spec = world.spec(fresh(), { address: world.address(30) })
    await world.ensure(spec)
    await world.docker.getContainer(spec.name).rename({ name: `${spec.name}-old` })
    const blocked = world.ensure(spec)
    await expect(blocked).rejects.toEqual(failure('AddressInUse', true, new RegExp(`held by container ${spec.name}-old`)))
    const again = world.ensure(spec)
    await sleep(300)
    await world.act('retireContainer', { name: `${spec.name}-old`, graceSeconds: 1 }, { resource, key: 'stray' })
    expect(await again).toMatchObject({ ready: true })
  })

  it('the network was removed -> made again, and a container that ran before is made anew', async () => {
    const spec = world.spec(fresh(), { address: world.address(40) })
    const { containerId } = await world.ensure(spec)
    await world.docker.getContainer(spec.name).kill()
    await world.docker.getNetwork(networkName(world.instance)).remove()
    const again = await world.ensure(spec)
    expect(again.containerId).not.toBe(containerId)
    expect((await world.observe(resource)).containers).toMatchObject([{ state: 'running', address: world.address(40) }])
  })

  it('a command that is not in the image -> its own reason, for good', async () => {
    const spec = world.spec(fresh(), { entrypoint: ['/nope'] })
    await expect(world.ensure(spec)).rejects.toEqual(failure('CommandNotFound', false))
  })

  it('an image that is not here -> its own reason', async () => {
    await expect(world.ensure(world.spec(fresh(), { image: 'evenkeel/no-such:1' }))).rejects.toEqual(
      failure('ImageMissing', true),
    )
  })

  it('a port that a process or a container holds -> the holder is named; free again -> it starts', async () => {
    const port = await freePort()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    const publishedPorts = [{ containerPort: 8080, hostPort: port, hostAddress: '127.0.0.1', protocol: 'tcp' as const }]
    const spec = world.spec(fresh(), { publishedPorts })
    await expect(world.ensure(spec)).rejects.toEqual(
      failure('PortTaken', true, new RegExp(`port ${port} is held by process ${process.pid} `)),
    )
    await new Promise((resolve) => server.close(resolve))
    expect(await world.ensure(spec)).toMatchObject({ ready: true })
    const second = world.spec(fresh(), { publishedPorts })
    await expect(world.ensure(second)).rejects.toEqual(failure('PortTaken', true, new RegExp(`held by container ${spec.name}`)))
  })

  it('a UDP port that a process holds -> named too', async () => {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    const { port } = socket.address()
    const published = { containerPort: 53, hostPort: port, hostAddress: '127.0.0.1', protocol: 'udp' as const }
    try {
      await expect(world.ensure(world.spec(fresh(), { publishedPorts: [published] }))).rejects.toEqual(
        failure('PortTaken', true, new RegExp(`port ${port} is held by process ${process.pid} `)),
      )
    } finally {
      socket.close()
    }
  })

  it('not ready in the time it is given -> running, not ready, and its policy stays', async () => {
    const spec = world.spec(fresh(), { env: [['FAIL_READY', '1']] })
    expect(await world.ensure(spec, 150)).toMatchObject({ created: true, ready: false })
    expect((await inspect(spec.name)).HostConfig.RestartPolicy?.Name).toBe('no')
    await expect
      .poll(async () => (await world.observe(resource)).containers[0]?.probe)
      .toEqual({ ready: false, message: 'HTTP 503 from /healthz' })
  })

  it('it ends at once -> started once and not again, not waited for, and its exit code is kept', async () => {
    const spec = world.spec(fresh(), { env: [['EXIT_CODE', '3']] })
    const began = Date.now()
    expect(await world.ensure(spec, 20_000)).toMatchObject({ created: true, ready: false })
    expect(Date.now() - began).toBeLessThan(15_000)
    await until(async () => (await world.observe(resource)).containers[0]?.state === 'exited')
    expect((await world.observe(resource)).containers[0]).toMatchObject({
      exitCode: 3,
      restartPolicy: 'no',
      probe: { ready: false },
    })
  })
})

describe('retireContainer', () => {
  it('a slow end -> it has its whole grace, then it is gone; absent -> fine', async () => {
    const spec = world.spec(fresh(), { env: [['STOP_DELAY_MS', '1500']] })
    await world.ensure(spec)
    const began = Date.now()
    expect(await world.retire(spec, 10)).toEqual({ removed: true })
    expect(Date.now() - began).toBeGreaterThan(1_400)
    expect(await world.retire(spec, 10)).toEqual({ removed: false })
    expect((await world.observe(resource)).containers).toEqual([])
  })

  it('longer than its grace -> killed then, not earlier', async () => {
    const spec = world.spec(fresh(), { env: [['STOP_DELAY_MS', '20000']] })
    await world.ensure(spec)
    const began = Date.now()
    await world.retire(spec, 1)
    expect(Date.now() - began).toBeGreaterThan(900)
    // By itself it would have ended after 20 s.
    expect(Date.now() - began).toBeLessThan(15_000)
  })

  it('paused -> it hears the signal all the same', async () => {
    const spec = world.spec(fresh(), { env: [['STOP_DELAY_MS', '300']] })
    await world.ensure(spec)
    await world.docker.getContainer(spec.name).pause()
    expect(await world.retire(spec, 5)).toEqual({ removed: true })
  })

  it('never started, or being removed by somebody -> gone', async () => {
    const spec = world.spec(fresh())
    await world.docker.createContainer({ name: spec.name, Image: testApp, Labels: spec.labels })
    expect(await world.retire(spec)).toEqual({ removed: true })
    await world.ensure(spec)
    await Promise.all([world.docker.getContainer(spec.name).remove({ force: true }), world.retire(spec)])
    expect((await world.observe(resource)).containers).toEqual([])
  })

  it('cancelled while it waits for the end -> the action ends, the policy is off', async () => {
    const spec = world.spec(fresh(), { env: [['STOP_DELAY_MS', '20000']] })
    await world.ensure(spec)
    const cancel = new AbortController()
    const retiring = world.act(
      'retireContainer',
      { name: spec.name, graceSeconds: 30 },
      { resource, container: spec.name },
      cancel.signal,
    )
    await sleep(200)
    cancel.abort(new Error('cancelled'))
    await expect(retiring).rejects.toThrow('cancelled')
    expect((await inspect(spec.name)).HostConfig.RestartPolicy?.Name).toBe('no')
  })
})

describe('images', () => {
  it('a local name that no registry serves -> its id, and why', async () => {
    const id = (await world.docker.getImage(testApp).inspect()).Id
    expect(await world.act('resolveImage', { image: testApp, platform: null })).toMatchObject({ resolved: id, from: 'image-id' })
  })

  it('not here and no registry -> retryable; pulled -> the same', async () => {
    const image = '127.0.0.1:1/evenkeel/none:1'
    await expect(world.act('resolveImage', { image, platform: null })).rejects.toEqual(failure('RegistryUnreachable', true))
    await expect(world.act('pullImage', { image })).rejects.toEqual(failure('RegistryUnreachable', true))
  })

  it('a registry that hangs -> a pull is cancelled at once; a fleet of local images waits for it once', async () => {
    const server = createServer(() => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const local = `127.0.0.1:${port}/evenkeel/testapp:1`
    await world.docker.getImage(testApp).tag({ repo: `127.0.0.1:${port}/evenkeel/testapp`, tag: '1' })
    try {
      const cancel = new AbortController()
      const pull = world.act('pullImage', { image: `127.0.0.1:${port}/x:1` }, {}, cancel.signal)
      await sleep(200)
      cancel.abort(new Error('superseded'))
      await expect(pull).rejects.toThrow('superseded')

      const began = Date.now()
      expect(await world.act('resolveImage', { image: local, platform: null })).toMatchObject({ from: 'image-id' })
      const firstMs = Date.now() - began
      const again = Date.now()
      for (let i = 0; i < 5; i++) await world.act('resolveImage', { image: local, platform: null })
      expect(Date.now() - again).toBeLessThan(firstMs)
    } finally {
      server.close()
      await world.docker
        .getImage(local)
        .remove()
        .catch(() => undefined)
    }
  })

  it('observed -> ids of what is here, null for the rest', async () => {
    const { images } = await world.observe(fresh(), { images: [testApp, 'evenkeel/no-such:1'] })
    expect(images).toEqual({ [testApp]: (await world.docker.getImage(testApp).inspect()).Id, 'evenkeel/no-such:1': null })
  })
})
