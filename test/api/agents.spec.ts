import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { hashToken } from '../../src/adapters/crypto/token.js'
import { readAgentConfig } from '../../src/agent/config.js'
import { heartbeatStaleMs } from '../../src/agent/protocol.js'
import { heartbeat, hello } from '../../src/agent/testing/frames.js'
import { AgentsGateway } from '../../src/api/agents/agents.gateway.js'
import { Nudger } from '../../src/api/nudge/nudger.service.js'
import { NodeRepository } from '../../src/persistence/node.repository.js'
import { ResourceRepository } from '../../src/persistence/resource.repository.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { FakeAgent } from './fake-agent.js'

let api: ApiUnderTest
let projectId: string
const agents: FakeAgent[] = []

function dial(token: string): FakeAgent {
  const agent = new FakeAgent(api.url, token)
  agents.push(agent)
  return agent
}

async function connect(token: string, more: object = {}) {
  const agent = dial(token)
  expect(await agent.opened()).toBe('open')
  agent.send(hello(more))
  return { agent, welcome: await agent.next('welcome') }
}

let localToken: string
async function addNode(name: string): Promise<{ id: string; token: string }> {
  const nodes = new NodeRepository(api.db)
  const token = `evn_${name.padEnd(43, 'x').slice(0, 43)}`
  const node = await nodes.ensureLocal({ id: null, name }, new Date())
  await nodes.setChannelToken(node.id, hashToken(token))
  return { id: node.id, token }
}

async function createApplication(name: string): Promise<string> {
  const { data } = await api.graphql(
    `mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { message } } }`,
    {
      input: { projectId, name, image: `${name}:1` },
    },
  )
  await api.app.get(Nudger).settled()
  return data.applicationCreate.application.id as string
}

beforeAll(async () => {
  api = await startApi()
  localToken = readAgentConfig(api.initialised.agentConfigFile).channelToken
  const made = await api.graphql(`mutation { projectCreate(input: { name: "shop" }) { project { id } userErrors { message } } }`)
  projectId = made.data.projectCreate.project.id
})
afterAll(async () => {
  agents.forEach((a) => a.close())
  await api?.stop()
})
beforeEach(async () => {
  await api.app.get(Nudger).settled()
  api.nudges.nudged.length = 0
  api.time.now = null
})

const status = (id: string) => api.db.nodeStatus.findUniqueOrThrow({ where: { resourceId: id } })

describe('admission', () => {
  it.each(['', 'evn_wrong', `evn_${'a'.repeat(43)}`])('token %j -> 401, and no session', async (token) => {
    expect(await dial(token).opened()).toContain('401')
  })

  it("a person's token -> 401: it opens no agent's channel", async () => {
    expect(await dial(api.ownerToken).opened()).toContain('401')
  })

  it('a protocol that is too old -> closed with a sentence', async () => {
    const agent = dial(localToken)
    await agent.opened()
    agent.send(hello({ protocolVersion: 0 }))
    await expect.poll(() => agent.closed).toMatchObject({ code: 4409, reason: expect.stringContaining('protocol 0 is too old') })
  })

  it('frames before the hello -> change nothing', async () => {
    const { id, token } = await addNode('hasty')
    const agent = dial(token)
    await agent.opened()
    agent.send(heartbeat())
    agent.send('no frame')
    agent.send({ type: 'unheard of' })
    await sleep(100)
    expect((await status(id)).lastSeenAt).toBeNull()
    agent.send(hello())
    await agent.next('welcome') // and the connection is still good
  })
})

describe('hello', () => {
  it('first -> facts written, the first free /20 of the pool given; again -> the same', async () => {
    api.time.now = Date.parse('2030-01-01T00:00:00Z')
    const { agent, welcome } = await connect(localToken)
    expect(welcome).toMatchObject({ node: api.initialised.node.id, dnsTtlSeconds: 5, now: api.time.now })
    expect(welcome.subnet).toBe('10.192.16.0/20') // the hasty one has the first
    expect(await status(api.initialised.node.id)).toMatchObject({
      subnet: welcome.subnet,
      agentVersion: '0.1.0',
      engineVersion: '29.0.0',
      memoryBytes: 25769803776n,
      lastSeenAt: new Date(api.time.now),
    })
    agent.close()
    const again = await connect(localToken, { hostRoutes: ['10.192.0.0/16'], engineVersion: null })
    expect(again.welcome.subnet).toBe(welcome.subnet)
    expect((await status(api.initialised.node.id)).engineVersion).toBeNull()
  })

  it('conditions -> those that it carries, so that a new process begins without those of the last', async () => {
    const { id, token } = await addNode('reborn')
    const reported = [{ type: 'ContainersReachable', status: 'True', reason: 'Reachable', message: 'm' }]
    await connect(token, { conditions: reported })
    expect((await status(id)).reported).toEqual(reported)
    await connect(token, { conditions: [] })
    expect((await status(id)).reported).toEqual([])
  })

  it('host routes -> none of them is overlapped, nor another node', async () => {
    const { token } = await addNode('routed')
    const { welcome } = await connect(token, {
      hostRoutes: ['0.0.0.0/0', '10.192.16.0/24', '10.192.32.7', '10.192.48.0/21', 'fd00::/8', 'no route'],
    })
    expect(welcome.subnet).toBe('10.192.64.0/20')
  })

  it('two nodes at once -> two networks', async () => {
    const [a, b] = await Promise.all([addNode('left'), addNode('right')])
    const [left, right] = await Promise.all([connect(a.token), connect(b.token)])
    expect(left.welcome.subnet).not.toBe(right.welcome.subnet)
  })

  it('a database that lost the node -> the network that the node has already, unless another has it', async () => {
    const a = await addNode('old-hand')
    expect((await connect(a.token, { currentSubnet: '10.200.16.0/20' })).welcome.subnet).toBe('10.200.16.0/20')
    const b = await addNode('impostor')
    expect((await connect(b.token, { currentSubnet: '10.200.16.0/20' })).welcome.subnet).not.toBe('10.200.16.0/20')
    const c = await addNode('stranger')
    expect((await connect(c.token, { currentSubnet: '192.168.0.0/20' })).welcome.subnet).toMatch(/^10\.19/)
  })

  it('no network left -> closed with what to set, and no subnet', async () => {
    const { id, token } = await addNode('unlucky')
    const agent = dial(token)
    await agent.opened()
    agent.send(hello({ hostRoutes: ['10.0.0.0/8'] }))
    await expect.poll(() => agent.closed).toMatchObject({ code: 4409, reason: expect.stringContaining('EVENKEEL_NETWORK_POOL') })
    expect((await status(id)).subnet).toBeNull()
  })
})

describe('heartbeat', () => {
  it("the agent's clock is wrong -> the control plane's is written, and told back", async () => {
    const { id, token } = await addNode('skewed')
    api.time.now = Date.parse('2031-01-01T00:00:00Z')
    const { agent } = await connect(token)
    api.time.now += 5_000
    agent.send(heartbeat({ sentAt: 42, clockOffsetMs: -123456.7 }))
    expect(await agent.next('heartbeatAnswer')).toMatchObject({ sentAt: 42, now: api.time.now })
    expect(await status(id)).toMatchObject({
      lastSeenAt: new Date(api.time.now),
      clockOffsetMs: -123457,
      diskFreeBytes: 549755813888n,
    })
  })

  it('reported conditions -> shown while the agent is heard, Unknown after it fell silent although TCP lives', async () => {
    const { id, token } = await addNode('frozen')
    api.time.now = Date.parse('2032-01-01T00:00:00Z')
    const { agent } = await connect(token)
    agent.send(heartbeat({ conditions: [{ type: 'EngineSupported', status: 'True', reason: 'Supported', message: 'yes' }] }))
    await agent.next('heartbeatAnswer')
    const conditions = async () => {
      const { data } = await api.graphql(`query ($id: ID!) { node(id: $id) { conditions { type status reason } } }`, { id })
      return data.node.conditions as { type: string; status: string; reason: string }[]
    }
    expect(await conditions()).toEqual([
      { type: 'EngineSupported', status: 'True', reason: 'Supported' },
      { type: 'Heartbeat', status: 'True', reason: 'HeartbeatReceived' },
      { type: 'Ready', status: 'True', reason: 'NodeReady' },
    ])
    api.time.now += heartbeatStaleMs + 1 // the socket is open all the while
    expect(agent.closed).toBeNull()
    expect(await conditions()).toEqual([
      { type: 'EngineSupported', status: 'Unknown', reason: 'HeartbeatMissed' },
      { type: 'Heartbeat', status: 'False', reason: 'HeartbeatMissed' },
      { type: 'Ready', status: 'False', reason: 'HeartbeatMissed' },
    ])
  })

  it('a reported trouble -> the node is not ready, by that reason', async () => {
    const { id, token } = await addNode('full')
    const { agent } = await connect(token)
    agent.send(heartbeat({ conditions: [{ type: 'DiskPressure', status: 'True', reason: 'DiskNearlyFull', message: '91 %' }] }))
    await agent.next('heartbeatAnswer')
    const { data } = await api.graphql(`query ($id: ID!) { node(id: $id) { conditions { type status reason message } } }`, { id })
    expect(data.node.conditions).toContainEqual({ type: 'Ready', status: 'False', reason: 'DiskNearlyFull', message: '91 %' })
  })

  it('images of specs, of the newest release and of the two that served last -> kept, failed ones are not', async () => {
    const id = await createApplication('kept')
    const release = (number: number, more: object) => ({
      resourceId: id,
      number,
      generation: 1,
      hash: `h${number}`,
      templateHash: 't',
      template: {},
      image: `kept:r${number}`,
      resolvedImage: `kept@sha256:${String(number).repeat(64)}`,
      resolvedFrom: 'registry',
      createdAt: new Date(),
      ...more,
    })
    await api.db.release.createMany({
      data: [
        release(1, { servingAt: new Date() }),
        release(2, { servingAt: new Date() }),
        release(3, { verdictReason: 'ContainerExited' }),
        release(4, { servingAt: new Date() }),
        release(5, {}),
      ],
    })
    api.time.now = Date.now() + 60_000 // past the shared answer's time
    const { agent } = await connect((await addNode('keeper')).token)
    agent.send(heartbeat())
    const { keepImages } = await agent.next('heartbeatAnswer')
    for (const kept of ['kept:1', 'kept:r5', 'kept:r4', 'kept:r2', `kept@sha256:${'4'.repeat(64)}`])
      expect(keepImages).toContain(kept)
    for (const gone of ['kept:r3', 'kept:r1']) expect(keepImages).not.toContain(gone)
  })
})

describe('nudges', () => {
  it('known resources -> nudged with project and name; unknown ids -> left alone', async () => {
    const id = await createApplication('nudged')
    api.nudges.nudged.length = 0
    const { agent } = await connect((await addNode('nudger')).token)
    const ref = (resource: string) => ({ kind: 'application', resource })
    agent.send({ type: 'nudges', why: 'event', resources: [ref(id), ref('app_unknown'), ref(id)] })
    await expect.poll(() => api.nudges.nudged).toEqual([{ id, kind: 'application', project: 'shop', name: 'nudged' }])
  })

  it('Temporal away -> the session lives on, and the sweep is told to look', async () => {
    const id = await createApplication('unreached')
    await api.db.resource.update({ where: { id }, data: { nextPassDueAt: new Date('2100-01-01') } })
    api.nudges.failing = true
    const { agent } = await connect((await addNode('patient')).token)
    agent.send({ type: 'nudges', why: 'event', resources: [{ kind: 'application', resource: id }] })
    agent.send(heartbeat())
    await agent.next('heartbeatAnswer')
    const dueAt = async () => (await api.db.resource.findUniqueOrThrow({ where: { id } })).nextPassDueAt?.getFullYear()
    await expect.poll(dueAt).not.toBe(2100)
    api.nudges.failing = false
  })

  it('the database away for a moment -> taken when it is back, and nothing is answered before', async () => {
    const id = await createApplication('insisted')
    const { agent } = await connect((await addNode('insistent')).token)
    const asked = vi.spyOn(api.app.get(ResourceRepository), 'addressesOf').mockRejectedValueOnce(new Error('away'))
    const nudged = () => api.nudges.nudged.map((n) => n.id)
    api.nudges.nudged.length = 0
    agent.send({ type: 'nudges', why: 'event', resources: [{ kind: 'application', resource: id }] })
    agent.send(heartbeat())
    await agent.next('heartbeatAnswer')
    expect(asked.mock.calls.length).toBeGreaterThan(1)
    await expect.poll(nudged).toEqual([id])
    asked.mockRestore()
  })

  it('Temporal and the database away -> nudged when either is back', async () => {
    const id = await createApplication('remembered')
    const { agent } = await connect((await addNode('keeping')).token)
    api.nudges.nudged.length = 0
    api.nudges.failing = true
    const marked = vi.spyOn(api.app.get(ResourceRepository), 'lookSoon').mockRejectedValue(new Error('away'))
    agent.send({ type: 'nudges', why: 'event', resources: [{ kind: 'application', resource: id }] })
    await expect.poll(() => marked.mock.calls.length).toBeGreaterThan(0)
    api.nudges.failing = false
    await expect.poll(() => api.nudges.nudged.map((n) => n.id)).toEqual([id])
    marked.mockRestore()
  })
})

describe('inventory', () => {
  const inventory = (resources: object[]) => ({ type: 'inventory', resources })
  const entry = (resource: string, containers = ['c1'], kind = 'application') => ({ kind, resource, containers })

  it('ids that the database never knew -> orphans of that node; gone from the inventory -> gone', async () => {
    const known = await createApplication('known')
    const { id: node, token } = await addNode('cellar')
    const { agent } = await connect(token)
    const orphans = async () => (await api.db.orphan.findMany({ where: { node }, orderBy: { resourceId: 'asc' } })).map((o) => [o.resourceId, o.containers])
    agent.send(inventory([entry(known), entry('app_never1', ['a', 'b']), entry('app_never2')]))
    await expect.poll(orphans).toEqual([
      ['app_never1', ['a', 'b']],
      ['app_never2', ['c1']],
    ])
    agent.send(inventory([entry(known), entry('app_never2', ['c1', 'c2'])]))
    await expect.poll(orphans).toEqual([['app_never2', ['c1', 'c2']]])
    expect(await api.db.resource.count({ where: { id: { startsWith: 'app_never' } } })).toBe(0)
    agent.send(inventory([]))
    await expect.poll(orphans).toEqual([])
  })

  it('a deleted resource whose container came late -> back as one that is being deleted, and nudged', async () => {
    const { id: node, token } = await addNode('latecomer')
    await api.db.tombstone.create({
      data: { resourceId: 'app_late', kind: 'application', projectId, name: 'late', deletedAt: new Date() },
    })
    const { agent } = await connect(token)
    agent.send(inventory([entry('app_late')]))
    await expect.poll(() => api.nudges.nudged.map((n) => n.id)).toContain('app_late')
    const row = await api.db.resource.findUniqueOrThrow({ where: { id: 'app_late' } })
    expect(row).toMatchObject({ kind: 'application', name: 'late', projectId, generation: 1 })
    expect(row.deletionRequestedAt).not.toBeNull()
    expect(row.spec).toMatchObject({ replicas: 0, placement: { node: 'latecomer' } })
    expect(await api.db.tombstone.count({ where: { resourceId: 'app_late' } })).toBe(0) // so that the teardown can leave a new one
    expect(await api.db.orphan.count({ where: { node } })).toBe(0)
  })

  it('something of an application on a node where it does not look -> it looks there, and is nudged once', async () => {
    const [left, looking, replica] = [
      await createApplication('left'),
      await createApplication('looking'),
      await createApplication('replica'),
    ]
    const { id: node, token } = await addNode('left-behind')
    await api.db.resource.update({ where: { id: looking }, data: { publishedOn: [node] } })
    await api.db.endpoint.create({
      data: {
        resourceId: replica,
        release: 1,
        replica: 0,
        node,
        address: '10.1.1.1',
        state: 'ready',
        stateAt: new Date(),
        createdAt: new Date(),
      },
    })
    const { agent } = await connect(token)
    const before = api.nudges.nudged.length
    for (let i = 0; i < 2; i++) agent.send(inventory([entry(left), entry(looking), entry(replica, [])]))
    const nudged = () => api.nudges.nudged.slice(before).map((n) => n.id)
    await expect.poll(nudged).toContain(left)
    agent.send(inventory([entry('app_marker')]))
    await expect.poll(() => api.db.orphan.count({ where: { resourceId: 'app_marker' } })).toBe(1)
    expect(nudged()).toEqual([left])
    const rows = await api.db.resource.findMany({ where: { id: { in: [left, looking, replica] } }, orderBy: { name: 'asc' } })
    expect(rows.map((r) => [r.publishedOn, r.nextPassDueAt !== null])).toEqual([
      [[node], true],
      [[node], false],
      [[], false],
    ])
  })

  it('its name and its project are taken or gone by then -> still torn down, under another name', async () => {
    await createApplication('again')
    await api.db.tombstone.createMany({
      data: [
        { resourceId: 'app_again', kind: 'application', projectId, name: 'again', deletedAt: new Date() },
        { resourceId: 'app_homeless', kind: 'application', projectId: 'prj_gone', name: 'homeless', deletedAt: new Date() },
      ],
    })
    const { agent } = await connect((await addNode('crowded')).token)
    agent.send(inventory([entry('app_again'), entry('app_homeless')]))
    for (const id of ['app_again', 'app_homeless']) await expect.poll(() => api.nudges.nudged.map((n) => n.id)).toContain(id)
    const rows = await api.db.resource.findMany({ where: { id: { in: ['app_again', 'app_homeless'] } }, orderBy: { id: 'asc' } })
    expect(rows.map((r) => [r.name, r.projectId])).toEqual([
      ['again-late-xagain', projectId],
      ['homeless', 'prj_platform'],
    ])
  })
})

describe('sessions', () => {
  it('a newer connection -> the older is told and closed; its late end disturbs nothing', async () => {
    const { id, token } = await addNode('twice')
    const first = await connect(token)
    const second = await connect(token)
    await expect.poll(() => first.agent.closed).toMatchObject({ code: 4408 })
    await sleep(50) // the older one's end has reached the API as well
    expect(api.app.get(AgentsGateway).connectedNodes()).toContain(id)
    second.agent.send(heartbeat())
    await second.agent.next('heartbeatAnswer')
    second.agent.close()
    await expect.poll(() => api.app.get(AgentsGateway).connectedNodes()).not.toContain(id)
  })

  it('artifact -> its bytes; an unknown one -> an error to that call only', async () => {
    const sha256 = 'f'.repeat(64)
    await api.db.artifact.create({ data: { sha256, content: Uint8Array.from([1, 2, 255]) } })
    const { agent } = await connect((await addNode('reader')).token)
    agent.send({ type: 'call', id: 'a', method: 'artifact', params: { sha256 } })
    agent.send({ type: 'call', id: 'b', method: 'artifact', params: { sha256: '0'.repeat(64) } })
    agent.send({ type: 'call', id: 'c', method: 'secrets', params: {} })
    expect(await agent.next('end')).toEqual({ type: 'end', id: 'a', value: Buffer.from([1, 2, 255]).toString('base64') })
    expect(await agent.next('error')).toMatchObject({ id: 'b', message: expect.stringContaining('no artifact') })
    expect(await agent.next('error')).toMatchObject({ id: 'c' })
  })

  it('node being removed -> its token opens nothing', async () => {
    const { id, token } = await addNode('leaving')
    await api.db.resource.update({ where: { id }, data: { deletionRequestedAt: new Date() } })
    expect(await dial(token).opened()).toContain('401')
  })
})
