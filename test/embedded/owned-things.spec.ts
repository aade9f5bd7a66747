import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newInstanceId } from '../../src/persistence/id.js'
import { instancesOn, removeOwned } from '../../src/embedded/owned-things.js'
import { label } from '../../src/reconcile/labels.js'
import { ensureTestImage, testAppImage } from '../setup/test-images.js'

const docker = new Docker()
const [ours, other] = [newInstanceId(), newInstanceId()]

async function make(instance: string): Promise<void> {
  const labels = { [label.instance]: instance, [label.stopGrace]: '1' }
  await docker.createNetwork({ Name: `ek-${instance}`, Labels: labels })
  await docker.createVolume({ Name: `ek-${instance}`, Labels: labels })
  const container = await docker.createContainer({
    name: `ek-${instance}`,
    Image: testAppImage('1'),
    Labels: labels,
    HostConfig: { NetworkMode: `ek-${instance}`, Binds: [`ek-${instance}:/data`], RestartPolicy: { Name: 'unless-stopped' } },
  })
  await container.start()
}

async function owned(instance: string): Promise<number[]> {
  const filters = { label: [`${label.instance}=${instance}`] }
  const containers = await docker.listContainers({ all: true, filters })
  const networks = await docker.listNetworks({ filters })
  const volumes = await docker.listVolumes({ filters })
  return [containers.length, networks.length, (volumes.Volumes ?? []).length]
}

describe('removeOwned', () => {
  beforeAll(async () => {
    await ensureTestImage(docker, testAppImage('1'), () => {})
    await make(ours)
    await make(other)
  })

  afterAll(async () => {
    for (const instance of [ours, other]) await removeOwned(docker, instance, true, () => {})
  })

  it('two instances on one engine -> each is seen with its containers', async () => {
    const counts = await instancesOn(docker)
    expect([counts.get(ours), counts.get(other)]).toEqual([1, 1])
  })

  it('without volumes -> containers and networks of that instance only', async () => {
    expect(await removeOwned(docker, ours, false, () => {})).toEqual({ containers: 1, networks: 1, volumes: 0 })
    expect(await owned(ours)).toEqual([0, 0, 1])
    expect(await owned(other)).toEqual([1, 1, 1])
  })

  it('with volumes -> everything; again -> nothing left and no error', async () => {
    expect(await removeOwned(docker, ours, true, () => {})).toEqual({ containers: 0, networks: 0, volumes: 1 })
    expect(await removeOwned(docker, ours, true, () => {})).toEqual({ containers: 0, networks: 0, volumes: 0 })
    expect(await owned(other)).toEqual([1, 1, 1])
  })

  it('a container of somebody else in its network -> names it and what to do; that container stays', async () => {
    const network = `foreign-${other}`
    await docker.createNetwork({ Name: network, Labels: { [label.instance]: network } })
    const stranger = await docker.createContainer({ Image: testAppImage('1'), HostConfig: { NetworkMode: network } })
    try {
      await stranger.start()
      const { Name } = await stranger.inspect()
      await expect(removeOwned(docker, network, false, () => {})).rejects.toThrow(`network ${network} cannot be removed: ${Name.slice(1)} of somebody else`)
      expect((await stranger.inspect()).State.Running).toBe(true)
    } finally {
      await stranger.remove({ force: true })
      await removeOwned(docker, network, false, () => {})
    }
  })
})
