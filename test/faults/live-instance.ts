import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import pg from 'pg'
import { freePort } from '../../src/embedded/ports.js'
import { alive } from '../../src/embedded/processes.js'
import { run } from '../../src/embedded/program.js'
import { PROJECT_ROOT } from '../../src/embedded/project-root.js'
import { label } from '../../src/reconcile/labels.js'

const portNames = ['API', 'TEMPORAL', 'TEMPORAL_UI', 'POSTGRES', 'DEMO', 'WORKER_METRICS', 'HTTP', 'HTTPS'] as const
type PortName = (typeof portNames)[number]

/** What can be killed of an instance. */
export type PartName = 'worker' | 'agent' | 'api' | 'temporal' | 'postgres' | 'supervisor'
export const parts: PartName[] = ['worker', 'agent', 'api', 'temporal', 'postgres']

export interface Ran {
  code: number | null
  output: string
}

export interface OwnContainer {
  id: string
  name: string
  resource: string
  release: number
  replica: number
  state: string
  address: string
  startedAt: string
}

/** A whole Evenkeel as a person has it: its own state directory and ports, started by the programs that npm runs. */
export class LiveInstance {
  private constructor(
    readonly home: string,
    readonly ports: Record<PortName, number>,
    readonly docker: Docker,
    private readonly environment: Record<string, string>,
  ) {}

  /** `dockerHost`: another engine than the machine's own. */
  static async prepare(dockerHost?: string): Promise<LiveInstance> {
    // Nothing when it is up to date.
    await run(process.execPath, [join(PROJECT_ROOT, 'scripts', 'run.mjs'), 'build'])
    const home = await mkdtemp(join(homedir(), '.ek-live-'))
    await chmod(home, 0o700)
    const chosen = await Promise.all(portNames.map(async (name) => [name, await freePort()] as const))
    const docker = dockerHost === undefined ? new Docker() : new Docker({ socketPath: dockerHost.replace('unix://', '') })
    return new LiveInstance(home, Object.fromEntries(chosen) as Record<PortName, number>, docker, {
      EVENKEEL_DNS_TTL_SECONDS: '1',
      ...(dockerHost === undefined ? {} : { DOCKER_HOST: dockerHost }),
    })
  }

  /** The same ports in another state directory. */
  elsewhere(home: string): LiveInstance {
    return new LiveInstance(home, this.ports, this.docker, this.environment)
  }

  /** Runs one of the verbs of `npm run`, on what is built. */
  run(verb: 'up' | 'down' | 'backup' | 'restore', ...args: string[]): Promise<Ran> {
    const file = verb === 'backup' || verb === 'restore' ? `backup/${verb}.main.js` : `${verb}.main.js`
    const own = Object.fromEntries(portNames.map((name) => [`EVENKEEL_${name}_PORT`, String(this.ports[name])]))
    const child = spawn(process.execPath, ['--enable-source-maps', join(PROJECT_ROOT, 'dist/src', file), ...args], {
      cwd: PROJECT_ROOT,
      env: { ...process.env, ...own, ...this.environment, EVENKEEL_HOME: this.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
  }

  async up(...args: string[]): Promise<string> {
    const { code, output } = await this.run('up', '--detach', ...args)
    if (code !== 0) throw new Error(`up failed (${code}): ${output}`)
    return output
  }

  /** Ends the control plane as Ctrl-C does; containers go on. */
  async stop(): Promise<void> {
    const pid = await this.pidOf('supervisor')
    process.kill(pid, 'SIGTERM')
    await until('the end of the supervisor', () => !alive(pid))
  }

  /** Everything that it owns, and its state directory. */
  async destroy(): Promise<void> {
    await this.run('down', '--volumes')
    await rm(this.home, { recursive: true, force: true })
  }

  async pidOf(part: PartName): Promise<number> {
    const file = { temporal: 'temporal/temporal.pid', postgres: 'postgres/data/postmaster.pid' }[part as string] ?? `run/${part}.pid`
    return Number.parseInt(await readFile(join(this.home, file), 'utf8'), 10)
  }

  /** kill -9; returns when the process is gone. */
  async kill(part: PartName): Promise<void> {
    const pid = await this.pidOf(part)
    process.kill(pid, 'SIGKILL')
    await until(`the end of ${part}`, () => !alive(pid))
  }

  /** Every process of it at once, as a power cut would. */
  async killAll(): Promise<void> {
    const pids = await Promise.all((['supervisor', ...parts] as PartName[]).map((part) => this.pidOf(part)))
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await until('the end of all processes', () => !pids.some(alive))
  }

  async isReady(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.ports.API}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
    return response?.ok ?? false
  }

  get demoUrl(): string {
    return `http://127.0.0.1:${this.ports.DEMO}`
  }

  async instance(): Promise<string> {
    return (await readFile(join(this.home, 'instance'), 'utf8')).trim()
  }

  /** Data of a GraphQL operation by the owner; an error is thrown. */
  async graphql<T = Record<string, unknown>>(query: string, variables: object = {}): Promise<T> {
    const token = (await readFile(join(this.home, 'secrets', 'owner-token'), 'utf8')).trim()
    const response = await fetch(`http://127.0.0.1:${this.ports.API}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(20_000),
    })
    const { data, errors } = (await response.json()) as { data?: T; errors?: { message: string }[] }
    if (!data || errors) throw new Error(`GraphQL: ${errors?.map((e) => e.message).join('; ')}`)
    return data
  }

  /** This instance's containers, whatever their state, ordered by name. */
  async containers(filter: { kind?: string; resource?: string } = {}): Promise<OwnContainer[]> {
    const labels = [`${label.instance}=${await this.instance()}`]
    if (filter.kind) labels.push(`${label.kind}=${filter.kind}`)
    if (filter.resource) labels.push(`${label.resource}=${filter.resource}`)
    const found = await this.docker.listContainers({ all: true, filters: { label: labels } })
    const all = await Promise.all(
      found.map(async ({ Id, Names, Labels }): Promise<OwnContainer | null> => {
        const info = await this.docker.getContainer(Id).inspect().catch(() => null)
        return (
          info && {
            id: Id,
            name: (Names[0] ?? '').slice(1),
            resource: Labels[label.resource] ?? '',
            release: Number(Labels[label.release]),
            replica: Number(Labels[label.replica]),
            state: info.State.Paused ? 'paused' : info.State.Status,
            address: Object.values(info.NetworkSettings.Networks).map((n) => n.IPAddress)[0] ?? '',
            startedAt: info.State.StartedAt,
          }
        )
      }),
    )
    return all.filter((c) => c !== null).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Rows of its database, asked by the side entrance. */
  async sql<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    const password = (await readFile(join(this.home, 'postgres', 'password'), 'utf8')).trim()
    const client = new pg.Client({ host: '127.0.0.1', port: this.ports.POSTGRES, user: 'evenkeel', password, database: 'evenkeel' })
    await client.connect()
    try {
      return (await client.query<T>(text, values)).rows
    } finally {
      await client.end()
    }
  }
}

/** Waits for what has to happen soon; how long it took, in milliseconds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<number> {
  const began = Date.now()
  for (;;) {
    if (await condition()) return Date.now() - began
    if (Date.now() - began > timeoutMs) throw new Error(`${what} did not happen within ${timeoutMs / 1_000} s`)
    await sleep(100)
  }
}
