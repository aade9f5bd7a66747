import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimConflicts, dependantsOf } from '../../src/persistence/application-claims.js'
import { ResourceRepository } from '../../src/persistence/resource.repository.js'
import { SecretWorld } from './secret-world.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let shop: SecretWorld
let resources: ResourceRepository

beforeAll(async () => {
  api = await startApi()
  resources = new ResourceRepository(api.db)
})
beforeEach(async () => {
  shop = await SecretWorld.make(api)
})
afterAll(() => api?.stop())

const errorFields = 'userErrors { field message code }'

const create = (name: string, dependsOn: string[] = []) =>
  shop.ask(
    `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } ${errorFields} } }`,
    { input: { image: 'nginx', projectId: shop.projectId, name, dependsOn } },
  )
const made = async (name: string, dependsOn: string[] = []): Promise<string> => (await create(name, dependsOn)).application.id
const update = (id: string, input: object) =>
  shop.ask(
    `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { ${errorFields} } }`,
    { id, input },
  )
const remove = (id: string, removeVolumes?: boolean) =>
  shop.ask(
    `mutation ($id: ID!, $volumes: Boolean) {
      applicationDelete(id: $id, removeVolumes: $volumes) { application { id generation deletionRequestedAt } ${errorFields} } }`,
    { id, volumes: removeVolumes },
  )
const row = (id: string) => api.db.resource.findUniqueOrThrow({ where: { id } })

/** Where a transaction waits, with its locks, until a test lets it go on. */
function gate() {
  const [arrived, passed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  return {
    arrived: arrived.promise,
    open: () => passed.resolve(),
    wait: () => {
      arrived.resolve()
      return passed.promise
    },
  }
}

/** Whether it is still waiting for somebody's lock after a while. */
async function waits(work: Promise<unknown>): Promise<boolean> {
  const late = Symbol('late')
  return (await Promise.race([work, new Promise((resolve) => setTimeout(resolve, 200, late))])) === late
}

describe('applicationDelete of what others depend on', () => {
  it('-> refused with their names, and nothing changed; without them -> deleted', async () => {
    const base = await made('base')
    const [web, worker] = [await made('web', ['base']), await made('worker', ['base'])]
    const before = [await row(base), await api.db.event.count(), await api.db.revision.count()]
    const { application, userErrors } = await remove(base)
    expect(application).toMatchObject({ id: base, generation: 1, deletionRequestedAt: null })
    expect(userErrors).toEqual([
      {
        field: ['id'],
        message: `needed by web (${web}), worker (${worker}): take it out of dependsOn there, or delete them first`,
        code: 'HAS_DEPENDANTS',
      },
    ])
    expect([await row(base), await api.db.event.count(), await api.db.revision.count()]).toEqual(before)

    expect((await remove(worker)).userErrors).toEqual([])
    expect((await remove(base)).userErrors).toMatchObject([{ message: expect.not.stringContaining('worker') }])
    await update(web, { dependsOn: null })
    expect((await remove(base)).userErrors).toEqual([])
    expect((await remove(base)).userErrors).toEqual([])
  })

  it('all of a chain, dependants first -> none is refused; of the same name elsewhere -> no dependant', async () => {
    const chain = [await made('a'), await made('b', ['a']), await made('c', ['b'])]
    for (const id of chain.toReversed()) expect((await remove(id)).userErrors).toEqual([])
    const base = await made('base')
    shop = await SecretWorld.make(api)
    await made('base')
    await made('web', ['base'])
    expect((await remove(base)).userErrors).toEqual([])
  })

  const context = (operation: string) => ({ actor: 'tok_owner', ability: 'write', operation, now: new Date() })
  const dependant = { image: 'nginx', dependsOn: ['base'] }

  it('while a create that names it has not committed -> waits for it, and is refused', async () => {
    const base = await made('base')
    const { arrived, wait, open } = gate()
    const { projectId } = shop
    const draft = { kind: 'application', projectId, name: 'web', spec: dependant } as const
    const creating = resources.create(draft, context('applicationCreate'), async (tx) => {
      const found = await claimConflicts(tx, { id: null, before: null, projectId, name: 'web', spec: dependant })
      await wait()
      return found.length > 0 ? found : null
    })
    await arrived
    const deleting = remove(base)
    expect(await waits(deleting)).toBe(true)
    open()
    expect(await creating).toMatchObject({ outcome: 'created' })
    expect((await deleting).userErrors).toMatchObject([{ code: 'HAS_DEPENDANTS' }])
  })

  it('while an update that names it has not committed -> waits for it, and is refused', async () => {
    const [base, web] = [await made('base'), await made('web')]
    const { arrived, wait, open } = gate()
    const changing = resources.patch(
      { id: web, kind: 'application' },
      null,
      async (_before, { projectId }, tx) => {
        const before = { image: 'nginx' }
        const found = await claimConflicts(tx, { id: web, before, projectId, name: 'web', spec: dependant })
        await wait()
        return found.length > 0 ? { refused: found } : { spec: dependant }
      },
      context('applicationUpdate'),
    )
    await arrived
    const deleting = remove(base)
    expect(await waits(deleting)).toBe(true)
    open()
    expect(await changing).toMatchObject({ outcome: 'changed' })
    expect((await deleting).userErrors).toMatchObject([{ code: 'HAS_DEPENDANTS' }])
  })

  it('and has not committed when a create and an update name it -> they wait, and find it being deleted', async () => {
    const [base, web] = [await made('base'), await made('web')]
    const { arrived, wait, open } = gate()
    const deleting = resources.requestDeletion({ id: base, kind: 'application' }, null, context('applicationDelete'), {
      removesVolumes: null,
      message: () => '',
      check: async (tx, found) => {
        const dependants = await dependantsOf(tx, found)
        await wait()
        return dependants.length > 0 ? dependants : null
      },
    })
    await arrived
    const writes = [create('late', ['base']), update(web, { dependsOn: ['base'] })]
    for (const write of writes) expect(await waits(write)).toBe(true)
    open()
    expect(await deleting).toMatchObject({ outcome: 'changed' })
    for (const write of writes)
      expect((await write).userErrors).toMatchObject([
        { field: ['input', 'dependsOn', '0'], code: 'DEPENDENCY_NOT_FOUND', message: expect.stringContaining('being deleted') },
      ])
  })

  it('at the same moment as both, again and again -> never the one without the other', async () => {
    for (let n = 0; n < 8; n++) {
      const base = await made(`base${n}`)
      const web = await made(`web${n}`)
      const [deleted, ...named] = await Promise.all([
        remove(base),
        create(`late${n}`, [`base${n}`]),
        update(web, { dependsOn: [`base${n}`] }),
      ])
      const went = deleted.userErrors.length === 0
      expect(named.map((answer) => answer.userErrors.length === 0).includes(true)).toBe(!went)
    }
  })
})

describe('applicationDelete and volumes', () => {
  const withVolumes = async (name: string): Promise<string> => {
    const id = await made(name)
    expect((await update(id, { volumes: [{ name: 'data', path: '/data' }] })).userErrors).toEqual([])
    return id
  }
  const lastEvent = (resourceId: string) => api.db.event.findFirstOrThrow({ where: { resourceId }, orderBy: { id: 'desc' } })

  it('not said -> they stay, and an event tells which', async () => {
    const id = await withVolumes('web')
    await remove(id)
    expect((await row(id)).removesVolumes).toBe(false)
    expect(await lastEvent(id)).toMatchObject({
      reason: 'DeletionRequested',
      message: 'its deletion was asked for; its volumes stay: data',
    })
  })

  it('said -> written with the deletion, told by an event and in the audit', async () => {
    const id = await withVolumes('web')
    await remove(id, true)
    expect((await row(id)).removesVolumes).toBe(true)
    expect((await lastEvent(id)).message).toContain('its volumes go with it')
    expect(await api.db.auditEntry.findFirst({ where: { resourceId: id }, orderBy: { id: 'desc' } })).toMatchObject({
      operation: 'applicationDelete',
      after: { removesVolumes: true },
    })
  })

  it('said anew while it is being deleted -> a new generation and a nudge; said again or not said -> nothing changes', async () => {
    const id = await withVolumes('web')
    const { application } = await remove(id)
    const first = await row(id)
    for (const [said, generation] of [
      [undefined, 3],
      [false, 3],
      [true, 4],
      [true, 4],
      [undefined, 4],
      [false, 5],
    ] as const) {
      expect((await remove(id, said)).application).toMatchObject({ id, generation })
      expect((await row(id)).deletionRequestedAt).toEqual(first.deletionRequestedAt)
    }
    expect(application.generation).toBe(3)
    expect((await row(id)).removesVolumes).toBe(false)
    await expect.poll(() => api.nudges.nudged.filter((n) => n.id === id).length).toBeGreaterThanOrEqual(4)
  })
})
