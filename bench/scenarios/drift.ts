import { nginxdemoDefaultImage } from '../../src/reconcile/nginxdemo/spec.js'
import type { Platform } from '../platform.js'
import { median, percentile, rounded } from '../statistics.js'
import { settle } from './converge.js'

const tries = 20

/**
 * `docker rm -f` sent → replacement running, beside create + start by the bare Engine API, in turns. `gone_median_ms` counts
 * from the moment that the engine says the container is gone.
 */
export async function drift(platform: Platform) {
  const projectId = await platform.createProject()
  const id = await platform.createApplication(projectId, 'drift', { image: nginxdemoDefaultImage, ports: [80] })
  await settle(platform, projectId)
  const ours: number[] = []
  const gone: number[] = []
  const raw: number[] = []
  for (let i = 0; i < tries; i++) {
    const began = performance.now()
    const container = await platform.startRaw(nginxdemoDefaultImage)
    raw.push(performance.now() - began)
    await container.remove({ force: true })

    const victim = await platform.runningContainer(id)
    const sent = performance.now()
    await platform.docker.getContainer(victim).remove({ force: true })
    const removed = performance.now()
    await platform.runningContainer(id, victim)
    ours.push(performance.now() - sent)
    gone.push(performance.now() - removed)
    await settle(platform, projectId)
  }
  return {
    median_ms: rounded(median(ours)),
    p95_ms: rounded(percentile(ours, 95)),
    raw_median_ms: rounded(median(raw)),
    gone_median_ms: rounded(median(gone)),
    over_raw_ms: rounded(median(ours) - median(raw)),
  }
}
