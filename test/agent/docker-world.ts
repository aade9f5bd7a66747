import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import { label } from '../../src/reconcile/labels.js'
import { coreDnsImage } from '../../src/agent/dns-server.js'
import { hostRoutes } from '../../src/agent/host-routes.js'
import { networkName } from '../../src/agent/node-network.js'
import { ensureTestImage, testAppImage } from '../setup/test-images.js'

/** The test application: an HTTP server on 8080, set by its environment. */
export const testApp = testAppImage('1')
export const testImages = [testApp, coreDnsImage]
let testImagesMissing = true

/** A corner of the real engine that belongs to one test file alone. */
export interface DockerWorld {
  docker: Docker
  instance: string
  /** A /20 that nothing on this machine uses. */
  subnet: string
  address(n: number): string
  clear(): Promise<void>
}

/** `docker`: another engine than the machine's own. */
export async function openDockerWorld(docker = new Docker()): Promise<DockerWorld> {
  if (testImagesMissing) for (const image of testImages) await ensureTestImage(new Docker(), image, () => undefined)
  testImagesMissing = false
  const instance = `t${randomBytes(4).toString('hex')}`
  const prefix = await freePrefix()
  return {
    docker,
    instance,
    subnet: `${prefix}.0.0/20`,
    address: (n) => `${prefix}.1.${n}`,
    clear: () => clear(docker, instance),
  }
}

/** Of 10.224.0.0/11, which the product's own default pool does not touch. */
async function freePrefix(): Promise<string> {
  const used = new Set((await hostRoutes('')).map((route) => route.split('.').slice(0, 2).join('.')))
  const free = Array.from({ length: 32 }, (_, i) => `10.${224 + i}`).filter((p) => !used.has(p))
  const chosen = free[Math.floor(Math.random() * free.length)]
  if (!chosen) throw new Error('no subnet is left for a test: remove networks of earlier runs')
  return chosen
}

async function clear(docker: Docker, instance: string): Promise<void> {
  const mine = await docker.listContainers({ all: true, filters: { label: [`${label.instance}=${instance}`] } })
  await Promise.all(
    mine.map((c) =>
      docker
        .getContainer(c.Id)
        .remove({ force: true, v: true })
        .catch(() => undefined),
    ),
  )
  await repeatedly(() => docker.getNetwork(networkName(instance)).remove())
  const { Volumes } = await docker.listVolumes({ filters: { label: [`${label.instance}=${instance}`] } })
  for (const { Name } of Volumes ?? []) await repeatedly(() => docker.getVolume(Name).remove())
}

/** A file as the container has it, read without any tool in it; null = there is none. */
export async function readFileIn(
  docker: Docker,
  container: string,
  path: string,
): Promise<{ content: string; mode: number; uid: number } | null> {
  const archive = await docker
    .getContainer(container)
    .getArchive({ path })
    .catch(() => null)
  if (!archive) return null
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return firstFileOf(Buffer.concat(chunks))
}

/** Headers of other kinds (a long name) come before the file's own. */
function firstFileOf(tar: Buffer): { content: string; mode: number; uid: number } {
  const number = (at: number, digits: number) => Number.parseInt(tar.toString('latin1', at, at + digits), 8)
  for (let at = 0; ;) {
    const size = number(at + 124, 11)
    const kind = tar.toString('latin1', at + 156, at + 157)
    if (kind === '0' || kind === '\0')
      return {
        content: tar.toString('utf8', at + 512, at + 512 + size),
        mode: number(at + 100, 7) & 0o7777,
        uid: number(at + 108, 7),
      }
    at += 512 + Math.ceil(size / 512) * 512
  }
}

/** For what the engine refuses for a moment: a network whose last endpoint is just going, a process that is just starting. */
export async function repeatedly(step: () => Promise<unknown>): Promise<void> {
  for (let left = 10; left > 0; left--) {
    const refusal = await step().then(
      () => null,
      (error: { statusCode?: number }) => error,
    )
    if (refusal === null || refusal.statusCode === 404) return
    await sleep(200)
  }
}
