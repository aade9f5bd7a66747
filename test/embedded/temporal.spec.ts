import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cacheDir } from '../../src/embedded/cache-dir.js'
import { freePort } from '../../src/embedded/ports.js'
import { ensureTemporalBinary, startTemporal, type RunningTemporal, type TemporalOptions } from '../../src/embedded/temporal.js'

describe('startTemporal', () => {
  let stateDir: string
  let options: TemporalOptions
  let server: RunningTemporal

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'ek-temporal-'))
    options = {
      binary: await ensureTemporalBinary({ cacheDir: cacheDir(), log: () => {} }),
      stateDir,
      grpcPort: await freePort(),
      uiPort: await freePort(),
      log: () => {},
      searchAttributes: { evenkeelKind: 'Keyword', evenkeelGeneration: 'Int' },
      dynamicConfig: { 'frontend.workerHeartbeatsEnabled': true },
    }
    server = await startTemporal(options)
  })

  afterAll(async () => {
    await server?.stop()
    await rm(stateDir, { recursive: true, force: true })
  })

  const withConnection = async <T>(use: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await Connection.connect({ address: server.address })
    try {
      return await use(connection)
    } finally {
      await connection.close()
    }
  }

  const describeNamespace = () =>
    withConnection((connection) => connection.workflowService.describeNamespace({ namespace: 'default' }))

  it('started -> the namespace keeps closed workflows for seven days', async () => {
    const retention = (await describeNamespace()).config?.workflowExecutionRetentionTtl
    expect(Number(retention?.seconds)).toBe(7 * 86_400)
  })

  it('search attributes given at start -> known to the server', async () => {
    const known = await withConnection((connection) => connection.operatorService.listSearchAttributes({ namespace: 'default' }))
    expect(Object.keys(known.customAttributes ?? {})).toEqual(expect.arrayContaining(['evenkeelKind', 'evenkeelGeneration']))
  })

  it('UI -> served on its port', async () => {
    const page = await fetch(server.uiUrl)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('<html')
  })

  it('database file -> its name carries the server version', async () => {
    const files = (await readdir(stateDir)).filter((file) => file.endsWith('.sqlite'))
    expect(files).toHaveLength(1)
    expect(files[0]).toMatch(/^temporal-\d+\.\d+\.\d+\.sqlite$/)
  })

  it('killed -> says so, and starts again on the same file with one more search attribute', async () => {
    process.kill(server.pid, 'SIGKILL')
    expect(await server.ended).toContain('SIGKILL')
    server = await startTemporal({ ...options, searchAttributes: { ...options.searchAttributes, evenkeelReady: 'Keyword' } })
    const known = await withConnection((connection) => connection.operatorService.listSearchAttributes({ namespace: 'default' }))
    expect(Object.keys(known.customAttributes ?? {})).toEqual(expect.arrayContaining(['evenkeelKind', 'evenkeelReady']))
  })

  it('left behind by a starter that was killed -> ended by the next start', async () => {
    const before = server.pid
    server = await startTemporal(options)
    expect(server.pid).not.toBe(before)
    await describeNamespace()
  })

  it('port taken -> an error that names the holder', async () => {
    const other = await mkdtemp(join(tmpdir(), 'ek-temporal-'))
    await expect(startTemporal({ ...options, stateDir: other })).rejects.toThrow(
      new RegExp(`taken by process ${server.pid} .*start-dev.*EVENKEEL_TEMPORAL_PORT`),
    )
    await rm(other, { recursive: true, force: true })
  })
})
