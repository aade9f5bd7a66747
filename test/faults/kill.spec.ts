import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client, Connection } from '@temporalio/client'
import { testAppImage, type TestAppVersion } from '../setup/test-images.js'
import { createProject, LiveApplication } from './live-application.js'
import { LiveInstance, parts, until } from './live-instance.js'

describe('kill -9 in the middle of a roll-out, under load', () => {
  let live: LiveInstance
  let app: LiveApplication
  let release = 1

  beforeAll(async () => {
    live = await LiveInstance.prepare()
    await live.up()
    const project = await createProject(live, 'faults')
    app = await LiveApplication.create(live, project, { name: 'web', image: testAppImage('1'), replicas: 2, drainSeconds: 3, stopGraceSeconds: 3 })
    await app.untilSettled({ release, replicas: 2 })
    await app.serve()
  }, 180_000)

  afterAll(async () => {
    await live.destroy()
  }, 120_000)

  it.each(parts)('%s -> converged, nothing left over, no request lost', { timeout: 180_000 }, async (part) => {
    const versionOf = (n: number): TestAppVersion => (n % 2 === 1 ? '1' : '2')
    const next = release + 1
    const before = await live.pidOf(part)
    const load = app.load()
    await until('load on the old release', () => (load.soFar.versions[versionOf(release)] ?? 0) > 20)
    await app.change({ image: testAppImage(versionOf(next)) })
    await until('the first container of the new release', async () => (await app.containers()).some((c) => c.release === next))
    await live.kill(part)
    const killedAt = Date.now()
    await app.untilSettled({ release: next, replicas: 2 })
    const settledMs = Date.now() - killedAt
    release = next
    await until('load on the new release', () => (load.soFar.versions[versionOf(release)] ?? 0) > 20)
    const result = await load.stop()
    console.log(`kill -9 ${part}: settled after ${settledMs} ms; ${result.sent} requests, ${result.lost} lost, longest gap ${result.longestGapMs} ms`)
    expect(result).toMatchObject({ lost: 0, losses: [] })
    expect(Object.keys(result.versions).sort()).toEqual(['1', '2'])
    await until(`${part} running again`, async () => (await live.pidOf(part).catch(() => before)) !== before && (await live.isReady()))
  })

  it('afterwards -> addresses were given back, one workflow a resource, everything else as it was', async () => {
    const held = await live.sql<{ address: string }>('SELECT address FROM "Endpoint"')
    const given = await live.sql<{ address: string }>('SELECT address FROM "ReleasedAddress"')
    expect(held).toHaveLength(2)
    expect(held.filter((h) => given.some((g) => g.address === h.address))).toEqual([])
    expect(given.length).toBeGreaterThan(0)
    expect((await live.containers()).map((c) => c.resource).sort()).toEqual([app.id, app.id, expect.stringMatching(/^demo_/), 'dns', expect.stringMatching(/^ing_/)])

    const connection = await Connection.connect({ address: `127.0.0.1:${live.ports.TEMPORAL}` })
    try {
      const open: string[] = []
      const client = new Client({ connection })
      for await (const { workflowId } of client.workflow.list({ query: `ExecutionStatus = 'Running'` })) open.push(workflowId)
      expect(open.filter((id) => id !== 'sweep').sort()).toEqual([
        `application:${app.id}`,
        expect.stringMatching(/^ingress:ing_/),
        expect.stringMatching(/^nginxdemo:demo_/),
      ])
    } finally {
      await connection.close()
    }
  })
})
