import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ability, abilities } from '../../src/api/auth/ability.js'
import { SecretWorld } from './secret-world.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
let projectId: string
const tokens = {} as Record<Ability, string>

const project = async (name: string): Promise<string> =>
  (await api.graphql(`mutation ($name: String!) { projectCreate(input: { name: $name }) { project { id } } }`, { name })).data
    .projectCreate.project.id

beforeAll(async () => {
  api = await startApi()
  for (const ability of abilities) {
    const made = await api.graphql(
      `mutation { tokenCreate(input: { name: "${ability}", abilities: [${ability.toUpperCase()}] }) { secret } }`,
    )
    tokens[ability] = made.data.tokenCreate.secret
  }
  projectId = await project('shop')
  const secrets = new SecretWorld(api, projectId)
  for (const [at, name] of ['token', 'key', 'key', 'key'].entries()) await secrets.secretSet(name, `value ${at}`)
  await secrets.credentialSet('hub')
})
afterAll(() => api?.stop())

const create = async (input: object, token = api.ownerToken) =>
  (
    await api.graphql(
      `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id name generation } userErrors { field message code } } }`,
      { input: { projectId, image: 'nginx', ...input } },
      token,
    )
  ).data.applicationCreate

const update = async (id: string, input: object, token = api.ownerToken) =>
  (
    await api.graphql(
      `mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { application { id generation } userErrors { field message code } } }`,
      { id, input },
      token,
    )
  ).data.applicationUpdate

let names = 0
const fresh = async (input: object = {}): Promise<{ id: string; name: string }> => {
  const { application, userErrors } = await create({ name: `f${names++}`, ...input })
  expect(userErrors).toEqual([])
  return application
}
const specOf = async (id: string) => (await api.db.resource.findUniqueOrThrow({ where: { id } })).spec

const world = async () => ({
  resources: await api.db.resource.findMany({ orderBy: { id: 'asc' } }),
  revisions: await api.db.revision.count(),
  events: await api.db.event.count(),
})

let hostPorts = 20_000
const whole = () => ({
  image: 'nginx:1.28',
  entrypoint: ['/bin/run'],
  command: ['--a', '$b'],
  env: [{ name: 'A', value: '1' }],
  secretEnv: [
    { name: 'TOKEN', secret: 'token' },
    { name: 'OLD', secret: 'token', version: 1 },
  ],
  files: [
    { path: '/etc/a.conf', content: 'größer\n', mode: '0600' },
    { path: '/run/key', secret: 'key', version: 3 },
  ],
  labels: [{ key: 'team', value: 'x' }],
  ports: [80, 9000],
  publishedPorts: [
    { port: 80, hostPort: hostPorts++, hostAddress: '0.0.0.0', protocol: 'TCP' },
    { port: 9000, hostPort: hostPorts++ },
  ],
  replicas: 1,
  readiness: { path: '/', port: 80, intervalSeconds: 0.5, timeoutSeconds: 1, failureThreshold: 2 },
  liveness: { command: ['true'], intervalSeconds: 10 },
  user: '1000:1000',
  volumes: [
    { name: 'data', path: '/data' },
    { name: 'cache', path: '/cache', readOnly: true },
  ],
  bindMounts: [{ source: '/srv/a', path: '/a', readOnly: true }],
  tmpfs: [{ path: '/tmp', sizeBytes: 5_000_000_000 }],
  shmBytes: 3_000_000_000,
  devices: [{ source: '/dev/fuse', permissions: 'rw' }],
  resources: { memoryBytes: 8_589_934_592, cpus: 1.5 },
  strategy: 'BLUE_GREEN',
  preDeploy: { command: ['migrate'], timeoutSeconds: 30 },
  dependsOn: [] as string[],
  pullPolicy: 'ALWAYS',
  registryCredential: 'hub',
  suspended: false,
  startupBudgetSeconds: 5,
  stopGraceSeconds: 6,
  drainSeconds: 7,
  placement: { node: api.initialised.node.name },
})

const specFields = `image entrypoint command env { name value } secretEnv { name secret version }
  files { path content contentBytes secret version mode } labels { key value } ports publishedPorts { port hostPort hostAddress protocol }
  replicas readiness { path port command intervalSeconds timeoutSeconds failureThreshold } liveness { path command intervalSeconds }
  user volumes { name path readOnly } bindMounts { source path readOnly } tmpfs { path sizeBytes } shmBytes devices { source path permissions }
  resources { memoryBytes cpus } strategy preDeploy { command timeoutSeconds } dependsOn pullPolicy registryCredential suspended
  startupBudgetSeconds stopGraceSeconds drainSeconds placement { node } restartNonce`

const readSpec = async (id: string, token = api.ownerToken) => {
  const { data, errors } = await api.graphql(
    `query ($id: ID!) { application(id: $id) { spec { ${specFields} } } }`,
    { id },
    token,
  )
  expect(errors).toEqual([])
  return data.application.spec
}

/** The shape of what was given, with what was not given as null. */
const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_k, v: unknown) => (v === null ? undefined : v)))

describe('every field of a spec', () => {
  it('given -> stored in the words of the spec, and read as it was given', async () => {
    const wanted = whole()
    const { id } = await fresh(wanted)
    expect(await specOf(id)).toEqual({
      ...wanted,
      strategy: 'blue-green',
      pullPolicy: 'always',
      publishedPorts: [{ ...wanted.publishedPorts[0], protocol: 'tcp' }, wanted.publishedPorts[1]],
    })
    expect(withoutNulls(await readSpec(id))).toEqual({
      ...wanted,
      files: [{ ...wanted.files[0], contentBytes: 9 }, wanted.files[1]],
    })
  })

  it('null -> each but the image goes back to its default, and nothing is left in the spec', async () => {
    const { id } = await fresh(whole())
    const nothing = Object.fromEntries(
      Object.keys(whole())
        .filter((f) => f !== 'image')
        .map((f) => [f, null]),
    )
    expect((await update(id, nothing)).userErrors).toEqual([])
    expect(await specOf(id)).toEqual({ image: 'nginx:1.28' })
  })

  it.each<[Ability, string | null]>([
    ['read', null],
    ['deploy', null],
    ['write', 'größer\n'],
    ['admin', 'größer\n'],
  ])('contents of files with %s -> %j', async (ability, content) => {
    const { id } = await fresh({ files: [{ path: '/etc/a.conf', content: 'größer\n' }] })
    expect((await readSpec(id, tokens[ability])).files).toMatchObject([{ path: '/etc/a.conf', content, contentBytes: 9 }])
  })

  it('restartNonce -> is no input', async () => {
    const { errors } = await api.graphql(
      `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { userErrors { code } } }`,
      { input: { projectId, name: 'nonce', image: 'nginx', restartNonce: 1 } },
    )
    expect(errors[0]?.message).toContain('restartNonce')
  })
})

describe('bad input', () => {
  const port = { port: 80, hostPort: 8_001 }
  it.each<[string, object, string[], string]>([
    ['port above 65535', { ports: [65_536] }, ['ports', '0'], 'between 1 and 65535'],
    ['port below 1', { ports: [80, -1] }, ['ports', '1'], 'between 1 and 65535'],
    ['port twice', { ports: [80, 80] }, ['ports', '1'], 'twice'],
    ['host port 0', { publishedPorts: [{ ...port, hostPort: 0 }] }, ['publishedPorts', '0', 'hostPort'], 'between 1 and 65535'],
    [
      'published port out of range',
      { publishedPorts: [{ ...port, port: 70_000 }] },
      ['publishedPorts', '0', 'port'],
      'between 1 and 65535',
    ],
    [
      'host port twice',
      { publishedPorts: [port, { ...port, port: 81 }] },
      ['publishedPorts', '1', 'hostPort'],
      'overlaps 127.0.0.1:8001/tcp',
    ],
    [
      'host port on every address and on one',
      { publishedPorts: [port, { ...port, hostAddress: '0.0.0.0' }] },
      ['publishedPorts', '1', 'hostPort'],
      'overlaps 127.0.0.1:8001/tcp',
    ],
    [
      'host address that is none',
      { publishedPorts: [{ ...port, hostAddress: 'localhost' }] },
      ['publishedPorts', '0', 'hostAddress'],
      'IPv4',
    ],
    ['two replicas with a host port', { replicas: 2, publishedPorts: [port] }, ['replicas'], '0 or 1'],
    ['relative mount path', { volumes: [{ name: 'a', path: 'data' }] }, ['volumes', '0', 'path'], 'must be absolute'],
    ['mount path with ..', { volumes: [{ name: 'a', path: '/a/../b' }] }, ['volumes', '0', 'path'], '..'],
    ['mount path /', { tmpfs: [{ path: '/' }] }, ['tmpfs', '0', 'path'], 'below /'],
    [
      'mount path twice',
      { volumes: [{ name: 'a', path: '/data' }], tmpfs: [{ path: '/data/' }] },
      ['tmpfs', '0', 'path'],
      'another mount',
    ],
    [
      'file where a mount is',
      { volumes: [{ name: 'a', path: '/data' }], files: [{ path: '/data', content: '' }] },
      ['files', '0', 'path'],
      'another mount',
    ],
    [
      'file twice',
      {
        files: [
          { path: '/a', content: '' },
          { path: '//a', content: '' },
        ],
      },
      ['files', '1', 'path'],
      'another mount or file',
    ],
    [
      'file in a bind mount',
      { bindMounts: [{ source: '/srv', path: '/data' }], files: [{ path: '/data/deep/x', content: '' }] },
      ['files', '0', 'path'],
      'would lie in a folder of the host',
    ],
    [
      'file where another file needs a folder',
      {
        files: [
          { path: '/etc/app/conf', content: '' },
          { path: '/etc/app', content: '' },
        ],
      },
      ['files', '1', 'path'],
      'the folder of /etc/app/conf',
    ],
    ['file that is a folder', { files: [{ path: '/etc/app/', content: '' }] }, ['files', '0', 'path'], 'is a folder'],
    ['file in /proc', { files: [{ path: '/proc/x', content: '' }] }, ['files', '0', 'path'], 'would lie in /proc'],
    ['mount path that is / in other words', { tmpfs: [{ path: '/./' }] }, ['tmpfs', '0', 'path'], 'below /'],
    ['volume in /proc', { volumes: [{ name: 'a', path: '/proc/a' }] }, ['volumes', '0', 'path'], 'folder of the kernel'],
    [
      'volume twice',
      {
        volumes: [
          { name: 'a', path: '/a' },
          { name: 'a', path: '/b' },
        ],
      },
      ['volumes', '1'],
      'twice',
    ],
    ['volume name in capitals', { volumes: [{ name: 'Data', path: '/a' }] }, ['volumes', '0', 'name'], 'a-z'],
    ['relative bind source', { bindMounts: [{ source: 'srv', path: '/a' }] }, ['bindMounts', '0', 'source'], 'must be absolute'],
    ['relative device', { devices: [{ source: 'fuse' }] }, ['devices', '0', 'source'], 'must be absolute'],
    [
      'device permissions',
      { devices: [{ source: '/dev/fuse', permissions: 'x' }] },
      ['devices', '0', 'permissions'],
      'r, w and m',
    ],
    ['file with neither text nor secret', { files: [{ path: '/a' }] }, ['files', '0'], 'either content or secret'],
    ['file with both', { files: [{ path: '/a', content: '', secret: 's' }] }, ['files', '0'], 'either content or secret'],
    ['file mode', { files: [{ path: '/a', content: '', mode: 'rw' }] }, ['files', '0', 'mode'], '0644'],
    ['relative file', { files: [{ path: 'etc/a', content: '' }] }, ['files', '0', 'path'], 'must be absolute'],
    ['files too big in all', { files: [{ path: '/a', content: '\u0001'.repeat(32_000) }] }, ['files'], 'bytes on the wire'],
    [
      'secret env twice',
      {
        secretEnv: [
          { name: 'A', secret: 's' },
          { name: 'A', secret: 't' },
        ],
      },
      ['secretEnv', '1'],
      'twice',
    ],
    ['secret version 0', { secretEnv: [{ name: 'A', secret: 's', version: 0 }] }, ['secretEnv', '0', 'version'], '>=1'],
    [
      "memory below Docker's minimum",
      { resources: { memoryBytes: 1_000_000 } },
      ['resources', 'memoryBytes'],
      "6291456 (6 MiB), Docker's minimum",
    ],
    ['negative memory', { resources: { memoryBytes: -1 } }, ['resources', 'memoryBytes'], 'at least 6291456'],
    ['half a byte', { resources: { memoryBytes: 7_000_000.5 } }, ['resources', 'memoryBytes'], 'whole number'],
    ['absurd memory', { resources: { memoryBytes: 2e15 } }, ['resources', 'memoryBytes'], 'more than any machine'],
    ['no cpu', { resources: { cpus: 0 } }, ['resources', 'cpus'], 'at least 0.01'],
    ['absurd cpus', { resources: { cpus: 1e6 } }, ['resources', 'cpus'], 'more than any machine'],
    ['tiny shm', { shmBytes: 1 }, ['shmBytes'], 'at least 65536'],
    ['absurd tmpfs', { tmpfs: [{ path: '/t', sizeBytes: 2e15 }] }, ['tmpfs', '0', 'sizeBytes'], 'more than any machine'],
    [
      'probe of a port that is not there',
      { ports: [80], readiness: { port: 81 } },
      ['readiness', 'port'],
      "one of the application's ports: 80",
    ],
    [
      'liveness of a port that is not there',
      { ports: [80, 82], liveness: { path: '/', port: 81 } },
      ['liveness', 'port'],
      '80, 82',
    ],
    ['liveness without any port', { liveness: { path: '/' } }, ['liveness', 'port'], 'no ports'],
    [
      'probe with path and command',
      { ports: [80], readiness: { path: '/', command: ['true'] } },
      ['readiness', 'command'],
      'either a command or an HTTP request',
    ],
    ['probe without end', { ports: [80], readiness: { timeoutSeconds: 301 } }, ['readiness', 'timeoutSeconds'], '<=300'],
    ['pre-deploy without a command', { preDeploy: { command: [] } }, ['preDeploy', 'command'], 'must not be empty'],
    ['user with spaces', { user: 'a b' }, ['user'], 'uid:gid'],
    ['dependency that is no name', { dependsOn: ['A'] }, ['dependsOn', '0'], 'a-z'],
    ['dependency that does not exist', { dependsOn: ['nobody'] }, ['dependsOn', '0'], 'there is no application «nobody»'],
    ['dependency on itself', { dependsOn: ['bad'] }, ['dependsOn', '0'], 'bad → bad'],
    ['dependency twice', { dependsOn: ['f0', 'f0'] }, ['dependsOn', '1'], 'twice'],
    ['registry credential that is no name', { registryCredential: 'A b' }, ['registryCredential'], 'a-z'],
  ])('%s -> told with its field and what would be right, and nothing changed', async (_what, input, field, message) => {
    const before = await world()
    const { application, userErrors } = await create({ name: 'bad', ...input })
    expect(application).toBeNull()
    expect(userErrors).toHaveLength(1)
    expect(userErrors[0].field).toEqual(['input', ...field])
    expect(userErrors[0].message).toContain(message)
    expect(await world()).toEqual(before)
  })

  it.each([
    ['stopGraceSeconds', '10s', 'Int cannot represent non-integer value'],
    ['startupBudgetSeconds', '1m', 'Int cannot represent non-integer value'],
    ['readiness', { intervalSeconds: '2s' }, 'Float cannot represent non numeric value'],
    ['resources', { memoryBytes: '512Mi' }, 'Float cannot represent non numeric value'],
    ['strategy', 'canary', 'Value "canary" does not exist in "Strategy" enum'],
    ['pullPolicy', 'IfNotPresent', 'does not exist in "PullPolicy" enum'],
  ])(
    '%s %j, a text instead of a number or a word of the list -> malformed, told with its place',
    async (field, value, message) => {
      const { data, errors } = await api.graphql(
        `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { userErrors { code } } }`,
        { input: { projectId, name: 'bad', image: 'nginx', [field]: value } },
      )
      expect(data).toBeNull()
      expect(errors[0]?.message).toContain(`"input.${field}`)
      expect(errors[0]?.message).toContain(message)
      expect(errors[0]?.extensions['code']).toBe('BAD_USER_INPUT')
    },
  )
})

describe('fields that reach the node', () => {
  const dangerous = { bindMounts: [{ source: '/var/run', path: '/host' }], devices: [{ source: '/dev/kmsg' }] }

  it.each(['bindMounts', 'devices'] as const)(
    '%s without admin -> ABILITY_MISSING with the field; with admin -> taken',
    async (field) => {
      const input = { name: `danger-${field.toLowerCase()}`, [field]: dangerous[field] }
      const before = await world()
      const { application, userErrors } = await create(input, tokens.write)
      expect(application).toBeNull()
      expect(userErrors).toMatchObject([{ field: ['input', field], code: 'ABILITY_MISSING' }])
      expect(await world()).toEqual(before)
      expect((await create(input, tokens.admin)).userErrors).toEqual([])
    },
  )

  it('what an admin gave -> others may keep it and take it away, and not add to it', async () => {
    const { id } = await fresh(dangerous)
    expect((await update(id, { env: [{ name: 'A', value: '1' }] }, tokens.write)).userErrors).toEqual([])
    const more = [...dangerous.bindMounts, { source: '/etc', path: '/etc' }]
    expect((await update(id, { bindMounts: more }, tokens.write)).userErrors).toMatchObject([
      { field: ['input', 'bindMounts'], code: 'ABILITY_MISSING' },
    ])
    expect((await update(id, { bindMounts: null, devices: [] }, tokens.write)).userErrors).toEqual([])
  })

  it('a port on every address -> needs no admin', async () => {
    const publishedPorts = [{ port: 80, hostPort: hostPorts++, hostAddress: '0.0.0.0' }]
    expect((await create({ name: 'open', publishedPorts }, tokens.write)).userErrors).toEqual([])
  })
})

describe('host ports', () => {
  const published = (hostPort: number, more: object = {}) => ({ publishedPorts: [{ port: 80, hostPort, ...more }] })

  it.each<[string, object, object, boolean]>([
    ['same address', {}, {}, true],
    ['same address, said and not said', {}, { hostAddress: '127.0.0.1' }, true],
    ['every address against one', { hostAddress: '0.0.0.0' }, {}, true],
    ['one against every address', { hostAddress: '10.1.2.3' }, { hostAddress: '0.0.0.0' }, true],
    ['two addresses', { hostAddress: '10.1.2.3' }, {}, false],
    ['two protocols', { protocol: 'UDP' }, {}, false],
    ['same protocol', { protocol: 'UDP' }, { protocol: 'UDP' }, true],
  ])('%s -> refused with who holds it, or free', async (_what, held, asked, refused) => {
    const hostPort = hostPorts++
    const holder = await fresh(published(hostPort, held))
    const { application, userErrors } = await create({ name: `p${names++}`, ...published(hostPort, asked) })
    if (!refused) return void expect(userErrors).toEqual([])
    expect(application).toBeNull()
    expect(userErrors).toMatchObject([{ field: ['input', 'publishedPorts', '0', 'hostPort'], code: 'HOST_PORT_TAKEN' }])
    expect(userErrors[0].message).toContain(`application ${holder.name} (${holder.id}) of project shop`)
  })

  it('another node -> free; moved to the node -> refused', async () => {
    await api.db.resource.create({
      data: { id: 'node_b', kind: 'node', projectId: 'prj_platform', name: 'b', spec: {}, nodeStatus: { create: {} } },
    })
    const hostPort = hostPorts++
    await fresh(published(hostPort))
    const { id } = await fresh({ ...published(hostPort), placement: { node: 'b' } })
    expect((await update(id, { placement: null })).userErrors).toMatchObject([{ code: 'HOST_PORT_TAKEN' }])
    expect((await update(id, { placement: { node: api.initialised.node.name } })).userErrors).toMatchObject([
      { code: 'HOST_PORT_TAKEN' },
    ])
    expect((await update(id, { replicas: 0 })).userErrors).toEqual([])
  })

  it('of a demo -> refused as well, and the other way round', async () => {
    const demo = async (name: string, hostPort: number) =>
      (
        await api.graphql(
          `mutation ($p: ID!, $name: String!, $port: Int!) { nginxdemoCreate(input: { projectId: $p, name: $name, hostPort: $port }) { nginxdemo { id } userErrors { field message code } } }`,
          { p: projectId, name, port: hostPort },
        )
      ).data.nginxdemoCreate
    const [ofDemo, ofApplication] = [hostPorts++, hostPorts++]
    const { nginxdemo } = await demo('demo', ofDemo)
    expect((await create({ name: 'beside', ...published(ofDemo) })).userErrors[0].message).toContain('nginxdemo demo')
    const { name } = await fresh(published(ofApplication))
    const taken = {
      field: ['input', 'hostPort'],
      code: 'HOST_PORT_TAKEN',
      message: expect.stringContaining(`application ${name}`),
    }
    expect(await demo('demo-b', ofApplication)).toMatchObject({ nginxdemo: null, userErrors: [taken] })
    const { data } = await api.graphql(
      `mutation ($id: ID!, $port: Int!) { nginxdemoUpdate(id: $id, input: { hostPort: $port }) { userErrors { field message code } } }`,
      { id: nginxdemo.id, port: ofApplication },
    )
    expect(data.nginxdemoUpdate.userErrors).toMatchObject([taken])
  })

  it('given up -> free for others; of one that is being deleted -> still held', async () => {
    const hostPort = hostPorts++
    const first = await fresh(published(hostPort))
    const second = await fresh()
    expect((await update(second.id, published(hostPort))).userErrors).toMatchObject([{ code: 'HOST_PORT_TAKEN' }])
    await update(first.id, { publishedPorts: null })
    expect((await update(second.id, published(hostPort))).userErrors).toEqual([])
    await api.graphql(`mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { code } } }`, { id: second.id })
    expect((await update(first.id, published(hostPort))).userErrors).toMatchObject([{ code: 'HOST_PORT_TAKEN' }])
  })

  it('ten creates race for overlapping ports -> exactly one has it', async () => {
    const hostPort = hostPorts++
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        create({ name: `race${n}`, ...published(hostPort, n % 2 ? { hostAddress: '0.0.0.0' } : {}) }),
      ),
    )
    expect(answers.filter((a) => a.application)).toHaveLength(1)
    expect(answers.flatMap((a) => a.userErrors.map((e: { code: string }) => e.code))).toEqual(Array(9).fill('HOST_PORT_TAKEN'))
  })

  it('an update and a create race -> exactly one has it', async () => {
    for (let round = 0; round < 5; round++) {
      const hostPort = hostPorts++
      const { id } = await fresh()
      const answers = await Promise.all([
        update(id, published(hostPort)),
        create({ name: `late${round}`, ...published(hostPort) }),
      ])
      expect(answers.filter((a) => a.userErrors.length === 0)).toHaveLength(1)
    }
  })
})

describe('dependsOn', () => {
  it('cycle over several applications -> refused, and told as a way', async () => {
    const projectId = await project('ring')
    const add = (name: string, dependsOn: string[]) => create({ projectId, name, dependsOn })
    const a = (await add('a', [])).application
    await add('b', ['a'])
    await add('c', ['b'])
    const { userErrors } = await update(a.id, { dependsOn: ['c'] })
    expect(userErrors).toEqual([
      { field: ['input', 'dependsOn', '0'], message: 'would wait for itself: a → c → b → a', code: 'DEPENDENCY_CYCLE' },
    ])
    expect(await specOf(a.id)).toEqual({ image: 'nginx', dependsOn: [] })
  })

  it('application of the same name in another project -> is none', async () => {
    const other = await project('elsewhere')
    await create({ projectId: other, name: 'far' })
    expect((await create({ name: 'near', dependsOn: ['far'] })).userErrors).toMatchObject([{ code: 'DEPENDENCY_NOT_FOUND' }])
  })

  it('one that is being deleted -> refused; deleted later -> other changes go on', async () => {
    const base = await fresh()
    const { id } = await fresh({ dependsOn: [base.name] })
    // As an older version did, which asked no dependants.
    await api.db.resource.update({ where: { id: base.id }, data: { deletionRequestedAt: new Date() } })
    const { userErrors } = await create({ name: 'late', dependsOn: [base.name] })
    expect(userErrors[0]).toMatchObject({ code: 'DEPENDENCY_NOT_FOUND', message: expect.stringContaining('being deleted') })
    expect((await update(id, { replicas: 2 })).userErrors).toEqual([])
  })

  it('two updates race to close a ring -> exactly one wins', async () => {
    for (let round = 0; round < 5; round++) {
      const [a, b] = [await fresh(), await fresh()]
      const answers = await Promise.all([update(a.id, { dependsOn: [b.name] }), update(b.id, { dependsOn: [a.name] })])
      expect(answers.filter((x) => x.userErrors.length === 0)).toHaveLength(1)
    }
  })
})
