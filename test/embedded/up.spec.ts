import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { homeAt } from '../../src/embedded/home.js'
import { removeOwned } from '../../src/embedded/owned-things.js'
import { HomeLock } from '../../src/embedded/home-lock.js'
import { freePort, portHolder } from '../../src/embedded/ports.js'
import { alive } from '../../src/embedded/processes.js'
import { PROJECT_ROOT } from '../../src/embedded/project-root.js'
import { label } from '../../src/reconcile/labels.js'

const docker = new Docker()
const PORTS = ['API', 'TEMPORAL', 'TEMPORAL_UI', 'POSTGRES', 'DEMO', 'WORKER_METRICS'] as const
type PortName = (typeof PORTS)[number]

describe('npm run up and down', () => {
  let home: string
  let ports: Record<PortName, number>

  beforeAll(async () => {
    home = await mkdtemp(join(homedir(), '.ek-up-'))
    await chmod(home, 0o700)
    const chosen = await Promise.all(PORTS.map(async (name) => [name, await freePort()] as const))
    ports = Object.fromEntries(chosen) as Record<PortName, number>
  })

  afterAll(async () => {
    // Not by `down`, which is under test here: whatever happened, nothing may be left.
    await new HomeLock(homeAt(home)).end('SIGTERM', 60_000)
    await removeOwned(docker, await instance().catch(() => 'none'), true, () => {})
    await rm(home, { recursive: true, force: true })
  }, 120_000)

  /** What a person types, with this test's state directory and ports. */
  function evenkeel(...args: string[]): Promise<{ code: number | null; output: string }> {
    const own = Object.fromEntries(PORTS.map((name) => [`EVENKEEL_${name}_PORT`, String(ports[name])]))
    const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
      cwd: PROJECT_ROOT,
      env: { ...process.env, ...own, EVENKEEL_HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
  }

  const url = (name: PortName, path = '/'): string => `http://127.0.0.1:${ports[name]}${path}`
  const answers = (address: string): Promise<boolean> =>
    fetch(address, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.ok,
      () => false,
    )
  const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
    for (const deadline = Date.now() + 60_000; !(await condition()); await sleep(200)) {
      if (Date.now() > deadline) throw new Error(`${what} did not happen`)
    }
  }
  const firstNumber = async (file: string): Promise<number> => Number.parseInt(await readFile(join(home, file), 'utf8'), 10)
  const pidOf = (name: string): Promise<number> => firstNumber(`run/${name}.pid`)
  const instance = async (): Promise<string> => (await readFile(join(home, 'instance'), 'utf8')).trim()
  const owned = async (kind?: string): Promise<string[]> => {
    const filters = { label: [`${label.instance}=${await instance()}`, ...(kind ? [`${label.kind}=${kind}`] : [])] }
    return (await docker.listContainers({ all: true, filters })).map((container) => container.Id)
  }

  it(
    'up in an empty directory -> everything runs, the demo is Ready, secrets are the owner’s',
    { timeout: 300_000 },
    async () => {
      const { code, output } = await evenkeel('up', '--detach')
      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('Evenkeel is ready after') as string })
      for (const text of [
        url('API', '/graphql'),
        url('TEMPORAL_UI', ''),
        url('DEMO', ''),
        join(home, 'secrets', 'owner-token'),
      ]) {
        expect(output).toContain(text)
      }
      expect(await (await fetch(url('DEMO'))).text()).toContain('nginx')
      await expect.poll(() => answers(url('API', '/readyz'))).toBe(true)
      expect((await stat(join(home, 'secrets', 'owner-token'))).mode & 0o777).toBe(0o600)
    },
  )

  it('password of the database -> in no argument of a process and in no log', async () => {
    const password = (await readFile(join(home, 'postgres', 'password'), 'utf8')).trim()
    for (const name of ['supervisor', 'api', 'worker', 'agent']) {
      expect(await readFile(`/proc/${await pidOf(name)}/cmdline`, 'utf8')).not.toContain(password)
      expect(await readFile(join(home, 'run', `${name}.log`), 'utf8')).not.toContain(password)
    }
  })

  it('second up for the same directory -> says that it runs already', async () => {
    const { code, output } = await evenkeel('up')
    expect(code).toBe(1)
    expect(output).toContain(`Evenkeel already runs for ${home} (process ${await pidOf('supervisor')})`)
  })

  it('kill -9 of every part -> all run again, and the demo was not touched', { timeout: 120_000 }, async () => {
    const before = await owned('nginxdemo')
    const parts = await Promise.all([
      ...['api', 'worker', 'agent'].map(pidOf),
      firstNumber('temporal/temporal.pid'),
      firstNumber('postgres/data/postmaster.pid'),
    ])
    for (const pid of parts) process.kill(pid, 'SIGKILL')
    await until('the parts running again', async () => {
      const now = await Promise.all(['api', 'worker', 'agent'].map((name) => pidOf(name).catch(() => 0)))
      return now.every((pid) => !parts.includes(pid) && alive(pid)) && answers(url('API', '/readyz'))
    })
    expect(await owned('nginxdemo')).toEqual(before)
  })

  it('SIGTERM to the supervisor -> the control plane ends, the demo goes on; up -> adopts it', { timeout: 240_000 }, async () => {
    const before = await owned('nginxdemo')
    const supervisor = await pidOf('supervisor')
    process.kill(supervisor, 'SIGTERM')
    await until('the end of the supervisor', () => Promise.resolve(!alive(supervisor)))
    expect(PORTS.filter((name) => name !== 'DEMO' && portHolder(ports[name]))).toEqual([])
    await expect.poll(() => answers(url('DEMO'))).toBe(true)

    const { code, output } = await evenkeel('up', '--detach')
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(await owned('nginxdemo')).toEqual(before)
  })

  it(
    'kill -9 of the supervisor -> its processes end by themselves; up -> takes over what is left',
    { timeout: 240_000 },
    async () => {
      const children = await Promise.all(['api', 'worker', 'agent'].map(pidOf))
      process.kill(await pidOf('supervisor'), 'SIGKILL')
      await until('the end of its processes', () => Promise.resolve(!children.some(alive)))
      const { code, output } = await evenkeel('up', '--detach')
      expect({ code, output }).toMatchObject({ code: 0 })
      await expect.poll(() => answers(url('DEMO'))).toBe(true)
    },
  )

  it('down -> nothing of this instance is left on the engine, its data stays', { timeout: 120_000 }, async () => {
    const { code, output } = await evenkeel('down')
    expect({ code, output }).toMatchObject({ code: 0 })
    const filters = { label: [`${label.instance}=${await instance()}`] }
    expect(await docker.listContainers({ all: true, filters })).toEqual([])
    expect(await docker.listNetworks({ filters })).toEqual([])
    expect(await answers(url('API', '/healthz'))).toBe(false)
  })

  it('a taken port -> an error that names its holder and the setting', { timeout: 120_000 }, async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(ports.API, '127.0.0.1', resolve))
    const { code, output } = await evenkeel('up')
    server.close()
    expect(code).toBe(1)
    expect(output).toMatch(new RegExp(`Port ${ports.API} for the API is taken by process ${process.pid} .*EVENKEEL_API_PORT`))
    expect(portHolder(ports.POSTGRES)).toBeUndefined()
  })

  it('down --volumes -> the data is gone, too', { timeout: 120_000 }, async () => {
    expect(await evenkeel('down', '--volumes')).toMatchObject({ code: 0 })
    await expect(stat(home)).rejects.toThrow('ENOENT')
  })
})
