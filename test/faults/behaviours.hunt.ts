import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Keyring } from '../../src/adapters/crypto/keyring.js'
import { NGINX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { label } from '../../src/reconcile/labels.js'
import { testAppImage } from '../setup/test-images.js'
import { forgedRemovals, handToAgent } from './forged.js'
import { createProject, LiveApplication } from './live-application.js'
import { LiveInstance, until } from './live-instance.js'

/** What people do to containers and applications, on a whole instance. */
describe('an instance in hands that err', () => {
  let live: LiveInstance
  let project: { id: string; name: string }
  let web: LiveApplication
  let worker: LiveApplication
  let release = 1
  const foreign: string[] = []

  const create = (name: string, changes: object = {}): Promise<LiveApplication> =>
    LiveApplication.create(live, project, { name, image: testAppImage('1'), drainSeconds: 2, stopGraceSeconds: 2, ...changes })
  const identities = async (app: LiveApplication): Promise<string[]> => (await app.containers()).map((c) => `${c.name} ${c.id} ${c.startedAt}`)
  const serves = async (app: LiveApplication): Promise<string[]> =>
    Promise.all(
      (await app.resolve()).map(async (address) => ((await (await fetch(`http://${address}:8080/`)).json()) as { version: string }).version),
    )

  beforeAll(async () => {
    live = await LiveInstance.prepare()
    await live.up()
    project = await createProject(live, 'people')
    // The neighbour whose name begins with the other's, a stranger, and another instance's container with our id in it.
    ;[web, worker] = await Promise.all([create('web', { replicas: 2 }), create('web-worker')])
    const strangers: Record<string, string>[] = [{}, { [label.instance]: 'elsewhere', [label.kind]: 'application', [label.resource]: web.id }]
    for (const labels of strangers) {
      const container = await live.docker.createContainer({ Image: testAppImage('1'), Labels: labels })
      await container.start()
      foreign.push(container.id)
    }
    await web.untilSettled({ release, replicas: 2 })
    await worker.untilSettled({ release: 1, replicas: 1 })
  }, 180_000)

  afterAll(async () => {
    for (const id of foreign) await live.docker.getContainer(id).remove({ force: true, v: true }).catch(() => undefined)
    await live.destroy()
  }, 120_000)

  it('crashed -> the same container is started again', async () => {
    const before = await web.containers()
    const [victim] = before
    await live.docker.getContainer(victim?.id ?? '').kill()
    await until('its death seen', async () => (await web.containers())[0]?.startedAt !== victim?.startedAt)
    await web.untilSettled({ release, replicas: 2 })
    expect((await web.containers()).map((c) => c.id)).toEqual(before.map((c) => c.id))
  })

  it.each(['rm -f', 'stop', 'pause', 'rename'] as const)('docker %s by hand -> repaired, the other replica untouched', async (how) => {
    const [victim, other] = await web.containers()
    const container = live.docker.getContainer(victim?.id ?? '')
    if (how === 'rm -f') await container.remove({ force: true })
    else if (how === 'stop') await container.stop({ t: 0 })
    else if (how === 'pause') await container.pause()
    else await container.rename({ name: `${victim?.name}-by-hand` })
    await until('the difference', async () => (await web.differences({ release, replicas: 2 })).length > 0, 5_000).catch(() => undefined)
    await web.untilSettled({ release, replicas: 2 })
    const after = await web.containers()
    expect(after.map((c) => c.name)).toEqual([victim?.name, other?.name])
    expect(after[1]).toEqual(other)
  })

  it('network taken away, then a container killed -> recovers', async () => {
    const network = live.docker.getNetwork(`evenkeel-${await live.instance()}`)
    // A disconnect is a drift of its own, so what reconnects in between is disconnected again.
    await until('the end of the network', async () => {
      const { Containers } = (await network.inspect()) as { Containers?: Record<string, object> }
      for (const id of Object.keys(Containers ?? {})) await network.disconnect({ Container: id, Force: true }).catch(() => undefined)
      return network.remove().then(() => true, () => false)
    })
    const [victim] = await web.containers()
    await live.docker.getContainer(victim?.id ?? '').kill()
    await web.untilSettled({ release, replicas: 2 })
    await worker.untilSettled({ release: 1, replicas: 1 })
  })

  it('redeploy -> the neighbour and strangers are untouched', async () => {
    const neighbour = await identities(worker)
    await web.change({ image: testAppImage('2') })
    await web.untilSettled({ release: ++release, replicas: 2 })
    expect(await serves(web)).toEqual(['2', '2'])
    expect(await identities(worker)).toEqual(neighbour)
  })

  it.each([
    ['an image that does not exist', { image: 'evenkeel/testapp:never' }, /^(ImageNotFound|RegistryUnreachable|ImageMissing|ResolveFailed)$/],
    ['an image whose registry does not answer', { image: 'registry.invalid/app:1' }, /^(ImageNotFound|RegistryUnreachable)$/],
    ['never ready', { env: [{ name: 'FAIL_READY', value: '1' }], startupBudgetSeconds: 2 }, /^ReadinessTimeout$/],
    ['exits at once', { env: [{ name: 'EXIT_CODE', value: '3' }] }, /^ContainerExited$/],
    ['its command is not there', { entrypoint: ['/no/such/program'] }, /^CommandNotFound$/],
  ])('a release that cannot be (%s) -> told, and the old one serves on', async (_, bad, reason) => {
    const serving = await identities(web)
    await web.change(bad)
    await until('a reason', async () => {
      const told = await web.told()
      return reason.test(told?.conditions.find((c) => c.type === 'Ready')?.reason ?? '')
    })
    await until('only the old containers', async () => (await identities(web)).join() === serving.join())
    expect(await serves(web)).toEqual(['2', '2'])
    const told = await web.told()
    expect(told?.conditions.find((c) => c.type === 'Available')).toMatchObject({ status: 'True' })
    await web.change({ image: testAppImage('2'), env: null, entrypoint: null, startupBudgetSeconds: null })
    const settled = await web.untilReady({ status: 'True', reason: 'Running' })
    release = settled.servingRelease?.number ?? 0
    await web.untilSettled({ release, replicas: 2 })
  })

  it('scale up, down, to nothing and back -> exactly as many as wanted', async () => {
    for (const replicas of [3, 1, 0, 2]) {
      await web.change({ replicas })
      if (replicas > 0) await web.untilSettled({ release, replicas })
      else {
        await web.untilReady({ status: 'True', reason: 'ScaledToZero' })
        expect([await web.containers(), await web.resolve()]).toEqual([[], []])
      }
    }
  })

  it('the port of a demo is taken by somebody else -> told, and cured when it is free', async () => {
    const squatter = createServer()
    const port = await listen(squatter)
    const { nginxdemoCreate } = await live.graphql<{ nginxdemoCreate: { nginxdemo: { id: string } } }>(
      'mutation ($input: NginxdemoCreateInput!) { nginxdemoCreate(input: $input) { nginxdemo { id } userErrors { message } } }',
      { input: { projectId: project.id, name: 'second', hostPort: port, image: NGINX_IMAGE } },
    )
    const { id } = nginxdemoCreate.nginxdemo
    const ready = async () =>
      (await live.graphql<{ nginxdemo: { conditions: { type: string; status: string; reason: string; message: string }[] } }>(
        'query ($id: ID!) { nginxdemo(id: $id) { conditions { type status reason message } } }',
        { id },
      )).nginxdemo.conditions.find((c) => c.type === 'Ready')
    await until('PortTaken', async () => (await ready())?.reason === 'PortTaken')
    expect((await ready())?.message).toContain(String(port))
    squatter.close()
    await until('the cure', async () => (await ready())?.status === 'True')
    expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(200)
    await live.graphql('mutation ($id: ID!) { nginxdemoDelete(id: $id) { userErrors { message } } }', { id })
    await until('its end', async () => (await live.containers({ resource: id })).length === 0)
  })

  it('delete -> nothing is left: containers, names, slots, addresses', async () => {
    await worker.delete()
    await until('its end', async () => (await worker.told()) === null)
    expect([await worker.containers(), await worker.resolve(), await worker.dialled()]).toEqual([[], [], ['nothing']])
    expect(await live.sql('SELECT * FROM "Endpoint" WHERE "resourceId" = $1', [worker.id])).toEqual([])
    expect(await live.sql('SELECT kind FROM "Tombstone" WHERE "resourceId" = $1', [worker.id])).toEqual([{ kind: 'application' }])
    await web.untilSettled({ release, replicas: 2 })
  })

  it('an action that is unsigned, altered, expired or for somebody else -> refused and told, nothing done', async () => {
    const before = await identities(web)
    const [victim] = await web.containers()
    const forged = await forgedRemovals(live, { id: web.id, kind: 'application', container: victim?.name ?? '' })
    const answers = await handToAgent(live, Object.values(forged))
    expect(Object.fromEntries(Object.keys(forged).map((name, n) => [name, answers[n]]))).toEqual({
      unsigned: expect.stringMatching(/^ActionRefused: the signature does not fit/) as string,
      'of another key': expect.stringMatching(/^ActionRefused: .* has not pinned$/) as string,
      altered: expect.stringMatching(/^ActionRefused: the signature does not fit/) as string,
      expired: expect.stringMatching(/^ActionRefused: the action ended \d+ s ago$/) as string,
      'for another node': 'ActionRefused: the action is for node node_other',
      'of another instance': 'ActionRefused: the action is for instance other',
    })
    expect(await identities(web)).toEqual(before)
  })

  it('through all of this -> what is not ours was never touched', async () => {
    for (const id of foreign) expect((await live.docker.getContainer(id).inspect()).State).toMatchObject({ Running: true })
    const ours = [web.id, web.id, expect.stringMatching(/^demo_/), 'dns', expect.stringMatching(/^ing_/)]
    expect((await live.containers()).map((c) => c.resource).sort()).toEqual(ours)
  })

  it('the key file is wrong, unreadable or missing -> up refuses and says why; with the right one it starts', { timeout: 180_000 }, async () => {
    await live.stop()
    const file = join(live.home, 'secrets', 'master.key')
    const before = await identities(web)
    await rename(file, `${file}.kept`)
    const refusal = async (): Promise<string> => {
      const { code, output } = await live.run('up', '--detach')
      expect(code).toBe(1)
      return output
    }
    expect(await refusal()).toContain('master.key is missing')
    await writeFile(file, Keyring.generate(), { mode: 0o600 })
    expect(await refusal()).toContain('is of another installation')
    await rm(file)
    await mkdir(file)
    expect(await refusal()).toContain('cannot be read')
    await rmdir(file)
    await rename(`${file}.kept`, file)
    await live.up()
    await web.untilSettled({ release, replicas: 2 })
    expect(await identities(web)).toEqual(before)
    expect(await readFile(file, 'utf8')).not.toBe('')
  })
})

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)))
}
