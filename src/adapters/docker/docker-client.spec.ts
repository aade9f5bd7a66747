import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import util from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DockerClient } from './docker-client.js'

describe('DockerClient', () => {
  let folder: string
  let server: Server
  let connections: number

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'docker-client-'))
    connections = 0
    server = createServer((request, response) => {
      const version = { Version: '20.10.24', ApiVersion: '1.41', MinAPIVersion: '1.12' }
      const body = request.url?.endsWith('/version') ? version : []
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    server.on('connection', () => connections++)
    await new Promise<void>((resolve) => server.listen(join(folder, 'docker.sock'), resolve))
  })
  afterEach(() => {
    vi.restoreAllMocks()
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })

  it('many calls at once -> a connection each, and none is written out for a log that nobody reads', async () => {
    const described = vi.spyOn(util, 'inspect')
    const client = new DockerClient(join(folder, 'docker.sock'))
    const calls = Array.from({ length: 50 }, () => client.call('read', 10_000, (d) => d.listContainers()))
    expect(await Promise.all(calls)).toHaveLength(50)
    expect(connections).toBe(51)
    const texts = described.mock.results.map(({ value }) => String(value))
    expect(texts.length).toBeGreaterThan(50)
    expect(texts.filter((text) => text.length > 100)).toEqual([])
  })
})
