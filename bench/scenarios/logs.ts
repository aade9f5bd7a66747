import { BUSYBOX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import type { Platform } from '../platform.js'
import { cpuMs } from '../processes.js'
import { rounded } from '../statistics.js'
import { supervisorPid } from './idle.js'

const batch = 1_000
const batches = 200
const count = batch * batches
/** 1,000 lines every 100 ms are 10,000 a second; beside its pause the writer needs time to write and to fork. */
const pauseSeconds = 0.075
const text = 'a line that is as long as an ordinary line of an ordinary log is, so some eighty characters'
const script = `sleep 5; awk 'BEGIN { for (b = 0; b < ${batches}; b++) { for (i = 0; i < ${batch}; i++) print ++n, "${text}"; fflush(); system("sleep ${pauseSeconds}") } }'; sleep 3600`

interface Event {
  notice: { message: string } | null
  lines: { text: string }[]
}

/** One container that writes 10,000 lines a second: followed through `applicationLogs`, then read again, beside the engine's own log API. */
export async function logs(platform: Platform) {
  const projectId = await platform.createProject()
  const id = await platform.createApplication(projectId, 'logs', { image: BUSYBOX_IMAGE, command: ['sh', '-c', script] })
  const containerId = await platform.runningContainer(id)
  const followed = await follow(platform, id, 'tail: 0')
  const again = await follow(platform, id, 'since: "2000-01-01T00:00:00Z", follow: false')
  const began = performance.now()
  const raw = (await platform.docker
    .getContainer(containerId)
    .logs({ stdout: true, stderr: true, timestamps: true })) as unknown as Buffer
  const rawSeconds = (performance.now() - began) / 1000
  return {
    lines_per_second: Math.round(count / followed.seconds),
    lost: count - followed.lines,
    twice: followed.twice,
    agent_cpu_percent: followed.cpu['agent'],
    api_cpu_percent: followed.cpu['api'],
    read_again_lines_per_second: Math.round(again.lines / again.seconds),
    read_again_lost: count - again.lines,
    raw_lines_per_second: Math.round(raw.toString('latin1').split('\n').length / rawSeconds),
  }
}

/** Until the last line; what counts are the numbers with which lines begin. */
async function follow(platform: Platform, id: string, args: string) {
  const pids = [supervisorPid(platform)]
  const seen = new Set<number>()
  let twice = 0
  let began = 0
  let ended = 0
  let before: Record<string, number> = {}
  const query = `subscription { applicationLogs(id: "${id}", ${args}) { lines { release replica stream at text } notice { message } cursor } }`
  for await (const { applicationLogs } of platform.subscribe<{ applicationLogs: Event }>(query)) {
    if (began === 0 && applicationLogs.lines.length > 0) {
      began = performance.now()
      before = cpuMs(pids)
    }
    for (const line of applicationLogs.lines) {
      const number = Number(line.text.slice(0, line.text.indexOf(' ')))
      if (seen.has(number)) twice++
      seen.add(number)
    }
    if (applicationLogs.notice) console.error(applicationLogs.notice.message)
    ended = performance.now()
    if (seen.has(count)) break
  }
  const seconds = (ended - began) / 1000
  const after = cpuMs(pids)
  const cpu = Object.fromEntries(
    Object.entries(after).map(([role, ms]) => [role, rounded((ms - (before[role] ?? 0)) / (seconds * 10), 1)]),
  )
  return { lines: seen.size, twice, seconds, cpu }
}
