import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUSYBOX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { freePort } from '../../src/embedded/ports.js'
import { label } from '../../src/reconcile/labels.js'
import { testAppImage } from '../setup/test-images.js'
import { createProject, LiveApplication } from './live-application.js'
import { LiveInstance, until } from './live-instance.js'

/** Every way of changing an application, through API, workflow, agent and engine. */
describe('the whole application', () => {
  let live: LiveInstance
  let project: { id: string; name: string }

  const quick = { drainSeconds: 2, stopGraceSeconds: 2 }
  const create = (name: string, changes: object = {}) => LiveApplication.create(live, project, { name, image: testAppImage('1'), ...quick, ...changes })
  /** A busybox that serves its own root, and whose shell can be asked for anything. */
  const busybox = (name: string, changes: object = {}) =>
    create(name, { image: BUSYBOX_IMAGE, command: ['httpd', '-f', '-p', '8080'], readiness: { intervalSeconds: 0.5 }, ...changes })
  const inspect = async (app: LiveApplication) => {
    const [container] = await app.containers()
    return live.docker.getContainer(container?.id ?? '').inspect()
  }
  const act = async (mutation: string, app: LiveApplication, more = '') => {
    const answer = await live.graphql<Record<string, { userErrors: object[] }>>(
      `mutation ($id: ID!) { ${mutation}(id: $id${more}) { userErrors { field message code } } }`,
      { id: app.id },
    )
    expect(answer[mutation]?.userErrors).toEqual([])
  }
  const newestRelease = async (app: LiveApplication) => {
    const { application } = await live.graphql<{ application: { releases: { nodes: Release[] } } }>(
      `query ($id: ID!) { application(id: $id) { releases(first: 1) { nodes { number preDeployedAt verdict { reason message } verdictLog { lines } } } } }`,
      { id: app.id },
    )
    return application.releases.nodes[0]
  }
  interface Release {
    number: number
    preDeployedAt: string | null
    verdict: { reason: string; message: string } | null
    verdictLog: { lines: string[] } | null
  }

  beforeAll(async () => {
    live = await LiveInstance.prepare()
    await live.up()
    project = await createProject(live, 'whole')
  }, 180_000)

  afterAll(() => live.destroy(), 120_000)

  it('blue-green under load -> one switch, no request lost', { timeout: 120_000 }, async () => {
    const app = await create('green', { strategy: 'BLUE_GREEN', replicas: 2 })
    await app.untilSettled({ release: 1, replicas: 2 })
    await app.serve()
    try {
      const load = app.load()
      await until('load on the old release', () => (load.soFar.versions['1'] ?? 0) > 20)
      await app.change({ image: testAppImage('2') })
      await app.untilSettled({ release: 2, replicas: 2 })
      await until('load on the new release', () => (load.soFar.versions['2'] ?? 0) > 20)
      expect(await load.stop()).toMatchObject({ lost: 0, losses: [] })
    } finally {
      await app.delete()
    }
  })

  it('a published port -> recreate, told why; a broken release brings the old one back', { timeout: 120_000 }, async () => {
    const hostPort = await freePort()
    const version = async () => ((await (await fetch(`http://127.0.0.1:${hostPort}/`)).json()) as { version: string }).version
    const app = await create('published', { publishedPorts: [{ port: 8080, hostPort }] })
    await app.untilSettled({ release: 1, replicas: 1 })
    expect(await version()).toBe('1')
    const strategy = (await app.told())?.conditions.find((c) => c.type === 'StrategyHonoured')
    expect(strategy).toMatchObject({ status: 'False', reason: 'FallbackToRecreate', message: expect.stringContaining(`host port ${hostPort}`) })

    await app.change({ image: testAppImage('2') })
    await app.untilSettled({ release: 2, replicas: 1 })
    expect(await version()).toBe('2')

    await app.change({ env: [{ name: 'EXIT_CODE', value: '7' }] })
    await app.untilReady({ status: 'False', reason: 'ContainerExited' })
    await until('the old release back', async () => (await version().catch(() => '')) === '2')
    expect(await newestRelease(app)).toMatchObject({ number: 3, verdict: { message: expect.stringContaining('code 7') } })
    await app.delete()
  })

  it('pre-deploy command -> once before the replicas; a failing one keeps the old release, with its last words', { timeout: 120_000 }, async () => {
    const app = await busybox('migrated', { preDeploy: { command: ['sh', '-c', 'echo migrating; sleep 1'] } })
    await app.untilSettled({ release: 1, replicas: 1 })
    expect((await newestRelease(app))?.preDeployedAt).not.toBeNull()
    await until('its container gone', async () => (await app.containers()).length === 1)
    const [before] = await app.containers()

    await app.change({ preDeploy: { command: ['sh', '-c', 'echo column is missing >&2; exit 3'] } })
    await app.untilReady({ status: 'False', reason: 'PreDeployFailed' })
    await until('its last words', async () => ((await newestRelease(app))?.verdictLog?.lines.length ?? 0) > 0)
    const failed = await newestRelease(app)
    expect(failed).toMatchObject({ number: 2, verdict: { message: expect.stringContaining('exit code 3') } })
    expect(failed?.verdictLog?.lines.join('\n')).toContain('column is missing')
    await until('only the old replica left', async () => (await app.containers()).map((c) => c.id).join() === before?.id)
    await app.delete()
  })

  it('memory -> changed in the living container; without a limit again -> a new one', { timeout: 120_000 }, async () => {
    const app = await create('limited', { resources: { memoryBytes: 64 * 2 ** 20 } })
    await app.untilSettled({ release: 1, replicas: 1 })
    const before = await inspect(app)
    expect(before.HostConfig.Memory).toBe(64 * 2 ** 20)
    await app.change({ resources: { memoryBytes: 96 * 2 ** 20 } })
    await until('the new limit', async () => (await inspect(app)).HostConfig.Memory === 96 * 2 ** 20)
    const after = await inspect(app)
    expect([after.Id, after.State.StartedAt]).toEqual([before.Id, before.State.StartedAt])
    await app.change({ resources: null })
    await app.untilSettled({ release: 2, replicas: 1 })
    expect((await inspect(app)).HostConfig.Memory).toBe(0)
    await app.delete()
  })

  it('suspend, resume, restart, scale, roll back -> each its own way', { timeout: 180_000 }, async () => {
    const app = await create('acted')
    await app.untilSettled({ release: 1, replicas: 1 })
    await act('applicationSuspend', app)
    await app.untilReady({ status: 'True', reason: 'Suspended' })
    expect(await app.containers()).toEqual([])
    await act('applicationResume', app)
    await app.untilSettled({ release: 1, replicas: 1 })
    await act('applicationScale', app, ', replicas: 2')
    await app.untilSettled({ release: 1, replicas: 2 })
    await act('applicationRestart', app)
    await app.untilSettled({ release: 2, replicas: 2 })
    await app.change({ env: [{ name: 'A', value: '1' }] })
    await app.untilSettled({ release: 3, replicas: 2 })
    await act('applicationRollback', app, ', toRelease: 2')
    await app.untilSettled({ release: 4, replicas: 2 })
    expect((await inspect(app)).Config.Env).not.toContain('A=1')
    await app.delete()
  })

  it('depends on another -> starts when that one is ready', { timeout: 120_000 }, async () => {
    const db = await create('db', { files: [{ path: '/tmp/unready', content: '' }] })
    const app = await create('needy', { dependsOn: ['db'] })
    await app.untilReady({ status: 'False', reason: 'DependencyNotReady' })
    expect(await app.containers()).toEqual([])
    const makeReady = async () => {
      const [container] = await db.containers()
      return container !== undefined && (await fetch(`http://${container.address}:8080/unready`, { method: 'DELETE' })).ok
    }
    await until('the one it waits for listens', () => makeReady().catch(() => false))
    await app.untilSettled({ release: 1, replicas: 1 })
    await app.delete()
    await db.delete()
  })

  it('depends on one that ends at once -> told why within moments, and nothing is started', { timeout: 60_000 }, async () => {
    const began = Date.now()
    const db = await create('stillborn', { env: [{ name: 'EXIT_CODE', value: '3' }] })
    const app = await create('orphaned', { dependsOn: ['stillborn'] })
    const why = async () => (await app.told())?.conditions.find((c) => c.type === 'Ready')?.message ?? ''
    await until('why it waits', async () => /stillborn.*ContainerExited.*code 3/.test(await why()))
    expect(Date.now() - began).toBeLessThan(15_000)
    expect(await app.containers()).toEqual([])
    await Promise.all([app.delete(), db.delete()])
  })

  it('the tag is another image by now -> a redeploy replaces the container, and the release says which image it is', { timeout: 60_000 }, async () => {
    const [repo, tag] = [`evenkeel-moving-${project.id.toLowerCase().replace(/[^a-z0-9]/g, '')}`, 'latest']
    const moveTo = (image: string) => live.docker.getImage(image).tag({ repo, tag })
    const resolved = async () => {
      const { application } = await live.graphql<{ application: { releases: { nodes: { resolvedImage: string }[] } } }>(
        'query ($id: ID!) { application(id: $id) { releases(first: 1) { nodes { resolvedImage } } } }',
        { id: app.id },
      )
      return application.releases.nodes[0]?.resolvedImage
    }
    await moveTo(testAppImage('1'))
    const app = await create('moving', { image: `${repo}:${tag}` })
    try {
      for (const [release, image] of [testAppImage('1'), testAppImage('2')].entries()) {
        await moveTo(image)
        if (release > 0) await act('applicationRedeploy', app)
        await app.untilSettled({ release: release + 1, replicas: 1 })
        const { Id } = await live.docker.getImage(image).inspect()
        expect([(await inspect(app)).Image, await resolved()]).toEqual([Id, Id])
      }
    } finally {
      await app.delete()
      await until('its container gone', async () => (await app.containers()).length === 0)
      await live.docker.getImage(`${repo}:${tag}`).remove()
    }
  })

  it('it answers itself while it is being set up -> ready only when it answers from outside', { timeout: 60_000 }, async () => {
    const setUp = 'httpd -f -p 127.0.0.1:8080 -h /etc & sleep 4; wget -q -O /dev/null http://127.0.0.1:8080/passwd; kill $!; wait $!'
    const app = await busybox('early', { command: ['sh', '-c', `${setUp}; exec httpd -f -p 8080 -h /etc`], readiness: { path: '/passwd', intervalSeconds: 0.5 } })
    await until('its container', async () => (await app.containers())[0]?.state === 'running')
    const began = Date.parse((await inspect(app)).State.StartedAt)
    await app.untilSettled({ release: 1, replicas: 1 })
    const [{ readyAt } = { readyAt: null }] = await live.sql<{ readyAt: Date }>(`SELECT "readyAt" FROM "Endpoint" WHERE "resourceId" = '${app.id}'`)
    expect(readyAt && readyAt.getTime() - began).toBeGreaterThan(4_000)
    await app.delete()
  })

  it('a replica that hangs -> the same container is started again', { timeout: 120_000 }, async () => {
    const app = await busybox('hanging', {
      startupBudgetSeconds: 3,
      liveness: { command: ['test', '!', '-e', '/tmp/hangs'], intervalSeconds: 0.5, failureThreshold: 2 },
      tmpfs: [{ path: '/tmp' }],
    })
    await app.untilSettled({ release: 1, replicas: 1 })
    const before = await inspect(app)
    const touch = await live.docker.getContainer(before.Id).exec({ Cmd: ['touch', '/tmp/hangs'] })
    await touch.start({ Detach: true })
    await until('its restart', async () => (await inspect(app)).State.StartedAt !== before.State.StartedAt)
    expect((await inspect(app)).Id).toBe(before.Id)
    await app.untilSettled({ release: 1, replicas: 1 })
    await app.delete()
  })

  it('volumes and files -> there, and still there in the next release', { timeout: 120_000 }, async () => {
    const app = await busybox('kept', {
      command: ['sh', '-c', 'cat /etc/app.conf >> /data/log; httpd -f -p 8080 -h /data'],
      files: [{ path: '/etc/app.conf', content: 'one\n' }],
      volumes: [{ name: 'data', path: '/data' }],
    })
    await app.untilSettled({ release: 1, replicas: 1 })
    await app.change({ files: [{ path: '/etc/app.conf', content: 'two\n' }] })
    await app.untilSettled({ release: 2, replicas: 1 })
    const [address] = await app.resolve()
    expect(await (await fetch(`http://${address}:8080/log`)).text()).toBe('one\ntwo\n')
    await app.delete()
  })

  it('deleted with its volumes -> they go after its containers, and nothing else does', { timeout: 120_000 }, async () => {
    const app = await busybox('emptied', { volumes: [{ name: 'one', path: '/one' }, { name: 'two', path: '/two', readOnly: true }] })
    await app.untilSettled({ release: 1, replicas: 1 })
    const volumes = async () => {
      const { Volumes } = await live.docker.listVolumes({ filters: { label: [`${label.resource}=${app.id}`] } })
      return (Volumes ?? []).map((v) => v.Labels?.[label.volume]).sort()
    }
    expect(await volumes()).toEqual(['one', 'two'])
    await act('applicationDelete', app, ', removeVolumes: true')
    await until('it is gone', async () => (await app.told()) === null)
    expect(await volumes()).toEqual([])
    expect(await app.containers()).toEqual([])
  })

  describe('a secret', () => {
    const value = `geh€im-${'x1'.repeat(8)}`
    const spellings = [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), encodeURIComponent(value)]
    const set = (text: string) =>
      live.graphql(`mutation ($input: SecretSetInput!) { secretSet(input: $input) { userErrors { message } } }`, {
        input: { projectId: project.id, name: 'token', value: text },
      })
    let app: LiveApplication

    it('in the environment and in a file -> byte for byte; rotated -> a normal roll-out', { timeout: 120_000 }, async () => {
      await set('first')
      app = await busybox('secretive', {
        secretEnv: [{ name: 'TOKEN', secret: 'token' }],
        files: [{ path: '/run/token', secret: 'token', mode: '0400' }],
      })
      await app.untilSettled({ release: 1, replicas: 1 })
      await set(value)
      await app.untilSettled({ release: 2, replicas: 1 })
      expect((await inspect(app)).Config.Env).toContain(`TOKEN=${value}`)
      const { Id } = await inspect(app)
      const cat = await live.docker.getContainer(Id).exec({ Cmd: ['cat', '/run/token'], AttachStdout: true })
      const stream = await cat.start({})
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk as Buffer)
      expect(Buffer.concat(chunks).subarray(8).toString()).toBe(value)
    })

    it('in use -> not deleted, and the user is named', async () => {
      const { secrets } = await live.graphql<{ secrets: { nodes: { id: string }[] } }>(`query ($p: ID!) { secrets(projectId: $p) { nodes { id } } }`, {
        p: project.id,
      })
      const { secretDelete } = await live.graphql<{ secretDelete: { userErrors: { code: string; message: string }[] } }>(
        `mutation ($id: ID!) { secretDelete(id: $id) { userErrors { code message } } }`,
        { id: secrets.nodes[0]?.id },
      )
      expect(secretDelete.userErrors).toEqual([{ code: 'SECRET_IN_USE', message: expect.stringContaining('secretive') }])
    })

    it('nowhere but in its container: not in histories, logs, rows, labels or image histories', async () => {
      const found: string[] = []
      const look = (where: string, text: string) => {
        if (spellings.some((s) => text.includes(s))) found.push(where)
      }
      const connection = await Connection.connect({ address: `127.0.0.1:${live.ports.TEMPORAL}` })
      try {
        const client = new Client({ connection })
        for await (const { workflowId, runId } of client.workflow.list()) {
          const history = await client.workflow.getHandle(workflowId, runId).fetchHistory()
          const payloads = JSON.stringify(history, (key, v: unknown) => (key === 'data' && v instanceof Uint8Array ? Buffer.from(v).toString() : v))
          look(`history of ${workflowId}`, payloads)
        }
      } finally {
        await connection.close()
      }
      for (const file of await readdir(join(live.home, 'run'))) look(`log ${file}`, await readFile(join(live.home, 'run', file), 'utf8'))
      for (const table of ['Resource', 'Revision', 'Release', 'Event', 'AuditEntry', 'Condition', 'Artifact', 'IdempotencyKey', 'ActionFailure'])
        look(table, JSON.stringify(await live.sql(`SELECT row_to_json(t) FROM "${table}" t`)))
      const { Config, Image, Args } = await inspect(app)
      look('labels', JSON.stringify([Config.Labels, Args]))
      look('image history', JSON.stringify(await live.docker.getImage(Image).history()))
      expect(Config.Labels[label.resource]).toBe(app.id)
      expect(found).toEqual([])
    })
  })

  it('its log -> lines by GraphQL, with the replica that said them', async () => {
    const app = await create('talkative')
    await app.untilSettled({ release: 1, replicas: 1 })
    const { applicationLogTail } = await live.graphql<{ applicationLogTail: { lines: { text: string; replica: number; release: number }[] } }>(
      `query ($id: ID!) { applicationLogTail(id: $id) { lines { text replica release } } }`,
      { id: app.id },
    )
    expect(applicationLogTail.lines).toContainEqual({ text: expect.stringContaining('listening on :8080'), replica: 0, release: 1 })
    await app.delete()
  })

  it('deleted -> nothing of any of them is left but their volumes', { timeout: 120_000 }, async () => {
    await live.graphql(
      `mutation ($p: ID!) { projectEnvSet(projectId: $p, env: []) { userErrors { message } } }`,
      { p: project.id },
    )
    const { applications } = await live.graphql<{ applications: { nodes: { id: string }[] } }>(`query ($p: ID!) { applications(projectId: $p) { nodes { id } } }`, { p: project.id })
    for (const { id } of applications.nodes)
      await live.graphql('mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { message } } }', { id })
    await until('no application left', async () => (await live.sql(`SELECT id FROM "Resource" WHERE kind = 'application'`)).length === 0)
    expect(await live.containers({ kind: 'application' })).toEqual([])
    const { Volumes } = await live.docker.listVolumes({ filters: { label: [`${label.instance}=${await live.instance()}`] } })
    expect((Volumes ?? []).map((v) => v.Labels?.[label.volume])).toEqual(['data'])
  })
})
