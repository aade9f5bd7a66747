import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/embedded/ports.js'
import { startPostgres, type PostgresOptions, type RunningPostgres } from '../../src/embedded/postgres.js'

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

describe('startPostgres', () => {
  let home: string
  let options: PostgresOptions
  let server: RunningPostgres

  beforeAll(async () => {
    home = await mkdtemp(join(homedir(), '.ek-postgres-'))
    await chmod(home, 0o700)
    options = { stateDir: join(home, 'state'), port: await freePort(), log: () => {} }
    server = await startPostgres(options)
  })

  afterAll(async () => {
    await server?.stop()
    await rm(home, { recursive: true, force: true })
  })

  it('below a 0700 home -> a PostgreSQL that keeps what it promised (fsync on)', async () => {
    const [row] = await query(server.url, `SELECT current_setting('fsync') AS fsync, current_database() AS database`)
    expect(row).toEqual({ fsync: 'on', database: 'evenkeel' })
  })

  it('password -> needed, and readable by its owner only', async () => {
    const file = join(options.stateDir, 'password')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(server.url).toContain((await readFile(file, 'utf8')).trim())
    const wrong = new URL(server.url)
    wrong.password = 'wrong'
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed')
  })

  it('listening -> on the loopback address only, and on no unix socket', async () => {
    const [row] = await query(
      server.url,
      `SELECT current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets`,
    )
    expect(row).toEqual({ addresses: '127.0.0.1', sockets: '' })
  })

  it('killed in the middle -> starts again with what was committed', async () => {
    await query(server.url, 'CREATE TABLE kept (n int)')
    await query(server.url, 'INSERT INTO kept VALUES (42)')
    process.kill(server.pid, 'SIGKILL')
    expect(await server.ended).toContain('SIGKILL')
    server = await startPostgres(options)
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 42 }])
  })

  it('stale postmaster.pid with the number of a foreign process -> starts all the same', async () => {
    const pidFile = join(options.stateDir, 'data', 'postmaster.pid')
    const lines = (await readFile(pidFile, 'utf8')).split('\n')
    process.kill(server.pid, 'SIGKILL')
    await server.ended
    await writeFile(pidFile, [String(process.pid), ...lines.slice(1)].join('\n'))
    server = await startPostgres(options)
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 42 }])
  })

  it('left behind by a starter that was killed -> ended and started anew', async () => {
    const before = server.pid
    server = await startPostgres(options)
    expect(server.pid).not.toBe(before)
    expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 42 }])
  })

  it('cluster exists -> is not made again', async () => {
    await server.stop()
    const said: string[] = []
    const made = async () => (await stat(join(options.stateDir, 'data', 'PG_VERSION'))).mtimeMs
    const before = await made()
    server = await startPostgres({ ...options, log: (line) => said.push(line) })
    expect({ made: await made(), said }).toEqual({ made: before, said: [] })
  })

  it('stopped -> the next start finds a clean shutdown', async () => {
    await server.stop()
    const log = await readFile(join(options.stateDir, 'postgres.log'), 'utf8')
    expect(log.trim().split('\n').at(-1)).toContain('database system is shut down')
    server = await startPostgres(options)
  })

  it('port taken -> an error that names the holder and the setting', async () => {
    const other = await mkdtemp(join(tmpdir(), 'ek-postgres-'))
    await expect(startPostgres({ ...options, stateDir: other })).rejects.toThrow(
      new RegExp(`Port ${options.port} for PostgreSQL is taken by process ${server.pid} .*EVENKEEL_POSTGRES_PORT`),
    )
    await rm(other, { recursive: true, force: true })
  })
})
