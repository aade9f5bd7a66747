import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../embedded/home.js'
import { freePort } from '../embedded/ports.js'
import { startPostgres } from '../embedded/postgres.js'
import type { HomeLock } from '../embedded/home-lock.js'
import type { SetupLog } from '../embedded/setup-log.js'
import type { Settings } from '../settings.js'

/**
 * Gives `use` the database of an instance: somebody else's server, the one that `up` runs now, or, when the instance
 * is stopped, one that is started for this and stopped afterwards.
 */
export async function withInstanceDatabase<T>(
  { home, settings, lock, log }: { home: Home; settings: Settings; lock: HomeLock; log: SetupLog },
  use: (url: string) => Promise<T>,
): Promise<T> {
  if (settings.databaseUrl) return use(settings.databaseUrl)
  if (lock.running() !== undefined) return use(await runningDatabase(home))
  if (!(await lock.claim())) throw new Error('Evenkeel is just being started: try again when it runs')
  try {
    return await withOwnServer(home.postgresDir, log, use)
  } finally {
    await lock.release()
  }
}

/** Runs the embedded server on `stateDir` for as long as `use` takes, on a port that nobody else needs. */
export async function withOwnServer<T>(stateDir: string, log: SetupLog, use: (url: string) => Promise<T>): Promise<T> {
  const server = await startPostgres({ stateDir, port: await freePort(), log })
  try {
    return await use(server.url)
  } finally {
    await server.stop()
  }
}

/** PostgreSQL writes its port beside its data, so whoever asks needs not know how `up` was configured. */
async function runningDatabase({ postgresDir }: Home): Promise<string> {
  const password = (await readFile(join(postgresDir, 'password'), 'utf8')).trim()
  const port = (await readFile(join(postgresDir, 'data', 'postmaster.pid'), 'utf8')).split('\n')[3]
  return `postgresql://evenkeel:${encodeURIComponent(password)}@127.0.0.1:${port}/evenkeel`
}
