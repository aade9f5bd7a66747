import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { requireFreePort } from './ports.js'
import { PidFile } from './processes.js'
import { Service, type Ending } from './service.js'
import { ensureNamespace, type SearchAttributes } from '../temporal/namespace.js'
import { serverVersion } from './temporal-binary.js'
import type { SetupLog } from './setup-log.js'

export { ensureTemporalBinary } from './temporal-binary.js'

const HOST = '127.0.0.1'
/** The namespace that the dev server always makes. */
export const TEMPORAL_NAMESPACE = 'default'
const START_TIMEOUT_MS = 60_000

/**
 * The dev server's own choice is a rollback journal: four fsyncs and some sixty page writes a transaction (measured). A
 * write-ahead log needs none of the fsyncs to survive a killed process; a power cut may lose the last moments, which the
 * sweep makes good, because workflows are a cache.
 */
const sqlitePragmas = ['journal_mode=WAL', 'synchronous=NORMAL']

export interface TemporalOptions {
  readonly binary: string
  readonly stateDir: string
  readonly grpcPort: number
  readonly uiPort: number
  readonly log: SetupLog
  readonly searchAttributes?: SearchAttributes
  /** Server settings by name, each a JSON value. */
  readonly dynamicConfig?: Readonly<Record<string, unknown>>
}

export interface RunningTemporal {
  readonly address: string
  readonly uiUrl: string
  readonly pid: number
  /** Settles when the server is gone, with the reason. */
  readonly ended: Promise<Ending>
  stop(): Promise<void>
}

/**
 * Starts the Temporal dev server with its UI, both on the loopback address only: open-source Temporal
 * has no authorisation, so whoever reaches its port owns every workflow.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 })
  await chmod(options.stateDir, 0o700)
  const database = join(options.stateDir, databaseName(await serverVersion(options.binary)))
  const pidFile = new PidFile(join(options.stateDir, 'temporal.pid'))
  await pidFile.end()
  await requireFreePort(options.grpcPort, 'Temporal', 'EVENKEEL_TEMPORAL_PORT')
  await requireFreePort(options.uiPort, "Temporal's UI", 'EVENKEEL_TEMPORAL_UI_PORT')

  const service = Service.start({
    name: 'Temporal',
    file: options.binary,
    args: serverArguments(options, database),
    logFile: join(options.stateDir, 'temporal.log'),
  })
  pidFile.write(service.pid)
  const stop = async (): Promise<void> => {
    await service.stop()
    pidFile.remove()
  }
  const address = `${HOST}:${options.grpcPort}`
  try {
    await service.waitUntil(
      () => ensureNamespace(address, TEMPORAL_NAMESPACE, options.searchAttributes ?? {}),
      START_TIMEOUT_MS,
      100,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { address, uiUrl: `http://${HOST}:${options.uiPort}`, pid: service.pid, ended: service.ended, stop }
}

/**
 * The dev server does not migrate a file that another version wrote, so each version has its own.
 * Nothing is lost: workflows are a cache that the sweep rebuilds from PostgreSQL and Docker.
 */
export function databaseName(version: string): string {
  return `temporal-${version}.sqlite`
}

export function serverArguments(options: TemporalOptions, database: string): string[] {
  return [
    'server',
    'start-dev',
    '--ip',
    HOST,
    '--port',
    String(options.grpcPort),
    '--ui-ip',
    HOST,
    '--ui-port',
    String(options.uiPort),
    '--ui-disable-news-fetch',
    '--db-filename',
    database,
    '--log-level',
    'warn',
    ...sqlitePragmas.flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...Object.entries(options.dynamicConfig ?? {}).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
  ]
}
