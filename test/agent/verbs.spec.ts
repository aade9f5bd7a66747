import Docker from 'dockerode'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BUSYBOX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import type { ContainerSpec } from '../../src/reconcile/action.js'
import { label, preDeployName, volumeName } from '../../src/reconcile/labels.js'
import { ensureTestImage } from '../setup/test-images.js'
import { openAgentWorld, until, type AgentWorld } from './agent-world.js'
import { SmallApi } from './small-api.js'

let world: AgentWorld
let serial = 0
const api = new SmallApi()

beforeAll(async () => {
  await ensureTestImage(new Docker(), BUSYBOX_IMAGE, () => undefined)
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
const container = (name: string) => world.docker.getContainer(name)
const failure = (reason: string, retryable: boolean, message = /./) =>
  expect.objectContaining({ name: 'ActionFailure', reason, retryable, message: expect.stringMatching(message) as string })
const resourceOf = (spec: ContainerSpec) => spec.labels[label.resource] ?? ''

/** A container whose program is a shell script, without a readiness probe. */
function script(text: string, { labels: more = {}, ...change }: Partial<ContainerSpec> = {}): ContainerSpec {
  const spec = world.spec(fresh(), { image: BUSYBOX_IMAGE, command: ['sh', '-c', text], ...change })
  const { [label.probe]: _, ...labels } = spec.labels
  return { ...spec, labels: { ...labels, ...more } }
}

describe('runToEnd', () => {
  const job = (text: string, change: Partial<ContainerSpec> = {}) => {
    const spec = script(text, change)
    const name = preDeployName(world.instance, resourceOf(spec), 1)
    return { ...spec, name, labels: { ...spec.labels, [label.purpose]: 'pre-deploy' } }
  }
  /** A job that says when it is ready to hear signals. */
  const armed = (spec: ContainerSpec) =>
    until(async () => {
      const running = (await world.observe(resourceOf(spec))).containers[0]?.state === 'running'
      return running && String(await container(spec.name).logs({ stdout: true })).includes('armed')
    })
  const run = (spec: ContainerSpec, signal?: AbortSignal) =>
    world.act(
      'runToEnd',
      { container: spec },
      { resource: resourceOf(spec), container: spec.name, key: `pre ${spec.name}` },
      signal,
    )

  it('a command that ends well -> its exit code; again -> the same, and it ran once', async () => {
    const spec = job('echo once; sleep 0.3')
    expect(await run(spec)).toEqual({ exitCode: 0 })
    const { State } = await container(spec.name).inspect()
    expect(await run(spec)).toEqual({ exitCode: 0 })
    await world.restartAgent()
    expect(await run(spec)).toEqual({ exitCode: 0 })
    expect((await container(spec.name).inspect()).State.StartedAt).toBe(State.StartedAt)
    const { containers } = await world.observe(resourceOf(spec))
    expect(containers).toMatchObject([{ state: 'exited', purpose: 'pre-deploy', restartPolicy: 'no' }])
  })

  it('it fails, or wants too much memory -> PreDeployFailed with how, and never again', async () => {
    const spec = job('exit 3')
    await expect(run(spec)).rejects.toEqual(failure('PreDeployFailed', false, /exit code 3/))
    await expect(run(spec)).rejects.toEqual(failure('PreDeployFailed', false, /exit code 3/))
    const greedy = job('x=a; while :; do x=$x$x; done', { resources: { memoryBytes: 8 * 1024 * 1024, nanoCpus: null } })
    await expect(run(greedy)).rejects.toEqual(failure('PreDeployFailed', false, /exit code/))
  })

  it('two at once -> one run, and both have its end', async () => {
    const spec = job('sleep 0.5; exit 0')
    expect(await Promise.all([run(spec), run(spec)])).toEqual([{ exitCode: 0 }, { exitCode: 0 }])
  })

  it('an address and a policy -> not used, so that it never meets the replica', async () => {
    const spec = job('true', { address: world.address(50), restartPolicy: 'unless-stopped' })
    expect(await run(spec)).toEqual({ exitCode: 0 })
    expect((await container(spec.name).inspect()).HostConfig.RestartPolicy?.Name).toBe('no')
    expect((await world.observe(resourceOf(spec))).containers[0]?.address).not.toBe(world.address(50))
  })

  it('found running, as after a crash of the agent -> waited for; killed meanwhile -> that is its end', async () => {
    const spec = job('sleep 30')
    const first = run(spec).catch((error: unknown) => error)
    await until(async () => (await world.observe(resourceOf(spec))).containers[0]?.state === 'running')
    await container(spec.name).kill()
    expect(await first).toEqual(failure('PreDeployFailed', false, /137/))
    await expect(run(spec)).rejects.toEqual(failure('PreDeployFailed', false, /137/))
  })

  it('cancelled -> it is stopped with its grace', async () => {
    const spec = job('trap "sleep 0.5; exit 7" TERM; echo armed; while :; do sleep 0.1; done', { stopGraceSeconds: 5 })
    const cancel = new AbortController()
    const running = run(spec, cancel.signal)
    await armed(spec)
    cancel.abort(new Error('superseded'))
    await expect(running).rejects.toThrow('superseded')
    expect((await container(spec.name).inspect()).State).toMatchObject({ Status: 'exited', ExitCode: 7 })
  })

  it('the agent ends meanwhile -> it goes on, and the next attempt has its end', async () => {
    const spec = job('trap "exit 0" USR1; echo armed; while :; do sleep 0.1; done')
    const cancel = new AbortController()
    const running = run(spec, cancel.signal)
    await armed(spec)
    cancel.abort(new Error('WORKER_SHUTDOWN'))
    await expect(running).rejects.toThrow('WORKER_SHUTDOWN')
    const again = run(spec)
    await container(spec.name).kill({ signal: 'SIGUSR1' })
    expect(await again).toEqual({ exitCode: 0 })
  })

  it.each(['1000', '1000660000:1000660000'])('files and secrets -> there, readable for its user %s', async (user) => {
    api.secrets.set('dsn@1', 'postgres://x')
    const spec = job('test "$(cat /run/deep/dsn)" = "$DSN"', {
      user,
      files: [{ path: '/run/deep/dsn', mode: 0o400, content: { secret: 'dsn', version: 1 } }],
      secretEnv: [{ name: 'DSN', secret: { secret: 'dsn', version: 1 } }],
    })
    expect(await run(spec)).toEqual({ exitCode: 0 })
  })

  it('a program that is not there -> CommandNotFound', async () => {
    await expect(run(job('', { command: ['/nope'] }))).rejects.toEqual(failure('CommandNotFound', false))
  })
})

describe('restartContainer', () => {
  const restart = (spec: ContainerSpec, graceSeconds = 5) =>
    world.act('restartContainer', { name: spec.name, graceSeconds }, { resource: resourceOf(spec), container: spec.name })

  it('running -> the same container, a new run, its files kept; stopped, as after a crash in between -> started', async () => {
    const spec = script('trap "exit 0" TERM; while :; do sleep 0.1; done', {
      files: [{ path: '/conf', mode: 0o644, content: 'x' }],
    })
    const { containerId } = await world.ensure(spec)
    const { StartedAt } = (await container(spec.name).inspect()).State
    expect(await restart(spec)).toEqual({})
    const after = await container(spec.name).inspect()
    expect(after.Id).toBe(containerId)
    expect(after.State.Running && after.State.StartedAt > StartedAt).toBe(true)
    await container(spec.name).stop({ t: 1 })
    expect(await restart(spec)).toEqual({})
    expect((await container(spec.name).inspect()).State.Running).toBe(true)
  })

  it("it ignores SIGTERM -> killed when its grace is over; somebody else's or none -> refused", async () => {
    const spec = script('trap "" TERM; while :; do sleep 0.1; done')
    await world.ensure(spec)
    const began = Date.now()
    await restart(spec, 1)
    expect(Date.now() - began).toBeGreaterThan(900)
    const asOther = world.act('restartContainer', { name: spec.name, graceSeconds: 1 }, { resource: 'app_other' })
    await expect(asOther).rejects.toEqual(failure('NameTaken', true))
    const none = world.act('restartContainer', { name: 'ek-none', graceSeconds: 1 }, { resource: resourceOf(spec) })
    await expect(none).rejects.toEqual(failure('NotFound', true))
  })
})

describe('removeVolume', () => {
  const remove = (name: string, resource: string, signal?: AbortSignal) =>
    world.act('removeVolume', { name }, { resource, key: `volume ${name}` }, signal)
  const mounting = (source: string) => ({ mounts: [{ kind: 'volume' as const, source, target: '/data', readOnly: false }] })
  const volumeIsThere = (name: string) =>
    world.docker
      .getVolume(name)
      .inspect()
      .then(
        () => true,
        () => false,
      )
  const withVolume = () => {
    const resource = fresh()
    const name = volumeName(world.instance, resource, 'data')
    return { resource, name, spec: world.spec(resource, { image: BUSYBOX_IMAGE, command: ['sleep', '60'], ...mounting(name) }) }
  }

  it('its container is gone -> seen, removed with what it holds, and gone; again, also with the answer lost -> success', async () => {
    const { resource, name, spec } = withVolume()
    await world.ensure(spec, 0)
    await world.retire(spec, 1)
    expect((await world.observe(resource, { volumes: true })).volumes).toEqual([name])
    expect(await remove(name, resource)).toEqual({ removed: true })
    expect(await remove(name, resource)).toEqual({ removed: false })
    await world.restartAgent()
    expect(await remove(name, resource)).toEqual({ removed: false })
    expect((await world.observe(resource, { volumes: true })).volumes).toEqual([])
    expect(await volumeIsThere(name)).toBe(false)
  })

  it('nobody asks for volumes -> none are told', async () => {
    expect(await world.observe(fresh())).not.toHaveProperty('volumes')
  })

  it('two at once -> one of them removed it, and both succeed', async () => {
    const { resource, name, spec } = withVolume()
    await world.ensure(spec, 0)
    await world.retire(spec, 1)
    const answers = await Promise.all([remove(name, resource), remove(name, resource)])
    expect(answers.map((a) => a.removed)).toContain(true)
    expect(await volumeIsThere(name)).toBe(false)
  })

  it('a container has it, ours or anybody else’s -> VolumeInUse, and what is in it stays', async () => {
    const { resource, name, spec } = withVolume()
    await world.ensure(spec, 0)
    await expect(remove(name, resource)).rejects.toEqual(failure('VolumeInUse', true, /volume is in use/))
    await world.retire(spec, 1)
    const theirs = await world.docker.createContainer({
      Image: BUSYBOX_IMAGE,
      Labels: { [label.instance]: world.instance, [label.kind]: 'application', [label.resource]: 'app_reader' },
      HostConfig: { Mounts: [{ Type: 'volume', Source: name, Target: '/their-data' }] } as object,
    })
    await expect(remove(name, resource)).rejects.toEqual(failure('VolumeInUse', true))
    expect(await volumeIsThere(name)).toBe(true)
    await theirs.remove({ force: true })
    expect(await remove(name, resource)).toEqual({ removed: true })
  })

  it("another resource's, another instance's, or nobody's, by whatever name -> never removed, and not seen", async () => {
    const resource = fresh()
    const own = { [label.instance]: world.instance, [label.kind]: 'application', [label.resource]: resource }
    const foreign: [string, Record<string, string>, RegExp][] = [
      [volumeName(world.instance, resource, 'of-another'), { ...own, [label.resource]: 'app_other' }, /application app_other/],
      [volumeName(world.instance, resource, 'of-a-demo'), { ...own, [label.kind]: 'nginxdemo' }, /nginxdemo/],
      [
        volumeName(world.instance, resource, 'elsewhere'),
        { ...own, [label.instance]: 'other' },
        /another Evenkeel instance \(other\)/,
      ],
      [volumeName(world.instance, resource, 'plain'), {}, /not from Evenkeel/],
    ]
    for (const [Name, Labels] of foreign) await world.docker.createVolume({ Name, Labels })
    try {
      expect((await world.observe(resource, { volumes: true })).volumes).toEqual([])
      for (const [name, , why] of foreign) {
        await expect(remove(name, resource)).rejects.toEqual(failure('VolumeForeign', false, why))
        expect(await volumeIsThere(name)).toBe(true)
      }
    } finally {
      for (const [name] of foreign) await world.docker.getVolume(name).remove()
    }
  })
})

describe('keepLog', () => {
  const keep = (spec: ContainerSpec, lines: number) =>
    world.act('keepLog', { name: spec.name, lines }, { resource: resourceOf(spec), container: spec.name })
  const logOf = async (spec: ContainerSpec, lines: number) => {
    await until(async () => (await world.observe(resourceOf(spec))).containers[0]?.state === 'exited')
    const { sha256 } = await keep(spec, lines)
    return sha256 === null ? null : (api.artifacts.get(sha256)?.toString('utf8') ?? 'not kept')
  }

  it('both streams -> the last lines in their order; broken characters replaced', async () => {
    const spec = script('for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf "a\\377b\\n"; exit 1')
    await world.ensure(spec)
    const all = ((await logOf(spec, 10)) ?? '').split('\n').slice(0, -1)
    // The engine reads two streams, each by itself.
    expect(all.filter((line) => !line.startsWith('err'))).toEqual(['out 1', 'out 2', 'out 3', 'a\uFFFDb'])
    expect(all.filter((line) => line.startsWith('err'))).toEqual(['err 1', 'err 2', 'err 3'])
    expect(await logOf(spec, 4)).toBe(all.slice(-4).map((line) => `${line}\n`).join(''))
  })

  it('long lines, and many -> cut, and the last that fit', async () => {
    const spec = script(
      'i=0; while [ $i -lt 40 ]; do printf "%03d" $i; head -c 5000 /dev/zero | tr "\\0" x; echo; i=$((i+1)); done',
    )
    await world.ensure(spec)
    const lines = ((await logOf(spec, 40)) ?? '').split('\n').slice(0, -1)
    expect(lines.every((line) => line.length === 2048)).toBe(true)
    expect(lines.length).toBe(15)
    expect(lines.at(-1)?.slice(0, 3)).toBe('039')
  })

  it('it wrote nothing, or is gone -> null; of another resource -> refused', async () => {
    const spec = script('true')
    await world.ensure(spec)
    expect(await logOf(spec, 10)).toBeNull()
    await expect(world.act('keepLog', { name: spec.name, lines: 1 }, { resource: 'app_other' })).rejects.toEqual(
      failure('NameTaken', true),
    )
    await world.removeContainers()
    expect(await keep(spec, 10)).toEqual({ sha256: null })
  })
})

describe('liveness and commands as probes', () => {
  const probe = (command: string[], change: object = {}) =>
    JSON.stringify({ kind: 'exec', command, intervalMs: 300, timeoutMs: 2_000, failureThreshold: 2, ...change })
  const state = async (spec: ContainerSpec) => (await world.observe(resourceOf(spec))).containers[0]?.probe
  const serving = (labels: Record<string, string>) => script('trap "exit 0" TERM; while :; do sleep 0.1; done', { labels })

  it('it hangs while it is ready -> told with a nudge; restarted -> it lives', async () => {
    const spec = serving({
      [label.probe]: probe(['true']),
      [label.liveness]: probe(['sh', '-c', 'test ! -e /tmp/hangs || { echo it hangs; exit 1; }']),
    })
    await world.ensure({ ...spec, tmpfs: [{ target: '/tmp', sizeBytes: null }] })
    await until(async () => (await state(spec))?.live === true)
    const mark = await container(spec.name).exec({ Cmd: ['touch', '/tmp/hangs'] })
    await mark.start({ Detach: true })
    await until(() => world.nudges.some((n) => n.resource === resourceOf(spec) && n.why.includes('hangs')))
    expect(await state(spec)).toMatchObject({ ready: true, live: false, liveMessage: 'it hangs' })
    await world.act(
      'restartContainer',
      { name: spec.name, graceSeconds: 5 },
      { resource: resourceOf(spec), container: spec.name },
    )
    await until(async () => (await state(spec))?.live === true)
    expect(await state(spec)).toMatchObject({ ready: true, live: true })
  })

  it('a command that does not end -> a failure, and its process does not stay', async () => {
    const spec = serving({ [label.probe]: probe(['sleep', '60'], { timeoutMs: 300 }) })
    await world.ensure(spec, 100)
    await until(async () => /did not end within 300 ms/.test((await state(spec))?.message ?? ''))
    const { Processes } = (await container(spec.name).top({ ps_args: '-o pid,args' })) as { Processes: string[][] }
    expect(Processes.filter((p) => p.join(' ').includes('sleep 60')).length).toBeLessThanOrEqual(1)
  })

  it('no such command in the image -> a failure that says so', async () => {
    const spec = serving({ [label.probe]: probe(['/no/such/tool']) })
    await world.ensure(spec, 100)
    await until(async () => /no such file/.test((await state(spec))?.message ?? ''))
  })
})
