import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CADDY_IMAGE, COREDNS_IMAGE, NGINX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { testAppImage } from '../setup/test-images.js'
import { createProject, LiveApplication } from './live-application.js'
import { LiveInstance, until } from './live-instance.js'
import { OwnEngine } from './own-engine.js'

/** With an engine of its own, because everybody's is not to be killed. */
describe('the Docker engine dies', () => {
  let engine: OwnEngine
  let live: LiveInstance
  let app: LiveApplication

  beforeAll(async () => {
    engine = await OwnEngine.start()
    await engine.bring([testAppImage('1'), testAppImage('2'), NGINX_IMAGE, COREDNS_IMAGE, CADDY_IMAGE])
    live = await LiveInstance.prepare(engine.host)
    await live.up()
    const project = await createProject(live, 'engine')
    app = await LiveApplication.create(live, project, {
      name: 'web',
      image: testAppImage('1'),
      replicas: 2,
      drainSeconds: 3,
      stopGraceSeconds: 3,
    })
    await app.untilSettled({ release: 1, replicas: 2 })
    await app.serve()
  }, 240_000)

  afterAll(async () => {
    await live?.destroy()
    await engine?.destroy()
  }, 180_000)

  /** Which replica has which address. */
  const addresses = async (): Promise<string[]> =>
    (await app.containers()).map((c) => `${c.release}/${c.replica} ${c.address} ${c.state}`)

  it(
    'away for a while -> what runs serves on, Ready is Unknown, and there is never a second copy',
    { timeout: 120_000 },
    async () => {
      const before = await app.containers()
      const load = app.load()
      await until('load', () => load.soFar.sent > 50)
      await engine.kill()
      const told = await app.untilReady({ status: 'Unknown', reason: 'DockerUnreachable' })
      expect(told.endpoints.map((e) => e.state)).toEqual(['ready', 'ready'])
      await sleep(2_000)
      const { lost, sent } = await load.stop()
      console.log(`engine away: ${sent} requests, ${lost} lost`)
      expect(lost).toBe(0)

      const back = Date.now()
      await engine.startAgain()
      const settledMs = await app.untilSettled({ release: 1, replicas: 2 })
      console.log(`engine back: answers after ${Date.now() - settledMs - back} ms, settled ${settledMs} ms later`)
      expect((await app.containers()).map((c) => `${c.id} ${c.address}`)).toEqual(before.map((c) => `${c.id} ${c.address}`))
    },
  )

  it('kill -9 in the middle of a roll-out -> converged, nothing left over', { timeout: 180_000 }, async () => {
    const load = app.load()
    await app.change({ image: testAppImage('2') })
    await until('the first container of the new release', async () => (await app.containers()).some((c) => c.release === 2))
    await engine.kill()
    await sleep(1_000)
    const beforeStart = load.soFar.lost
    await engine.startAgain()
    const startedAt = Date.now()
    await app.untilSettled({ release: 2, replicas: 2 })
    const settledMs = Date.now() - startedAt
    const { sent, lost } = await load.stop()
    console.log(
      `kill -9 dockerd: settled ${settledMs} ms after its new start; ${sent} requests, ${beforeStart} lost while it was away, ${lost - beforeStart} after`,
    )
    expect(beforeStart).toBe(0)
  })

  it('the machine restarts -> every replica has its own address again, and nobody else’s', { timeout: 240_000 }, async () => {
    await app.change({ replicas: 4 })
    await app.untilSettled({ release: 2, replicas: 4 })
    const [before, demo] = [await addresses(), await live.containers({ kind: 'nginxdemo' })]
    await engine.stop()
    await live.killAll()
    await engine.startAgain()
    const startedAt = Date.now()
    await live.up()
    const upMs = Date.now() - startedAt
    await app.untilSettled({ release: 2, replicas: 4 })
    console.log(`machine restart: up after ${upMs} ms, settled after ${Date.now() - startedAt} ms`)
    expect(await addresses()).toEqual(before)
    // Not made anew: the engine's own stop is no end that anybody has to answer.
    expect((await live.containers({ kind: 'nginxdemo' })).map((c) => c.id)).toEqual(demo.map((c) => c.id))
    const told = await live.graphql<{ nginxdemos: { nodes: { events: { nodes: { reason: string }[] } }[] } }>(
      '{ nginxdemos(first: 1) { nodes { events(first: 40) { nodes { reason } } } } }',
    )
    const reasons = new Set(told.nginxdemos.nodes.flatMap((d) => d.events.nodes.map((e) => e.reason)))
    expect([...reasons].filter((r) => !['Created', 'Starting', 'Running', 'DockerUnreachable'].includes(r))).toEqual([])
    expect((await fetch(live.demoUrl)).status).toBe(200)
  })

  it(
    'the machine restarts, and nothing of Evenkeel comes back -> the containers serve, with their own addresses',
    { timeout: 240_000 },
    async () => {
      const before = await addresses()
      // In the order of a shutdown (packaging/evenkeel.service): what is shown stays shown.
      await live.stop()
      await engine.stop()
      await engine.startAgain()
      await until('all replicas', async () => (await addresses()).join() === before.join(), 60_000)
      const load = app.load()
      await until('answers', () => load.soFar.sent > 50)
      expect(await load.stop()).toMatchObject({ lost: 0, losses: [] })
      expect(await app.resolve()).toEqual(before.map((line) => line.split(' ')[1]).sort())
      await live.up()
      await app.untilSettled({ release: 2, replicas: 4 })
      expect(await addresses()).toEqual(before)
    },
  )

  it(
    'survive: the control plane is dead, the engine restarts -> five minutes without a failure',
    { timeout: 480_000 },
    async () => {
      await live.killAll()
      await engine.stop()
      await engine.startAgain()
      const began = Date.now()
      const before = app.load()
      await until('an answer', () => Object.keys(before.soFar.versions).length > 0, 120_000)
      const containersUpMs = Date.now() - began
      await until('every container', async () => (await app.containers()).every((c) => c.state === 'running'))
      await before.stop()
      const load = app.load()
      await sleep(300_000)
      const { sent, lost, losses, slowestMs } = await load.stop()
      console.log(
        `survive: answers ${containersUpMs} ms after the engine's start; then ${sent} requests in 5 min, failed_after_restart ${lost}, slowest ${slowestMs} ms`,
      )
      expect({ lost, losses }).toEqual({ lost: 0, losses: [] })
      await live.up()
      await app.untilReady({ status: 'True' })
    },
  )
})
