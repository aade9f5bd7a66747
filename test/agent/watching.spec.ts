import { noIngress } from '../../src/agent/testing/no-ingress.js'
import { noReadiness } from '../../src/agent/testing/no-readiness.js'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DockerodeEngine } from '../../src/adapters/docker/dockerode-engine.js'
import { createObserver } from '../../src/agent/observer.js'
import { systemClock } from '../../src/agent/ports.js'
import { ToldStates } from '../../src/agent/told-states.js'
import { WatchSpan } from '../../src/agent/watch-span.js'
import { ConnectionCounter } from '../../src/agent/connections.js'
import { kind, node, openAgentWorld, until, type AgentWorld } from './agent-world.js'

let world: AgentWorld
beforeAll(async () => {
  world = await openAgentWorld()
  await until(() => world.agent.nodeConditions.some((c) => c.type === 'DNSReachable'), 20_000)
})
afterAll(() => world.close())

const since = (mark: number, resource: string) => world.nudges.slice(mark).filter((n) => n.resource === resource)
/** Without what a full list finds, which may come between a change and its event. */
const eventsSince = (mark: number, resource: string) => since(mark, resource).filter((n) => n.why !== 'drift')
const put = async (address: string, method: 'PUT' | 'DELETE') => void (await fetch(`http://${address}:8080/unready`, { method }))

describe('nudges on real events', () => {
  it("the agent's own actions -> none, from create to removal", async () => {
    const mark = world.nudges.length
    const spec = world.spec('app_own')
    await world.ensure(spec)
    await world.retire(spec)
    await sleep(400)
    expect(since(mark, 'app_own')).toEqual([])
  })

  it('docker rm -f -> a nudge when it ends, and one after its removal that nothing replaced it', async () => {
    const spec = world.spec('app_rm')
    await world.ensure(spec)
    await sleep(200)
    const mark = world.nudges.length
    await world.docker.getContainer(spec.name).remove({ force: true })
    await until(() => since(mark, 'app_rm').some((n) => n.why === 'container destroy'))
    expect(eventsSince(mark, 'app_rm').map((n) => n.why)).toEqual(['container die', 'container destroy'])
  })

  it('docker rm -f, and an action for it at once -> waits for the removal, makes it anew, and no further nudge', async () => {
    const spec = world.spec('app_replaced')
    const { containerId } = await world.ensure(spec)
    await sleep(200)
    const mark = world.nudges.length
    const removed = world.docker.getContainer(spec.name).remove({ force: true })
    await until(() => since(mark, 'app_replaced').length > 0)
    const again = await world.ensure(spec)
    await removed
    await sleep(400)
    expect(again).toMatchObject({ created: true })
    expect(again.containerId).not.toBe(containerId)
    expect(since(mark, 'app_replaced').map((n) => n.why)).toEqual(['container die'])
  })

  it('readiness lost and won back -> a nudge each, and observed', async () => {
    const spec = world.spec('app_ready', { address: world.address(50) })
    await world.ensure(spec)
    const ready = async () => (await world.observe('app_ready')).containers[0]?.probe.ready
    await until(async () => (await ready()) === true)
    await sleep(100)
    const mark = world.nudges.length
    await put(world.address(50), 'PUT')
    await until(() => since(mark, 'app_ready').some((n) => n.why === 'a container turned unready'))
    expect(await ready()).toBe(false)
    await put(world.address(50), 'DELETE')
    await until(() => since(mark, 'app_ready').some((n) => n.why === 'a container turned ready'))
    expect(await ready()).toBe(true)
  })

  it('a crash that Docker restarts -> not ready until it has proved itself again, and nudged', async () => {
    const spec = world.spec('app_crash', { env: [['READY_AFTER_MS', '700']] })
    await world.ensure(spec, 5_000)
    const before = (await world.observe('app_crash')).containers[0]
    const mark = world.nudges.length
    const { Pid } = (await world.docker.getContainer(spec.name).inspect()).State
    process.kill(Pid, 'SIGKILL')
    await until(async () => ((await world.observe('app_crash')).containers[0]?.startedAt ?? 0) > (before?.startedAt ?? 0))
    await until(async () => (await world.observe('app_crash')).containers[0]?.probe.ready === true)
    await until(() => since(mark, 'app_crash').some((n) => n.why === 'a container turned ready'))
    expect((await world.observe('app_crash')).containers[0]).toMatchObject({ restartCount: 1, state: 'running' })
  })

  it('a new agent -> everything it finds is nudged once, and readiness is unknown only until it has asked', async () => {
    const spec = world.spec('app_found')
    await world.ensure(spec)
    const mark = world.nudges.length
    await world.restartAgent()
    await until(() => since(mark, 'app_found').length > 0)
    await until(async () => (await world.observe('app_found')).containers[0]?.probe.ready === true)
    await sleep(300)
    // What it found is told without readiness only if it could not ask for that in the time of its first look.
    expect(eventsSince(mark, 'app_found').map((n) => n.why)).toEqual(['a container turned ready'])
    expect(since(mark, 'app_found').length).toBeLessThanOrEqual(2)
  })
})

describe('observe', () => {
  it('connections from this host -> counted, probes and closed ones are not', async () => {
    const address = world.address(60)
    await world.ensure(world.spec('app_conn', { address }))
    const count = async () => (await world.observe('app_conn', { connectionsTo: [address, world.address(61)] })).connections
    expect(await count()).toEqual({ [address]: 0, [world.address(61)]: 0 })
    const socket = connect({ host: address, port: 8080 })
    await new Promise((resolve) => socket.once('connect', resolve))
    await until(async () => (await count())[address] === 1)
    socket.destroy()
    await until(async () => (await count())[address] === 0)
  })

  it('only containers of the asked resource -> listed', async () => {
    await world.ensure(world.spec('app_one'))
    await world.ensure(world.spec('app_two'))
    expect((await world.observe('app_one')).containers.map((c) => c.name)).toEqual([world.spec('app_one').name])
  })

  it('the engine away -> told as a value, and not after a time-out', async () => {
    const observe = createObserver({
      instance: world.instance,
      node,
      engine: new DockerodeEngine('/nowhere/docker.sock'),
      prober: noReadiness,
      publisher: { publish: async () => undefined, liveRevision: () => null, names: () => false },
      ...noIngress,
      connections: new ConnectionCounter({ has: () => false }),
      resolver: { quickly: async () => null },
      told: new ToldStates(),
      span: new WatchSpan(),
      clock: systemClock,
      clockOffsetMs: () => 0,
    })
    expect(await observe({ node, kind, resource: 'app_a', images: ['a'], connectionsTo: [] })).toMatchObject({
      node,
      unreachable: 'DockerUnreachable',
      message: expect.stringContaining('ENOENT') as string,
    })
  })
})
