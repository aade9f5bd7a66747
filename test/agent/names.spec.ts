import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { rmSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bridgeName } from '../../src/adapters/docker/network-body.js'
import { dnsContainerName } from '../../src/agent/dns-server.js'
import { networkName } from '../../src/agent/node-network.js'
import { nodeSubnetOf } from '../../src/agent/node-subnet.js'
import { publisherPaths } from '../../src/agent/publisher.js'
import type { Publication } from '../../src/reconcile/action.js'
import { openAgentWorld, until, type AgentWorld } from './agent-world.js'

let world: AgentWorld
let resolver: Resolver
let server: string

beforeAll(async () => {
  world = await openAgentWorld()
  server = nodeSubnetOf(world.subnet).gateway
  resolver = new Resolver({ timeout: 2_000, tries: 5 })
  resolver.setServers([server])
  await until(() => condition('DNSReady')?.status === 'True', 20_000)
})
afterAll(() => world.close())

const condition = (type: string) => world.agent.nodeConditions.find((c) => c.type === type)
const publication = (addresses: string[], name = 'web.shop.internal'): Publication => ({ names: [name], addresses, port: 8080 })
const publish = (shown: Publication | null, revision: string, resource = 'app_a') =>
  world.act('publishEndpoints', { publication: shown, revision }, { resource, key: `publish ${resource}` })
const lookup = async (name: string) => (await resolver.resolve4(name).catch((error: { code: string }) => [error.code])).sort()

describe('publishEndpoints on a real resolver', () => {
  it('answers when the name does, with all addresses and no other', async () => {
    await publish(publication(['10.0.0.9', '10.0.0.8']), 'r1')
    expect(await lookup('web.shop.internal')).toEqual(['10.0.0.8', '10.0.0.9'])
    expect((await world.observe('app_a')).published).toBe('r1')
    await publish(publication(['10.0.0.7']), 'r2')
    expect(await lookup('web.shop.internal')).toEqual(['10.0.0.7'])
    expect((await world.observe('app_a')).published).toBe('r2')
  })

  it('a hundred replicas -> all of them, though they do not fit into one datagram', async () => {
    const addresses = Array.from({ length: 100 }, (_, i) => `10.1.1.${i + 1}`)
    await publish(publication(addresses, 'big.shop.internal'), 'r1', 'app_big')
    expect((await lookup('big.shop.internal')).length).toBe(100)
  })

  it('taken away -> no such name', async () => {
    await publish(null, 'none')
    expect(await lookup('web.shop.internal')).toEqual(['ENOTFOUND'])
    expect((await world.observe('app_a')).published).toBeNull()
  })

  it('a name that nobody has -> no such name, not a failure of the server', async () => {
    expect(await lookup('nobody.shop.internal')).toEqual(['ENOTFOUND'])
  })

  it('a single label -> no such name, which is no time-out', async () => {
    expect(await lookup('postgres')).toEqual(['ENOTFOUND'])
  })

  it('twenty changes -> each is shown when its publication has ended', async () => {
    for (let i = 1; i <= 20; i++) {
      await publish(publication([`10.2.0.${i}`]), `c${i}`)
      expect(await lookup('web.shop.internal')).toEqual([`10.2.0.${i}`])
    }
  })
})

describe('names inside a container', () => {
  it('the short name works inside its project and the full one everywhere', async () => {
    const spec = world.spec('app_dns', { image: 'busybox:latest', entrypoint: ['sleep', '1000'], dnsSearch: ['shop.internal'] })
    delete spec.labels['evenkeel.probe']
    await publish(publication(['10.3.0.1']), 'in-container')
    await world.ensure(spec, 0)
    expect(await run(spec.name, ['nslookup', 'web.shop.internal'])).toContain('10.3.0.1')
    expect(await run(spec.name, ['cat', '/etc/resolv.conf'])).toMatch(/search shop\.internal[\s\S]*ndots:1/)
    expect(await run(spec.name, ['ping', '-c', '1', '-W', '1', 'web'])).toContain('(10.3.0.1)')
  })

  async function run(container: string, command: string[]): Promise<string> {
    const exec = await world.docker.getContainer(container).exec({ Cmd: command, AttachStdout: true, AttachStderr: true })
    const stream = await exec.start({})
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    return text
  }
})

describe('the resolver', () => {
  it('the canary -> containers are reachable and reach the resolver', async () => {
    await until(() => condition('DNSReachable') !== undefined, 20_000)
    expect(condition('ContainersReachable')).toMatchObject({ status: 'True' })
    expect(condition('DNSReachable')).toMatchObject({ status: 'True' })
  })

  it('removed by somebody -> back, with the same answers', async () => {
    await publish(publication(['10.3.0.2']), 'before')
    await world.docker.getContainer(dnsContainerName(world.instance)).remove({ force: true })
    await until(async () => (await lookup('web.shop.internal'))[0] === '10.3.0.2', 20_000)
  })

  it('killed -> Docker itself brings it back', async () => {
    await world.agent.stop()
    await world.docker
      .getContainer(dnsContainerName(world.instance))
      .kill()
      .catch(() => undefined)
    // A kill by hand is a stop for unless-stopped, so the process is killed as a crash would.
    await world.docker
      .getContainer(dnsContainerName(world.instance))
      .start()
      .catch(() => undefined)
    const { Pid } = (await world.docker.getContainer(dnsContainerName(world.instance)).inspect()).State
    process.kill(Pid, 'SIGKILL')
    await until(async () => (await lookup('web.shop.internal'))[0] === '10.3.0.2', 10_000)
    await world.restartAgent()
  })

  it('paused by somebody -> what is published meanwhile is shown as soon as it is back', async () => {
    await world.docker.getContainer(dnsContainerName(world.instance)).pause()
    await publish(publication(['10.3.0.3']), 'silent')
    expect((await world.observe('app_a')).published).toBe('silent')
    await until(async () => (await lookup('web.shop.internal'))[0] === '10.3.0.3', 10_000)
  })

  it('its folder lost and made again, as by a restore -> it reads the new one', async () => {
    await world.agent.stop()
    const folder = dirname(publisherPaths(world.stateDir).hosts)
    rmSync(folder, { recursive: true })
    await world.restartAgent()
    await until(() => condition('DNSReady')?.status === 'True', 20_000)
    await publish(publication(['10.3.0.4']), 'anew')
    expect(await lookup('web.shop.internal')).toEqual(['10.3.0.4'])
    await publish(publication(['10.3.0.3']), 'silent')
  })

  it('a new agent on the same files -> published without being told again', async () => {
    await world.restartAgent()
    expect((await world.observe('app_a')).published).toBe('silent')
    rmSync(join(publisherPaths(world.stateDir).fragments, 'app_a.json'))
    expect((await world.observe('app_a')).published).toBeNull()
  })
})

describe('a machine with habits of its own', () => {
  it('a firewall that drops DNS from containers -> told with its cure', async () => {
    const bridge = bridgeName(networkName(world.instance))
    const rule = ['-i', bridge, '-p', 'udp', '--dport', '53', '-j', 'DROP']
    execFileSync('iptables', ['-I', 'INPUT', ...rule])
    try {
      await world.restartAgent()
      await until(() => condition('DNSReachable') !== undefined, 30_000)
      expect(condition('ContainersReachable')).toMatchObject({ status: 'True' })
      expect(condition('DNSReachable')).toMatchObject({
        status: 'False',
        reason: 'DNSBlockedByFirewall',
        message: expect.stringContaining(world.subnet) as string,
      })
    } finally {
      execFileSync('iptables', ['-D', 'INPUT', ...rule])
    }
  })

  it('port 53 of the bridge is taken -> the resolver gets an address of its own, new containers use it', async () => {
    const { reservedResolver, gateway } = nodeSubnetOf(world.subnet)
    await world.agent.stop()
    await world.docker.getContainer(dnsContainerName(world.instance)).remove({ force: true })
    const other = createSocket('udp4')
    await new Promise<void>((resolve) => other.bind(53, gateway, resolve))
    try {
      await world.restartAgent()
      await until(() => condition('DNSReady')?.status === 'True', 20_000)
      expect(condition('DNSReady')).toMatchObject({ reason: 'OnReservedAddress' })
      resolver.setServers([reservedResolver])
      await publish(publication(['10.3.0.4']), 'displaced')
      expect(await lookup('web.shop.internal')).toEqual(['10.3.0.4'])
      const spec = world.spec('app_displaced')
      await world.ensure(spec)
      expect((await world.docker.getContainer(spec.name).inspect()).HostConfig.Dns?.[0]).toBe(reservedResolver)
    } finally {
      other.close()
    }
  })
})
