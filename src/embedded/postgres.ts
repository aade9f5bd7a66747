import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { run } from './program.js'
import { postgresPrograms, type PostgresPrograms } from './postgres-programs.js'
import { requireFreePort } from './ports.js'
import { commandLine, endProcess } from './processes.js'
import { Service, type Ending } from './service.js'
import type { SetupLog } from './setup-log.js'

const HOST = '127.0.0.1'
const USER = 'evenkeel'
const DATABASE = 'evenkeel'
const START_TIMEOUT_MS = 60_000
/** After a kill -9 the sessions of the killed server may hold its memory for a moment; a new one refuses until they end. */
const LINGERING_SESSIONS_MS = 10_000

/**
 * What differs from PostgreSQL's defaults. Durability (fsync, full_page_writes, synchronous_commit) stays as it is.
 * jit is off because the queries are small and LLVM is not in the package.
 */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: HOST,
  unix_socket_directories: '',
  max_connections: '100',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
}

export interface PostgresOptions {
  readonly stateDir: string
  readonly port: number
  readonly log: SetupLog
}

export interface RunningPostgres {
  /** With the password: never print it. */
  readonly url: string
  readonly pid: number
  /** Settles when the server is gone, with the reason. */
  readonly ended: Promise<Ending>
  stop(): Promise<void>
}

/** Starts a real PostgreSQL on the loopback address; its files, and the password, live in the state directory. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 })
  const programs = await postgresPrograms()
  const password = await ensurePassword(join(options.stateDir, 'password'))
  const dataDir = join(options.stateDir, 'data')
  await ensureCluster(programs, dataDir, password, options)
  await clearLeftovers(dataDir)
  await requireFreePort(options.port, 'PostgreSQL', 'EVENKEEL_POSTGRES_PORT')

  const url = `postgresql://${USER}:${encodeURIComponent(password)}@${HOST}:${options.port}/${DATABASE}`
  const service = await startServer(programs, dataDir, options, url)
  return { url, pid: service.pid, ended: service.ended, stop: () => service.stop() }
}

async function startServer(programs: PostgresPrograms, dataDir: string, options: PostgresOptions, url: string): Promise<Service> {
  const settings = Object.entries({ ...SERVER_SETTINGS, port: String(options.port) })
  const deadline = Date.now() + LINGERING_SESSIONS_MS
  for (;;) {
    const service = Service.start({
      name: 'PostgreSQL',
      ...programs.command('postgres', ['-D', dataDir, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])]),
      logFile: join(options.stateDir, 'postgres.log'),
      stopSignal: 'SIGINT', // "fast": ends the sessions, writes a checkpoint
      stopGraceMs: 20_000,
    })
    try {
      await service.waitUntil(() => ensureDatabase(url), START_TIMEOUT_MS, 20)
      return service
    } catch (error) {
      await service.stop()
      if (!service.output().includes('is still in use') || Date.now() > deadline) throw error
      await sleep(100)
    }
  }
}

/** Made once, 0600: whoever may read the state directory owns this instance anyway. */
async function ensurePassword(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '')
  if (kept.trim() !== '') return kept.trim()
  const password = randomBytes(24).toString('base64url')
  const fresh = `${file}.new`
  await writeFile(fresh, `${password}\n`, { mode: 0o600 })
  await chmod(fresh, 0o600)
  await rename(fresh, file)
  return password
}

/** Makes the cluster beside its place and moves it there when it is whole: a half-made one is never started. */
async function ensureCluster(
  programs: PostgresPrograms,
  dataDir: string,
  password: string,
  options: PostgresOptions,
): Promise<void> {
  const made = await readFile(join(dataDir, 'PG_VERSION'), 'utf8').catch(() => undefined)
  if (made !== undefined) return requireSameMajor(made.trim(), await programs.major(), dataDir)

  options.log('PostgreSQL: making a new database cluster')
  const scratch = await mkdtemp(join(options.stateDir, '.making-'))
  try {
    const passwordFile = join(scratch, 'password')
    await writeFile(passwordFile, password, { mode: 0o600 })
    const fresh = join(scratch, 'data')
    const { file, args } = programs.command('initdb', [
      `--pgdata=${fresh}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // PostgreSQL's own collation: an index stays valid whatever C library the machine moves to.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ])
    await run(file, args)
    await rename(fresh, dataDir)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

export function requireSameMajor(made: string, installed: string, dataDir: string): void {
  if (made === installed) return
  throw new Error(
    `${dataDir} was made by PostgreSQL ${made}, and this Evenkeel brings ${installed}. ` +
      `Back it up with the Evenkeel that made it, move the folder away, and restore the backup.`,
  )
}

/** Ends a server that runs on this state directory although nobody supervises it any more. */
export function endLeftoverPostgres(stateDir: string): Promise<void> {
  return clearLeftovers(join(stateDir, 'data'))
}

/** Above the highest process id that Linux can give (2^22). */
const NO_PROCESS = 4_194_305

/**
 * After a kill -9 or a power cut the data folder still has a postmaster.pid. PostgreSQL copes with it, except when
 * the number meanwhile belongs to another process, as it often does after a reboot; then it would refuse to start.
 * The file is not removed: its other lines let PostgreSQL see sessions of the killed server that are still ending.
 * A server that our own killed starter left behind is ended, so that one supervisor owns it again.
 */
async function clearLeftovers(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid')
  const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return
  const args = commandLine(pid)
  if (args.includes(dataDir)) await endProcess(pid, 'SIGINT', 20_000)
  else if (args.length > 0) await writeFile(pidFile, [NO_PROCESS, ...lines.slice(1)].join('\n'))
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabase(url, 'postgres'), connectionTimeoutMillis: 5_000 })
  await client.connect()
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`)
  } finally {
    await client.end()
  }
}

/** The same server, another database on it. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${encodeURIComponent(database)}`
  return changed.href
}
