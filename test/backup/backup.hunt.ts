import { copyFile, cp, mkdtemp, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testAppImage } from '../setup/test-images.js'
import { createProject, LiveApplication } from '../faults/live-application.js'
import { LiveInstance, until, type OwnContainer } from '../faults/live-instance.js'

interface Plan {
  converges: boolean
  steps: { verb: string; summary: string }[]
}

describe('what is lost and how it comes back', () => {
  let live: LiveInstance
  let shop: LiveApplication
  let late: LiveApplication | undefined
  let backups: string
  let first: string

  beforeAll(async () => {
    backups = await mkdtemp(join(tmpdir(), 'ek-backups-'))
    live = await LiveInstance.prepare()
    await live.up()
    const project = await createProject(live, 'shop')
    shop = await LiveApplication.create(live, project, { name: 'web', image: testAppImage('1'), replicas: 2 })
    await shop.serve()
    await shop.untilSettled({ release: 1, replicas: 2 })
  }, 180_000)

  afterAll(async () => {
    await live.destroy()
    await rm(backups, { recursive: true, force: true })
    for (const name of await readdir(join(live.home, '..'))) {
      if (name.startsWith(`${live.home.split('/').at(-1)}.`)) await rm(join(live.home, '..', name), { recursive: true, force: true })
    }
  }, 120_000)

  /** What must not change when nobody asked for it: which containers there are, and since when they run. */
  const running = async (): Promise<string[]> =>
    (await live.containers())
      // What mounts folders of the state directory has to be made anew when that was lost.
      .filter((c) => c.resource !== 'dns' && c.resource !== 'canary' && !c.resource.startsWith('ing_'))
      .map((c: OwnContainer) => `${c.name} ${c.id.slice(0, 12)} ${c.startedAt} ${c.state}`)

  const plan = async (app: LiveApplication): Promise<Plan> => {
    const { applicationPlan } = await live.graphql<{ applicationPlan: { plan: Plan } }>(
      'query ($id: ID!) { applicationPlan(id: $id) { plan { converges notes steps { verb summary } } userErrors { message } } }',
      { id: app.id },
    )
    return applicationPlan.plan
  }

  const orphans = async () =>
    (await live.graphql<{ orphans: { nodes: { nodeId: string; resourceId: string; kind: string; containers: string[] }[] } }>(
      '{ orphans { nodes { nodeId resourceId kind containers } } }',
    )).orphans.nodes

  const confirm = async () =>
    (await live.graphql<{ restoreConfirm: { resources: number } }>('mutation { restoreConfirm { resources } }')).restoreConfirm.resources

  it('Temporal’s file is lost -> everything goes on, and no container is touched', { timeout: 120_000 }, async () => {
    const before = await running()
    await live.stop()
    for (const file of await readdir(join(live.home, 'temporal'))) {
      if (file.includes('sqlite')) await unlink(join(live.home, 'temporal', file))
    }
    await live.up()
    await shop.untilSettled({ release: 1, replicas: 2 })
    expect(await running()).toEqual(before)
    // It is looked after again, and not only remembered.
    await live.docker.getContainer((await shop.containers())[0]?.id ?? '').remove({ force: true })
    await shop.untilSettled({ release: 1, replicas: 2 })
  })

  it('backup while it runs -> whole, secret, the key apart', { timeout: 60_000 }, async () => {
    const { code, output } = await live.run('backup', '--to', backups)
    expect({ code, output }).toMatchObject({ code: 0 })
    const names = (await readdir(backups)).sort()
    expect(names).toEqual([expect.stringMatching(/^evenkeel-\w+-[\dTZ-]+$/), `${names[0]}.master.key`])
    first = join(backups, names[0] ?? '')
    for (const file of await readdir(first, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(file.parentPath, file.name))
      expect([file.name, (mode & 0o077).toString(8)]).toEqual([file.name, '0'])
    }
    expect((await stat(`${first}.master.key`)).mode & 0o777).toBe(0o600)
    const key = await readFile(`${first}.master.key`, 'utf8')
    for (const file of await readdir(first, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), 'utf8')).not.toContain(key.trim())
    }
  })

  it('--without-key -> no key beside it', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ek-backup-'))
    expect(await live.run('backup', '--to', folder, '--without-key')).toMatchObject({ code: 0 })
    expect(await readdir(folder)).toHaveLength(1)
    await rm(folder, { recursive: true })
  })

  it('restore over a running instance, or over data -> refused, nothing changed', { timeout: 60_000 }, async () => {
    const before = await running()
    const refused = await live.run('restore', '--from', first, '--force')
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(`Evenkeel runs for ${live.home}`) as string })
    await live.stop()
    expect(await live.run('restore', '--from', first)).toMatchObject({ code: 1, output: expect.stringContaining('is not empty') as string })
    await live.up()
    expect(await running()).toEqual(before)
  })

  it('a damaged backup, or something else -> refused before anything is made', { timeout: 60_000 }, async () => {
    const damaged = await mkdtemp(join(tmpdir(), 'ek-damaged-'))
    const target = live.elsewhere(join(damaged, 'home'))
    await cp(first, join(damaged, 'b'), { recursive: true })
    const file = join(damaged, 'b', 'tables', 'Resource.jsonl.gz')
    const bytes = await readFile(file)
    bytes[20] = (bytes[20] ?? 0) ^ 1
    await writeFile(file, bytes)
    expect(await target.run('restore', '--from', join(damaged, 'b'))).toMatchObject({ code: 1, output: expect.stringContaining('Resource.jsonl.gz is not what was written') as string })
    await unlink(file)
    expect(await target.run('restore', '--from', join(damaged, 'b'))).toMatchObject({ code: 1, output: expect.stringContaining('the backup is not whole') as string })
    expect(await target.run('restore', '--from', damaged)).toMatchObject({ code: 1, output: expect.stringContaining('is no backup') as string })
    expect((await readdir(damaged)).sort()).toEqual(['b'])
    await rm(damaged, { recursive: true })
  })

  it(
    'the whole state directory is lost -> restored: same instance, everything paused, no container touched',
    { timeout: 240_000 },
    async () => {
      // Made after the backup, so the restored database has never heard of it.
      const project = await createProject(live, 'later')
      late = await LiveApplication.create(live, project, { name: 'news', image: testAppImage('2'), replicas: 1 })
      await late.untilSettled({ release: 1, replicas: 1 })
      const [before, instance] = [await running(), await live.instance()]
      await live.stop()
      await rm(live.home, { recursive: true })

      const { code, output } = await live.run('restore', '--from', first)
      expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('All 3 resources are paused') as string })
      expect(await live.instance()).toBe(instance)
      expect(await live.up()).toContain('3 resources are paused since the restore')
      expect(await running()).toEqual(before)

      const told = await shop.told()
      expect(told).toMatchObject({ paused: true, pausedReason: expect.stringMatching(/^restored from the backup of 20/) as string })
      expect(told?.conditions.find((c) => c.type === 'Ready')).toMatchObject({ status: 'Unknown', reason: 'Restored' })
      expect(await shop.resolve()).toHaveLength(2)
      expect(await shop.dialled()).toHaveLength(2)
    },
  )

  it('paused -> nothing is repaired; its plan says what would be', { timeout: 60_000 }, async () => {
    expect(await plan(shop)).toMatchObject({ converges: true, steps: [] })
    const [victim] = await shop.containers()
    await live.docker.getContainer(victim?.id ?? '').stop({ t: 0 })
    await until('a plan that starts it', async () => (await plan(shop)).steps.some((s) => s.verb === 'ensureContainer'))
    expect((await shop.containers())[0]).toMatchObject({ id: victim?.id, state: 'exited' })
    await live.docker.getContainer(victim?.id ?? '').start()
  })

  it('what was made after the backup -> an orphan, which no pass removes', { timeout: 60_000 }, async () => {
    await until('an orphan', async () => (await orphans()).length > 0)
    expect(await orphans()).toEqual([expect.objectContaining({ resourceId: late?.id, kind: 'application', containers: [expect.any(String)] as string[] })])
  })

  it('resume one, then all -> adopted as they run', { timeout: 120_000 }, async () => {
    const before = await running()
    await live.graphql('mutation ($id: ID!) { resourceResume(id: $id) { resource { paused } } }', { id: shop.id })
    await shop.untilSettled({ release: 1, replicas: 2 })
    expect(await confirm()).toBe(2)
    expect(await confirm()).toBe(0)
    await until('the demo being looked after', async () => {
      const [demo] = (await live.graphql<{ nginxdemos: { nodes: { paused: boolean; conditions: { type: string; status: string }[] }[] } }>(
        '{ nginxdemos { nodes { paused conditions { type status } } } }',
      )).nginxdemos.nodes
      return demo?.paused === false && demo.conditions.some((c) => c.type === 'Ready' && c.status === 'True')
    })
    expect(await running()).toEqual(before)
    expect(await orphans()).toHaveLength(1)
  })

  it('orphanAdopt -> paused with a plan, and after the resume an application as any other', { timeout: 120_000 }, async () => {
    const [orphan] = await orphans()
    const project = await createProject(live, 'again')
    const { orphanAdopt } = await live.graphql<{ orphanAdopt: { userErrors: object[] } }>(
      `mutation ($orphan: OrphanSelector!, $input: OrphanAdoptInput!) { orphanAdopt(orphan: $orphan, input: $input) { userErrors { message } } }`,
      {
        orphan: { nodeId: orphan?.nodeId, resourceId: orphan?.resourceId },
        input: { projectId: project.id, name: 'news', image: testAppImage('2') },
      },
    )
    expect(orphanAdopt.userErrors).toEqual([])
    expect(await late?.told()).toMatchObject({ paused: true })
    expect((await plan(late as LiveApplication)).converges).toBe(true)
    await late?.change({ ports: [8080], readiness: { path: '/healthz' } })
    await live.graphql('mutation ($id: ID!) { resourceResume(id: $id) { resource { paused } } }', { id: late?.id })
    const told = await late?.untilReady({ status: 'True', reason: 'Running' })
    await until('one container of it', async () => (await late?.containers())?.length === 1)
    expect((await late?.containers())?.[0]).toMatchObject({ address: told?.endpoints[0]?.address, state: 'running' })
    expect(await orphans()).toEqual([])
  })

  it('an older database while newer containers run -> their plan is told; resumed, the older release comes back', { timeout: 240_000 }, async () => {
    await shop.change({ image: testAppImage('3') })
    await shop.untilSettled({ release: 2, replicas: 2 })
    const before = await running()
    await live.stop()
    const aside = await live.run('restore', '--from', first, '--force')
    expect(aside).toMatchObject({ code: 0, output: expect.stringContaining(`${live.home}.before-restore-`) as string })
    await live.up()
    expect(await running()).toEqual(before)

    await until('the orphan', async () => (await orphans()).some((o) => o.resourceId === late?.id))
    const shown = await plan(shop)
    expect(shown.converges).toBe(true)
    expect(shown.steps.map((s) => s.verb)).toEqual(expect.arrayContaining(['ensureContainer', 'publishEndpoints', 'retireContainer']))
    // The newer containers serve on until the older release does.
    const load = shop.load()
    await until('answers of the newer release', () => (load.soFar.versions['3'] ?? 0) > 20)
    expect(await confirm()).toBe(3)
    await shop.untilSettled({ release: 1, replicas: 2 })
    await until('answers of the older release', () => (load.soFar.versions['1'] ?? 0) > 20)
    const { sent, lost, longestGapMs } = await load.stop()
    console.log(`older database resumed: ${sent} requests, ${lost} lost, longest gap ${longestGapMs} ms`)
    expect(longestGapMs).toBeLessThan(2_000)
    expect((await late?.containers())?.map((c) => c.state)).toEqual(['running'])
  })

  it('an orphan holds the address that the older database believes to be free -> another one is given', { timeout: 90_000 }, async () => {
    const project = await createProject(live, 'fresh')
    const fresh = await LiveApplication.create(live, project, { name: 'api', image: testAppImage('1'), replicas: 2 })
    await fresh.untilSettled({ release: 1, replicas: 2 })
    expect((await late?.containers())?.map((c) => c.state)).toEqual(['running'])
  })

  it('orphanRemove -> its containers go, nothing else', { timeout: 60_000 }, async () => {
    const before = (await running()).filter((c) => !c.includes(late?.id ?? ''))
    const [orphan] = await orphans()
    await live.graphql('mutation ($orphan: OrphanSelector!) { orphanRemove(orphan: $orphan) { userErrors { message } } }', {
      orphan: { nodeId: orphan?.nodeId, resourceId: orphan?.resourceId },
    })
    await until('the end of its containers', async () => (await late?.containers())?.length === 0)
    await until('the end of the orphan', async () => (await orphans()).length === 0)
    expect(await running()).toEqual(before)
  })

  it('the key is missing -> restored, but nothing starts before it is put there', { timeout: 120_000 }, async () => {
    await live.stop()
    await rename(`${first}.master.key`, join(backups, 'elsewhere'))
    const { output } = await live.run('restore', '--from', first, '--force')
    expect(output).toContain('The master key is missing')
    expect(await live.run('up', '--detach')).toMatchObject({ code: 1, output: expect.stringContaining('master.key is missing') as string })
    await copyFile(join(backups, 'elsewhere'), join(live.home, 'secrets', 'master.key'))
    await live.up()
  })
})
