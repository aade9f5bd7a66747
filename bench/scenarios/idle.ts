import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Platform } from '../platform.js'
import { cpuMs, memoryMb, total } from '../processes.js'
import { joinSimulatedNode, type SimulatedNode } from '../simulated-fleet.js'
import { rounded } from '../statistics.js'

const count = 200
const observedMs = 60_000
/** What a deploy leaves behind (drains, closing events) is over by then. */
const calmMs = 15_000

/** 200 applications on a simulated node, settled, for a minute: what it costs that nothing happens. */
export async function idle(platform: Platform) {
  const node = await joinSimulatedNode(platform)
  try {
    const projectId = await platform.createProject()
    await createOn(platform, projectId, node, count)
    await allReady(platform, projectId, count)
    await sleep(calmMs)
    const pids = [supervisorPid(platform), node.pid]
    const calls = await node.calls()
    const before = cpuMs(pids)
    const began = performance.now()
    await sleep(observedMs)
    const seconds = (performance.now() - began) / 1000
    const after = cpuMs(pids)
    const used = Object.fromEntries(Object.entries(after).map(([role, ms]) => [role, rounded((ms - (before[role] ?? 0)) / (seconds * 10), 2)]))
    const result = {
      cpu_percent_of_core: rounded(total(used), 2),
      cpu_percent_by_process: used,
      memory_mb: memoryMb(pids),
      docker_calls_per_minute: rounded(((await node.calls()) - calls) / (seconds / 60), 1),
    }
    await platform.cleanUp()
    return result
  } finally {
    await node.leave()
  }
}

/** Creates applications on a node, 20 requests at a time. */
export async function createOn(platform: Platform, projectId: string, node: SimulatedNode, wanted: number, more: object = {}): Promise<void> {
  const input = { image: 'simulated:1', placement: { node: node.name }, ...more }
  let next = 0
  const lane = async () => {
    while (next < wanted) await platform.createApplication(projectId, `on-${node.name}-${next++}`, input)
  }
  await Promise.all(Array.from({ length: 20 }, lane))
}

/** Asks less often the more there are, because answering is work that would be counted. */
export async function allReady(platform: Platform, projectId: string, wanted: number): Promise<void> {
  while ((await platform.applications(projectId)).filter((a) => a.ready).length < wanted) await sleep(wanted * 5)
}

export function supervisorPid({ settings }: Platform): number {
  return Number.parseInt(readFileSync(join(settings.home, 'run', 'supervisor.pid'), 'utf8'), 10)
}
