import { setTimeout as sleep } from 'node:timers/promises'
import type Docker from 'dockerode'
import { nginxdemoDefaultImage } from '../../src/reconcile/nginxdemo/spec.js'
import type { Platform } from '../platform.js'
import { rounded } from '../statistics.js'

const count = 50
const rawAtOnce = 16

/** 50 applications in one go → all Ready, beside create + start + first successful probe by the bare Engine API, 16 at a time. */
export async function burst(platform: Platform) {
  const rawSeconds = await rawBurst(platform)
  const projectId = await platform.createProject()
  const began = performance.now()
  const input = { image: nginxdemoDefaultImage, ports: [80], readiness: { path: '/' } }
  await Promise.all(Array.from({ length: count }, (_, i) => platform.createApplication(projectId, `burst-${i}`, input)))
  while ((await platform.applications(projectId)).filter((a) => a.ready).length < count) await sleep(250)
  const seconds = (performance.now() - began) / 1000
  return { seconds: rounded(seconds, 2), raw_seconds: rounded(rawSeconds, 2), ratio: rounded(seconds / rawSeconds, 2) }
}

async function rawBurst(platform: Platform): Promise<number> {
  const containers: Docker.Container[] = []
  let next = 0
  const began = performance.now()
  const lane = async () => {
    while (next < count) {
      next++
      const container = await platform.startRaw(nginxdemoDefaultImage)
      containers.push(container)
      await firstAnswer(container)
    }
  }
  await Promise.all(Array.from({ length: rawAtOnce }, lane))
  const seconds = (performance.now() - began) / 1000
  for (const container of containers) await container.remove({ force: true })
  return seconds
}

async function firstAnswer(container: Docker.Container): Promise<void> {
  const { NetworkSettings } = await container.inspect()
  const address = Object.values(NetworkSettings.Networks)[0]?.IPAddress
  for (;;) {
    const answer = await fetch(`http://${address}:80/`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
    if (answer?.ok) return
    await sleep(10)
  }
}
