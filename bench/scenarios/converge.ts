import { nginxdemoDefaultImage } from '../../src/reconcile/nginxdemo/spec.js'
import type { Platform } from '../platform.js'
import { median, percentile, rounded } from '../statistics.js'

const tries = 20

/** Mutation sent → container running, beside create + start by the bare Engine API, in turns. */
export async function converge(platform: Platform) {
  const projectId = await platform.createProject()
  const ours: number[] = []
  const raw: number[] = []
  for (let i = 0; i < tries; i++) {
    const began = performance.now()
    const container = await platform.startRaw(nginxdemoDefaultImage)
    raw.push(performance.now() - began)
    await container.remove({ force: true })

    const sent = performance.now()
    const id = await platform.createApplication(projectId, `converge-${i}`, { image: nginxdemoDefaultImage, ports: [80] })
    await platform.runningContainer(id)
    ours.push(performance.now() - sent)
    await settle(platform, projectId)
  }
  return {
    median_ms: rounded(median(ours)),
    p95_ms: rounded(percentile(ours, 95)),
    raw_median_ms: rounded(median(raw)),
    over_raw_ms: rounded(median(ours) - median(raw)),
  }
}

/** One try must not run while the one before it is still being published. */
export async function settle(platform: Platform, projectId: string): Promise<void> {
  while ((await platform.applications(projectId)).some((a) => !a.ready)) await new Promise((r) => setTimeout(r, 25))
}
