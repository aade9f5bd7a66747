import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeApplicationRecord } from '../../src/persistence/records.js'
import { SecretRepository } from '../../src/persistence/secret.repository.js'
import { ca, leaf, shop } from '../fixtures/certificates.js'
import { SecretWorld } from './secret-world.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
let otherProjectId: string
let ingressId: string
let numbers = 0

const project = async (name: string): Promise<string> =>
  (await api.graphql(`mutation ($name: String!) { projectCreate(input: { name: $name }) { project { id } } }`, { name })).data
    .projectCreate.project.id

beforeAll(async () => {
  api = await startApi()
  projectId = await project('shop')
  otherProjectId = await project('blog')
  const made = await api.graphql(
    `mutation ($input: IngressCreateInput!) { ingressCreate(input: $input) { ingress { id } userErrors { message } } }`,
    { input: { projectId, name: 'door' } },
  )
  ingressId = made.data.ingressCreate.ingress.id
})
afterAll(() => api?.stop())
beforeEach(async () => {
  await api.db.resource.update({ where: { id: ingressId }, data: { nextPassDueAt: null } })
  api.nudges.nudged.length = 0
})

const payload =
  'application { id generation spec { domains { host path tls basicAuth { username } } } } userErrors { field message code }'
const create = async (input: object) =>
  (
    await api.graphql(`mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { ${payload} } }`, {
      input: { projectId, name: `app-${numbers++}`, image: 'nginx', ports: [80], ...input },
    })
  ).data.applicationCreate

const update = async (id: string, input: object, expectedGeneration: number | null = null) =>
  (
    await api.graphql(
      `mutation ($id: ID!, $input: ApplicationUpdateInput!, $expectedGeneration: Int) {
        applicationUpdate(id: $id, input: $input, expectedGeneration: $expectedGeneration) { ${payload} } }`,
      { id, input, expectedGeneration },
    )
  ).data.applicationUpdate

const act = async (call: string) => {
  const { data, errors } = await api.graphql(
    `mutation { answer: ${call} { application { id } userErrors { field message code } } }`,
  )
  expect(errors).toEqual([])
  return data.answer
}

const fresh = async (input: object): Promise<string> => {
  const { application, userErrors } = await create(input)
  expect(userErrors).toEqual([])
  return application.id
}

const claims = (id: string) => api.db.domain.findMany({ where: { resourceId: id }, orderBy: [{ host: 'asc' }, { path: 'asc' }] })
const hostsOf = async (id: string) => (await claims(id)).map((d) => `${d.host}${d.path}`)
const isIngressDue = async () => (await api.db.resource.findUniqueOrThrow({ where: { id: ingressId } })).nextPassDueAt !== null
const ingressNudges = () => api.nudges.nudged.filter((n) => n.id === ingressId).length

describe('claims', () => {
  it('create -> claimed in the canonical form, and the ingress is due and nudged', async () => {
    const id = await fresh({ domains: [{ host: 'Store.Example.test.' }, { host: 'store.example.test', path: '/api' }] })
    expect(await hostsOf(id)).toEqual(['store.example.test/', 'store.example.test/api'])
    expect(await isIngressDue()).toBe(true)
    await expect.poll(ingressNudges).toBe(1)
  })

  it('update -> rows that vanish go, new ones come, changed ones keep what ingress told, the others stay untouched', async () => {
    const id = await fresh({ domains: ['stay', 'change', 'go'].map((host) => ({ host: `${host}.up.test` })) })
    const long = new Date('2026-01-01')
    await api.db.domain.updateMany({ where: { resourceId: id }, data: { changedAt: long, routed: true, reason: 'Routed' } })
    const { userErrors } = await update(id, {
      domains: [{ host: 'new.up.test' }, { host: 'stay.up.test' }, { host: 'change.up.test', compression: true }],
    })
    expect(userErrors).toEqual([])
    const [change, made, stay] = await claims(id)
    expect([change?.host, made?.host, stay?.host]).toEqual(['change.up.test', 'new.up.test', 'stay.up.test'])
    expect(change).toMatchObject({ routed: true, reason: 'Routed' })
    expect(change?.changedAt).not.toEqual(long)
    expect(made).toMatchObject({ routed: false, reason: 'Pending' })
    expect(stay).toMatchObject({ routed: true, changedAt: long })
  })

  it('the same path in other letters -> refused, and its own owner may write it so', async () => {
    const id = await fresh({ domains: [{ host: 'letters.test', path: '/Api' }] })
    const { userErrors } = await create({ domains: [{ host: 'letters.test', path: '/api' }] })
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '0', 'host'], code: 'DOMAIN_TAKEN' }])
    expect((await update(id, { domains: [{ host: 'letters.test', path: '/aPI' }] })).userErrors).toEqual([])
    expect(await api.db.domain.findMany({ where: { host: 'letters.test' } })).toMatchObject([{ path: '/aPI', resourceId: id }])
    expect((await update(id, { domains: [] })).userErrors).toEqual([])
    expect(await api.db.domain.count({ where: { host: 'letters.test' } })).toBe(0)
  })

  it('a claim that was lost -> claimed again by a change of the domain, unless somebody has it', async () => {
    const id = await fresh({ domains: [{ host: 'lost.test' }] })
    const compressed = (compression: boolean) => update(id, { domains: [{ host: 'lost.test', compression }] })
    await api.db.domain.deleteMany({ where: { host: 'lost.test' } })
    const other = await fresh({ domains: [{ host: 'lost.test' }] })
    expect((await compressed(true)).userErrors).toMatchObject([{ code: 'DOMAIN_TAKEN' }])
    await update(other, { domains: [] })
    expect((await compressed(true)).userErrors).toEqual([])
    expect(await api.db.domain.findMany({ where: { host: 'lost.test' } })).toMatchObject([{ resourceId: id }])
  })

  it.each(['a.taken.test', 'A.TAKEN.test'])(
    'a host that somebody has, as %s -> a userError that names the holder, and nothing is written',
    async (host) => {
      const [holder] = await api.db.domain.findMany({ where: { host: 'a.taken.test' } })
      const first = holder?.resourceId ?? (await fresh({ domains: [{ host: 'a.taken.test' }] }))
      const { name } = await api.db.resource.findUniqueOrThrow({ where: { id: first } })
      const before = await api.db.domain.count()
      const { application, userErrors } = await create({
        projectId: otherProjectId,
        domains: [{ host: 'b.taken.test' }, { host }],
      })
      expect(application).toBeNull()
      expect(userErrors).toMatchObject([{ field: ['input', 'domains', '1', 'host'], code: 'DOMAIN_TAKEN' }])
      expect(userErrors[0].message).toContain(`shop/${name}`)
      expect(await api.db.domain.count()).toBe(before)
    },
  )

  it('a host that somebody has, in an update -> refused, and the old claims stay', async () => {
    await fresh({ domains: [{ host: 'held.test' }] })
    const id = await fresh({ domains: [{ host: 'mine.test' }] })
    const { userErrors } = await update(id, { domains: [{ host: 'held.test' }] })
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '0', 'host'], code: 'DOMAIN_TAKEN' }])
    expect(await hostsOf(id)).toEqual(['mine.test/'])
  })

  it('a host that somebody has, in a plan -> refused as the change would be, and nothing is claimed', async () => {
    await fresh({ domains: [{ host: 'planned.test' }] })
    const id = await fresh({ domains: [{ host: 'planner.test' }] })
    const plan = async (declared: string, given: string, variables: object) => {
      const { data, errors } = await api.graphql(
        `query (${declared}) { applicationPlan(${given}) { userErrors { field code } } }`,
        variables,
      )
      expect(errors).toEqual([])
      return data.applicationPlan.userErrors
    }
    const domains = [{ host: 'planned.test' }]
    const changes = '$id: ID!, $changes: ApplicationUpdateInput!'
    expect(await plan(changes, 'id: $id, changes: $changes', { id, changes: { domains } })).toEqual([
      { field: ['changes', 'domains', '0', 'host'], code: 'DOMAIN_TAKEN' },
    ])
    const input = { projectId, name: 'plan', image: 'nginx', ports: [80], domains }
    expect(await plan('$input: ApplicationCreateInput!', 'input: $input', { input })).toEqual([
      { field: ['input', 'domains', '0', 'host'], code: 'DOMAIN_TAKEN' },
    ])
    expect(await hostsOf(id)).toEqual(['planner.test/'])
  })

  it('another path of a host that somebody has -> claimed', async () => {
    await fresh({ domains: [{ host: 'paths.test' }] })
    expect(await hostsOf(await fresh({ domains: [{ host: 'paths.test', path: '/b' }] }))).toEqual(['paths.test/b'])
  })

  it('stale expectedGeneration -> refused, and the claims stay', async () => {
    const id = await fresh({ domains: [{ host: 'stale.test' }] })
    const { userErrors } = await update(id, { domains: null }, 7)
    expect(userErrors).toMatchObject([{ field: ['expectedGeneration'], code: 'STALE_GENERATION' }])
    expect(await hostsOf(id)).toEqual(['stale.test/'])
  })

  it('deletion asked for -> given back at once: the next application may have it', async () => {
    const id = await fresh({ domains: [{ host: 'next.test' }] })
    expect((await act(`applicationDelete(id: "${id}")`)).userErrors).toEqual([])
    expect(await hostsOf(id)).toEqual([])
    expect(await hostsOf(await fresh({ domains: [{ host: 'next.test' }] }))).toEqual(['next.test/'])
    await expect.poll(ingressNudges).toBe(3)
  })

  it('suspend, resume, scale, restart, a new image -> neither claims nor ingress are touched', async () => {
    const id = await fresh({ domains: [{ host: 'calm.test' }] })
    await api.db.resource.update({ where: { id: ingressId }, data: { nextPassDueAt: null } })
    const before = await claims(id)
    for (const call of [
      'applicationSuspend(id: $)',
      'applicationResume(id: $)',
      'applicationScale(id: $, replicas: 2)',
      'applicationRestart(id: $)',
    ])
      expect((await act(call.replace('$', `"${id}"`))).userErrors).toEqual([])
    expect((await update(id, { image: 'nginx:1.29' })).userErrors).toEqual([])
    expect(await claims(id)).toEqual(before)
    expect(await isIngressDue()).toBe(false)
  })

  it.each([{ ports: [81, 80] }, { placement: { node: 'test-host' } }])(
    '%j of an application with domains -> the ingress is due',
    async (change) => {
      const id = await fresh({ domains: [{ host: `renders-${numbers}.test` }] })
      await api.db.resource.update({ where: { id: ingressId }, data: { nextPassDueAt: null } })
      expect((await update(id, change)).userErrors).toEqual([])
      expect(await isIngressDue()).toBe(true)
    },
  )

  it('a rollback to a release from before the domains -> keeps those of today', async () => {
    const id = await fresh({ domains: [{ host: 'before.test' }] })
    await new SecretWorld(api, projectId).release(id, 1, { image: 'nginx' })
    expect((await update(id, { image: 'nginx:2', domains: [{ host: 'today.test' }] })).userErrors).toEqual([])
    const before = await claims(id)
    expect((await act(`applicationRollback(id: "${id}", toRelease: 1)`)).userErrors).toEqual([])
    expect(await claims(id)).toEqual(before)
    expect((await api.db.resource.findUniqueOrThrow({ where: { id } })).spec).toMatchObject({
      image: 'nginx',
      domains: [{ host: 'today.test' }],
    })
  })

  it('a paused ingress -> neither due nor nudged, and the domain is claimed all the same', async () => {
    await api.db.resource.update({ where: { id: ingressId }, data: { paused: true } })
    try {
      expect(await hostsOf(await fresh({ domains: [{ host: 'paused.test' }] }))).toEqual(['paused.test/'])
      expect(await isIngressDue()).toBe(false)
    } finally {
      await api.db.resource.update({ where: { id: ingressId }, data: { paused: false } })
    }
  })

  it('shown on a node no more -> the ingress, which served it there until then, is due', async () => {
    const id = await fresh({ domains: [{ host: 'left.test' }] })
    await api.db.resource.update({ where: { id: ingressId }, data: { nextPassDueAt: null } })
    await api.db.$transaction((tx) => writeApplicationRecord(tx, id, { type: 'unpublished', node: 'node_old' }, Date.now()))
    expect(await isIngressDue()).toBe(true)
  })

  it('a clone -> does not take the domains along, and says so', async () => {
    const id = await fresh({ domains: [{ host: 'source.test' }, { host: 'source.test', path: '/b' }] })
    const { data } = await api.graphql(
      `mutation ($id: ID!) { applicationClone(id: $id, name: "copy") { application { id spec { domains { host } } } leftOut userErrors { code } } }`,
      { id },
    )
    expect(data.applicationClone).toMatchObject({ leftOut: ['domain source.test', 'domain source.test/b'], userErrors: [] })
    expect(data.applicationClone.application.spec.domains).toBeNull()
    expect(await hostsOf(data.applicationClone.application.id)).toEqual([])
  })

  it('a token that may only deploy -> may not change domains', async () => {
    const made = await api.graphql(`mutation { tokenCreate(input: { name: "d", abilities: [DEPLOY] }) { secret } }`)
    const id = await fresh({ domains: [{ host: 'owner.test' }] })
    const { data } = await api.graphql(
      `mutation ($id: ID!) { applicationUpdate(id: $id, input: { domains: [] }) { userErrors { field code } } }`,
      { id },
      made.data.tokenCreate.secret,
    )
    expect(data.applicationUpdate.userErrors).toEqual([{ field: ['input', 'domains'], code: 'ABILITY_MISSING' }])
    expect(await hostsOf(id)).toEqual(['owner.test/'])
  })

  it('the same host at one instant -> one of them has it', async () => {
    const all = await Promise.all(Array.from({ length: 2 }, () => create({ domains: [{ host: 'race.test' }] })))
    expect(all.map((a) => a.userErrors.map((e: { code: string }) => e.code)).toSorted()).toEqual([[], ['DOMAIN_TAKEN']])
    expect(await api.db.domain.count({ where: { host: 'race.test' } })).toBe(1)
  })

  it('twenty applications at one instant -> each has its own', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => create({ domains: [{ host: `crowd-${n}.test` }] })))
    expect(all.flatMap((a) => a.userErrors)).toEqual([])
    expect(await api.db.domain.count({ where: { host: { startsWith: 'crowd-' } } })).toBe(20)
  })

  it('a pass of the ingress that is about to tell something of a domain -> waited for, without a deadlock', async () => {
    const id = await fresh({ domains: [{ host: 'pass.test' }] })
    const waits = async () =>
      (
        await api.db.$queryRaw<object[]>`
          SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      ).length
    const changing = await api.db.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM "Resource" WHERE id = ${ingressId} FOR UPDATE`
        const change = { running: update(id, { domains: [{ host: 'pass.test', compression: true }] }) }
        await expect.poll(waits).toBe(1)
        await tx.domain.updateMany({ where: { host: 'pass.test' }, data: { routed: true, reason: 'Routed' } })
        return change
      },
      { timeout: 10_000 },
    )
    expect((await changing.running).userErrors).toEqual([])
    expect(await claims(id)).toMatchObject([{ routed: true, reason: 'Routed' }])
  })

  it('two that swap their hosts at one instant, again and again -> no deadlock', async () => {
    const ids = [await fresh({ domains: [{ host: 'swap-0.test' }] }), await fresh({ domains: [{ host: 'swap-1.test' }] })]
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(ids.map((id, n) => update(id, { domains: [{ host: `swap-${(n + round) % 2}.test` }] })))
      for (const { userErrors } of answers) for (const { code } of userErrors) expect(code).toBe('DOMAIN_TAKEN')
    }
  })
})

describe('nginxdemo', () => {
  const demo = async (input: object) =>
    (
      await api.graphql(
        `mutation ($input: NginxdemoCreateInput!) { nginxdemoCreate(input: $input) { nginxdemo { id spec { host } } userErrors { field code } } }`,
        { input: { projectId, name: `demo-${numbers++}`, hostPort: 20_000 + numbers, ...input } },
      )
    ).data.nginxdemoCreate

  it('its host -> claimed, changed and given back', async () => {
    const { nginxdemo, userErrors } = await demo({ host: 'Demo.test' })
    expect(userErrors).toEqual([])
    expect(nginxdemo.spec.host).toBe('demo.test')
    expect(await hostsOf(nginxdemo.id)).toEqual(['demo.test/'])
    const { data } = await api.graphql(
      `mutation ($id: ID!) { nginxdemoUpdate(id: $id, input: { host: "demo2.test" }) { userErrors { code } } }`,
      { id: nginxdemo.id },
    )
    expect(data.nginxdemoUpdate.userErrors).toEqual([])
    expect(await hostsOf(nginxdemo.id)).toEqual(['demo2.test/'])
    await api.graphql(`mutation ($id: ID!) { nginxdemoDelete(id: $id) { userErrors { code } } }`, { id: nginxdemo.id })
    expect(await hostsOf(nginxdemo.id)).toEqual([])
  })

  it('a host that an application has -> refused', async () => {
    await fresh({ domains: [{ host: 'both.test' }] })
    expect((await demo({ host: 'both.test' })).userErrors).toEqual([{ field: ['input', 'host'], code: 'DOMAIN_TAKEN' }])
  })
})

describe('basicAuth', () => {
  const password = 'Tr0ub4dor&3 größer'
  const hashOf = async (id: string, username: string): Promise<string> => {
    const { spec } = await api.db.resource.findUniqueOrThrow({ where: { id } })
    const [domain] = (spec as { domains: { basicAuth: { username: string; passwordHash: string }[] }[] }).domains
    return domain?.basicAuth.find((u) => u.username === username)?.passwordHash ?? ''
  }

  it('a password -> hashed, shown nowhere, and kept by an update that does not name it', async () => {
    const { compare } = await import('bcryptjs')
    const host = 'secret.test'
    const made = await create({ domains: [{ host, basicAuth: [{ username: 'ann', password }] }] })
    expect(made.userErrors).toEqual([])
    const { id } = made.application
    const hash = await hashOf(id, 'ann')
    expect(await compare(password, hash)).toBe(true)
    expect(hash).toMatch(/^\$2[aby]\$10\$/)

    const changed = await update(id, {
      domains: [{ host, compression: true, basicAuth: [{ username: 'ann' }, { username: 'bob', password: 'b' }] }],
    })
    expect(changed.userErrors).toEqual([])
    expect(await hashOf(id, 'ann')).toBe(hash)
    const told = [
      made,
      changed,
      await api.db.auditEntry.findMany({ where: { resourceId: id } }),
      await api.db.event.findMany({ where: { resourceId: id } }),
    ]
    const text = JSON.stringify(told, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))
    expect(text).toContain('ann')
    expect(text).not.toContain(password)
    expect(text).not.toMatch(/\$2[aby]\$/)
  })

  it('a repeated idempotency key, even with another password -> answers as the first time: no fast hash of one is kept', async () => {
    const call = (given: string) => {
      const domains = [{ host: 'once.test', basicAuth: [{ username: 'a', password: given }] }]
      return api.graphql(
        `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input, idempotencyKey: "pw") { application { id } userErrors { code } } }`,
        { input: { projectId, name: 'once', image: 'nginx', ports: [80], domains } },
      )
    }
    const [first, second] = [await call(password), await call('another')]
    expect(first.data.applicationCreate.userErrors).toEqual([])
    expect(second.data).toEqual(first.data)
  })

  it.each([
    ['both', { password: 'x', passwordHash: `$2b$10$${'a'.repeat(53)}` }, 'password'],
    ['neither', {}, 'password'],
    ['an empty password', { password: '' }, 'password'],
    ['more than 72 bytes', { password: 'ä'.repeat(37) }, 'password'],
    ['a hash that is none', { passwordHash: 'plain' }, 'passwordHash'],
  ])('%s -> refused at its field', async (_, user, field) => {
    const domains = [
      {
        host: 'wrong.test',
        basicAuth: [
          { username: 'a', password: 'x' },
          { username: 'b', ...user },
        ],
      },
    ]
    const { userErrors } = await create({ domains })
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '0', 'basicAuth', '1', field], code: 'INVALID' }])
  })

  it('a name with a colon -> refused at the name', async () => {
    const { userErrors } = await create({ domains: [{ host: 'wrong.test', basicAuth: [{ username: 'a:b', password: 'x' }] }] })
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '0', 'basicAuth', '0', 'username'], code: 'INVALID' }])
  })

  it('a kept hash at another host -> refused', async () => {
    const id = await fresh({ domains: [{ host: 'kept.test', basicAuth: [{ username: 'a', password: 'x' }] }] })
    const { userErrors } = await update(id, { domains: [{ host: 'moved.test', basicAuth: [{ username: 'a' }] }] })
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '0', 'basicAuth', '0', 'password'], code: 'INVALID' }])
  })
})

describe('certificate', () => {
  const own = `${shop.certificate}\n${shop.key}`
  const signed = `${leaf.certificate}\n${ca.certificate}\n${leaf.key}`
  const withCertificate = (host: string, certificate: string) => ({
    domains: [
      { host: 'plain.cert.test', tls: 'OFF' },
      { host, tls: 'CERTIFICATE', certificate },
    ],
  })
  let secrets: SecretWorld
  beforeAll(async () => {
    secrets = new SecretWorld(api, projectId)
    await secrets.secretSet('shop-tls', own)
    await secrets.secretSet('signed-tls', signed)
    await secrets.secretSet('no-tls', 'hello')
  })
  const release = (id: string) => act(`applicationDelete(id: "${id}")`)
  const handOut = (resource: string, secret: string, version: number) =>
    new SecretRepository(api.db).handOut(api.initialised.node.id, resource, [{ secret, version }], {
      actor: 'test',
      ability: 'agent',
      operation: 'secretValues',
      now: new Date(),
    })

  it.each([
    ['of another host', 'other.example.test', 'shop-tls', /is not for other\.example\.test/],
    ['that is none', 'shop.example.test', 'no-tls', /holds no certificate/],
  ])('one %s -> refused at its field, and nothing of it is quoted', async (_, host, certificate, message) => {
    const { userErrors } = await create(withCertificate(host, certificate))
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '1', 'certificate'], code: 'CERTIFICATE_UNFIT' }])
    expect(userErrors[0].message).toMatch(message)
    expect(userErrors[0].message).not.toMatch(/BEGIN|hello/)
  })

  it('one that has expired -> refused when it is named anew, and no hindrance to another change', async () => {
    const id = await fresh(withCertificate('shop.example.test', 'shop-tls'))
    api.time.now = Date.UTC(2200, 0, 1)
    try {
      expect((await update(id, { image: 'nginx:2' })).userErrors).toEqual([])
      const { userErrors } = await update(id, withCertificate('a.wild.example.test', 'shop-tls'))
      expect(userErrors).toMatchObject([{ field: ['input', 'domains', '1', 'certificate'], code: 'CERTIFICATE_UNFIT' }])
    } finally {
      api.time.now = null
    }
    await release(id)
  })

  it('a secret that is missing -> refused at its field', async () => {
    const { userErrors } = await create(withCertificate('shop.example.test', 'missing'))
    expect(userErrors).toMatchObject([{ field: ['input', 'domains', '1', 'certificate'], code: 'SECRET_NOT_FOUND' }])
  })

  it('in use -> not deleted, told as used, handed out in its newest version only, and free again afterwards', async () => {
    const id = await fresh(withCertificate('signed.example.test', 'signed-tls'))
    const secret = await api.db.secret.findFirstOrThrow({ where: { projectId, name: 'signed-tls' } })
    const remove = async () =>
      (await api.graphql(`mutation ($id: ID!) { secretDelete(id: $id) { userErrors { field code } } }`, { id: secret.id })).data
        .secretDelete
    expect((await remove()).userErrors).toEqual([{ field: ['id'], code: 'SECRET_IN_USE' }])
    expect(await handOut(id, 'signed-tls', 1)).toMatchObject({ outcome: 'sealed', values: { length: 1 } })
    expect(await handOut(id, 'shop-tls', 1)).toMatchObject({ outcome: 'forbidden' })
    await release(id)
    expect((await remove()).userErrors).toEqual([])
  })

  it('a new version -> the ingress is due and nudged; one that does not fit is refused', async () => {
    const id = await fresh(withCertificate('shop.example.test', 'shop-tls'))
    await expect.poll(ingressNudges).toBe(1)
    await api.db.resource.update({ where: { id: ingressId }, data: { nextPassDueAt: null } })
    const { userErrors } = await secrets.secretSet('shop-tls', signed)
    expect(userErrors).toMatchObject([{ field: ['input', 'value'], code: 'CERTIFICATE_UNFIT' }])
    expect(await isIngressDue()).toBe(false)
    expect((await secrets.secretSet('shop-tls', `${own}\n`)).userErrors).toEqual([])
    expect(await isIngressDue()).toBe(true)
    await expect.poll(ingressNudges).toBe(2)
    await release(id)
  })
})

describe('what is served', () => {
  const told = `host path url tls routed { status reason message } certificate { issuer notAfter error }
    servedBy { release endpoints { release replica nodeId address container state } } resource { id __typename }`
  const domainsOf = async (id: string) => {
    const { data, errors } = await api.graphql(`query ($id: ID!) { application(id: $id) { domains { ${told} } } }`, { id })
    expect(errors).toEqual([])
    return data.application.domains
  }

  it('before anybody looked -> pending, without certificate and replicas', async () => {
    const id = await fresh({ domains: [{ host: 'served.test', path: '/a' }] })
    expect(await domainsOf(id)).toEqual([
      {
        host: 'served.test',
        path: '/a',
        url: 'https://served.test/a',
        tls: 'INTERNAL',
        routed: { status: 'False', reason: 'Pending', message: '' },
        certificate: null,
        servedBy: { release: null, endpoints: [] },
        resource: { id, __typename: 'Application' },
      },
    ])
  })

  it('routed, with a certificate and a ready replica -> told, with its container', async () => {
    const id = await fresh({ domains: [{ host: 'ready.test', tls: 'ACME' }] })
    const at = new Date('2027-01-01')
    await api.db.domain.updateMany({
      where: { resourceId: id },
      data: { routed: true, reason: 'Routed', certificateIssuer: 'CA', certificateNotAfter: at, certificateSeenAt: at },
    })
    await new SecretWorld(api, projectId).release(id, 1, {})
    await api.db.release.updateMany({ where: { resourceId: id }, data: { servingAt: at } })
    const row = { resourceId: id, release: 1, node: 'node_1', stateAt: at, createdAt: at }
    await api.db.endpoint.createMany({
      data: [
        { ...row, replica: 0, address: '10.1.0.2', state: 'ready' },
        { ...row, replica: 1, address: '10.1.0.3', state: 'draining' },
      ],
    })
    expect(await domainsOf(id)).toMatchObject([
      {
        tls: 'ACME',
        routed: { status: 'True', reason: 'Routed' },
        certificate: { issuer: 'CA', notAfter: at.toISOString(), error: null },
        servedBy: {
          release: 1,
          endpoints: [
            {
              release: 1,
              replica: 0,
              nodeId: 'node_1',
              address: '10.1.0.2',
              container: `ek-${api.initialised.instance}-${id}-1-0`,
              state: 'ready',
            },
          ],
        },
      },
    ])
  })

  it('ports and TLS of the ingress -> in the URL; none for a wildcard', async () => {
    const change = async (input: object) =>
      api.graphql(
        `mutation ($id: ID!, $input: IngressUpdateInput!) { ingressUpdate(id: $id, input: $input) { userErrors { code } } }`,
        {
          id: ingressId,
          input,
        },
      )
    await change({ httpPort: 8080, httpsPort: 8443, defaultTls: 'OFF' })
    const id = await fresh({ domains: [{ host: '*.url.test' }, { host: 'a.url.test' }, { host: 'b.url.test', tls: 'INTERNAL' }] })
    expect((await domainsOf(id)).map((d: { url: string }) => d.url)).toEqual([
      null,
      'http://a.url.test:8080/',
      'https://b.url.test:8443/',
    ])
    await change({ httpPort: null, httpsPort: null, defaultTls: null })
  })

  it('all of a project, page by page', async () => {
    const own = await project('pages')
    const id = await fresh({ projectId: own, domains: ['c', 'a', 'b'].map((n) => ({ host: `${n}.pages.test` })) })
    const page = async (after: string | null) => {
      const { data, errors } = await api.graphql(
        `query ($p: ID, $after: String) { domains(projectId: $p, first: 2, after: $after) { nodes { host resource { id } } pageInfo { endCursor hasNextPage } } }`,
        { p: own, after },
      )
      expect(errors).toEqual([])
      return data.domains
    }
    const first = await page(null)
    expect(first).toMatchObject({
      nodes: [{ host: 'a.pages.test', resource: { id } }, { host: 'b.pages.test' }],
      pageInfo: { hasNextPage: true },
    })
    expect(await page(first.pageInfo.endCursor)).toMatchObject({
      nodes: [{ host: 'c.pages.test' }],
      pageInfo: { hasNextPage: false },
    })
  })
})
