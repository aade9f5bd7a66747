import type { Platform } from '../platform.js'
import { cpuMs, total } from '../processes.js'
import { joinSimulatedNode, type SimulatedNode } from '../simulated-fleet.js'
import { rounded } from '../statistics.js'
import { allReady, createOn, supervisorPid } from './idle.js'

const nodes = 3
const small = 100
const large = 1_000

/** 1,000 applications on simulated nodes, beside 100 in the same run: what a pass costs must not grow with their number. */
export async function scale(platform: Platform) {
  const fleet = await Promise.all(Array.from({ length: nodes }, () => joinSimulatedNode(platform)))
  try {
    const few = await deploy(platform, fleet, small)
    const many = await deploy(platform, fleet, large)
    return { ...many, cpu_ms_per_pass_at_100: few.cpu_ms_per_pass }
  } finally {
    for (const node of fleet) await node.leave()
  }
}

async function deploy(platform: Platform, fleet: SimulatedNode[], wanted: number) {
  const projectId = await platform.createProject()
  const pids = [supervisorPid(platform), ...fleet.map((n) => n.pid)]
  const cpuBefore = total(cpuMs(pids))
  const began = performance.now()
  const share = Math.ceil(wanted / fleet.length)
  await Promise.all(fleet.map((node, i) => createOn(platform, projectId, node, Math.min(share, wanted - i * share))))
  await allReady(platform, projectId, wanted)
  const seconds = (performance.now() - began) / 1000
  const cpu = total(cpuMs(pids)) - cpuBefore
  const { passes, eventsPerPass } = await historyOf(platform, projectId)
  await platform.cleanUp()
  return {
    applications: wanted,
    seconds: rounded(seconds, 1),
    passes_per_second: rounded(passes / seconds, 1),
    events_per_pass: rounded(eventsPerPass, 1),
    cpu_ms_per_pass: rounded(cpu / passes, 1),
  }
}

/** Passes of all applications so far, and history events a pass over a sample of them. */
async function historyOf(platform: Platform, projectId: string): Promise<{ passes: number; eventsPerPass: number }> {
  const rows = await platform.passes(projectId)
  const passes = rows.reduce((sum, row) => sum + row.passes, 0)
  const sample = rows.filter((_, i) => i % Math.ceil(rows.length / 20) === 0)
  const lengths = await Promise.all(sample.map((row) => platform.historyLength(row.workflowId)))
  const sampled = sample.reduce((sum, row) => sum + row.passes, 0)
  return { passes, eventsPerPass: lengths.reduce((sum, length) => sum + length, 0) / sampled }
}
