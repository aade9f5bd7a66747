import { randomBytes } from 'node:crypto'
import Docker from 'dockerode'
import { label } from '../../src/reconcile/labels.js'
import { networkName } from '../../src/agent/node-network.js'
import { ensureTestImage, testAppImage } from '../setup/test-images.js'

/** The test application: an HTTP server on 8080, set by its environment. */
export const testApp = testAppImage('1')

/** A corner of the real engine that belongs to one test file alone. */
export interface DockerWorld {
  docker: Docker
  instance: string
  /** A /20 that nothing on this machine uses. */
  subnet: string
  address(n: number): string
  clear(): Promise<void>
}

export async function openDockerWorld(): Promise<DockerWorld> {
  const docker = new Docker()
  for (const image of [testApp, 'coredns/coredns:1.15.0']) await ensureTestImage(docker, image, () => undefined)
  const instance = `t${randomBytes(4).toString('hex')}`
  const prefix = await freePrefix(docker)
  return {
    docker,
    instance,
    subnet: `${prefix}.0.0/20`,
    address: (n) => `${prefix}.1.${n}`,
    clear: () => clear(docker, instance),
  }
}

/** Of 10.224.0.0/11, which the product's own default pool does not touch. */
async function freePrefix(docker: Docker): Promise<string> {
  const networks = await docker.listNetworks()
  const used = new Set(networks.flatMap((n) => (n.IPAM?.Config ?? []).map((c) => (c.Subnet ?? '').split('.').slice(0, 2).join('.'))))
  const free = Array.from({ length: 32 }, (_, i) => `10.${224 + i}`).filter((p) => !used.has(p))
  const chosen = free[Math.floor(Math.random() * free.length)]
  if (!chosen) throw new Error('no subnet is left for a test: remove networks of earlier runs')
  return chosen
}

async function clear(docker: Docker, instance: string): Promise<void> {
  const mine = await docker.listContainers({ all: true, filters: { label: [`${label.instance}=${instance}`] } })
  await Promise.all(mine.map((c) => docker.getContainer(c.Id).remove({ force: true, v: true }).catch(() => undefined)))
  await docker.getNetwork(networkName(instance)).remove().catch(() => undefined)
}
