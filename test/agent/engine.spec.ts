import { describe, expect, it } from 'vitest'
import { label } from '../../src/reconcile/labels.js'
import { DockerodeEngine } from '../../src/adapters/docker/dockerode-engine.js'
import { engineContract } from '../../src/adapters/docker/engine.contract.js'
import { networkName } from '../../src/agent/node-network.js'
import { nodeSubnetOf } from '../../src/agent/node-subnet.js'
import { openDockerWorld, readFileIn, repeatedly, testApp } from './docker-world.js'

engineContract('Docker', async () => {
  const world = await openDockerWorld()
  const subnet = nodeSubnetOf(world.subnet)
  const name = networkName(world.instance)
  return {
    engine: new DockerodeEngine(),
    network: { name, subnet: subnet.cidr, gateway: subnet.gateway, dynamicRange: subnet.dynamicRange, mtu: 1380, dns: [] },
    addresses: [world.address(1), world.address(2)],
    labels: { [label.instance]: world.instance },
    image: testApp,
    unreachableImage: '127.0.0.1:1/evenkeel/none:1',
    exitingEnv: (code) => [['EXIT_CODE', String(code)]],
    pause: (container) => repeatedly(() => world.docker.getContainer(container).pause()),
    readFile: async (container, path) => {
      const found = await readFileIn(world.docker, container, path)
      return found && { content: found.content, mode: found.mode }
    },
    envOf: async (container) => (await world.docker.getContainer(container).inspect()).Config.Env,
    makeVolume: async (volume, labels) => void (await world.docker.createVolume({ Name: volume, Labels: labels })),
    hostPaths: { folder: '/etc', device: '/dev/null' },
    removeNetwork: () => world.docker.getNetwork(name).remove() as Promise<void>,
    dispose: world.clear,
  }
})

describe('a network whose addresses somebody else has', () => {
  it('-> whose network that is, and what to do', async () => {
    const world = await openDockerWorld()
    const { cidr, gateway, dynamicRange } = nodeSubnetOf(world.subnet)
    const theirs = await world.docker.createNetwork({
      Name: `${world.instance}-theirs`,
      Labels: { [label.instance]: world.instance },
      IPAM: { Driver: 'default', Config: [{ Subnet: `${cidr.split('/')[0]}/24` }] },
    })
    try {
      const ours = { name: networkName(world.instance), subnet: cidr, gateway, dynamicRange, mtu: 1380, dns: [] }
      await expect(new DockerodeEngine().ensureNetwork(ours, {})).rejects.toThrow(`Docker network ${world.instance}-theirs`)
    } finally {
      await theirs.remove()
      await world.clear()
    }
  })
})
