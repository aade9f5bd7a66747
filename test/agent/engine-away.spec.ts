import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeSubnetOf } from '../../src/agent/node-subnet.js'
import { ResolverClient } from '../../src/agent/resolver-client.js'
import { label } from '../../src/reconcile/labels.js'
import type { Observation } from '../../src/reconcile/observed.js'
import { kind, node, openAgentWorld, until, type AgentWorld } from './agent-world.js'
import { testImages } from './docker-world.js'
import { OwnDocker } from './own-docker.js'

let own: OwnDocker
let world: AgentWorld
const client = new ResolverClient()

beforeAll(async () => {
  own = await OwnDocker.start(testImages)
  world = await openAgentWorld({ own })
  await until(() => world.agent.nodeConditions.some((c) => c.type === 'DNSReady' && c.status === 'True'), 20_000)
})
afterAll(async () => {
  await world.close()
  await own.dispose()
})

const resolverAnswers = () => client.answers(nodeSubnetOf(world.subnet).gateway, 'internal')
const raw = (resource: string) => world.agent.observe({ node, kind, resource, images: [], connectionsTo: [] })
const mine = async (resource: string) =>
  (await own.docker.listContainers({ all: true, filters: { label: [`${label.resource}=${resource}`] } })).map((c) => c.Id)

const isReady = (observed: Observation) => observed.unreachable === null && observed.containers[0]?.probe.ready === true

describe('the engine away for a while', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    '%s and started again -> unknown meanwhile, then the same container at its address, told',
    async (signal) => {
      const resource = `app_${signal.toLowerCase()}`
      const spec = world.spec(resource, { address: world.address(10) })
      const { containerId } = await world.ensure(spec, 5_000)
      await own.stop(signal)
      expect(await raw(resource)).toMatchObject({ unreachable: 'DockerUnreachable' })
      await expect(world.ensure(spec)).rejects.toMatchObject({ reason: 'DockerUnreachable', retryable: true })
      const mark = world.nudges.length
      await own.start()
      await until(() => world.nudges.slice(mark).some((n) => n.resource === resource), 15_000)
      // An engine that was told to stop brings its containers back. One that was killed finds them running, stops them and
      // takes that for somebody's wish, so that the next pass has to start them.
      if (signal === 'SIGTERM') await until(async () => isReady(await raw(resource)), 15_000)
      expect(await world.ensure(spec, 5_000)).toMatchObject({ containerId, created: false, ready: true })
      expect(await mine(resource)).toEqual([containerId])
      expect((await world.observe(resource)).containers).toMatchObject([{ state: 'running', address: world.address(10) }])
      await until(resolverAnswers, 15_000)
      await world.retire(spec, 1)
    },
  )

  it('killed in the middle of an action -> a retryable failure, and the next attempt leaves exactly one', async () => {
    const spec = world.spec('app_mid', { address: world.address(11) })
    const attempt = world.ensure(spec).catch((error: Error) => error)
    await sleep(60)
    await own.stop('SIGKILL')
    expect(await attempt).toMatchObject({ reason: 'DockerUnreachable', retryable: true })
    await own.start()
    expect(await world.ensure(spec, 5_000)).toMatchObject({ ready: true })
    expect((await mine('app_mid')).length).toBe(1)
  })
})
