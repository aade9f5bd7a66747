import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Time between SIGHUP, by which a shell ends its jobs, and SIGKILL. */
const graceMs = 2_000

/**
 * Ends a process in a container and its descendants. `pid` is of the engine's process namespace: nothing is done
 * unless this machine's /proc says that it belongs to the container, since numbers are used again and an agent in a
 * container of its own counts differently.
 */
export async function endProcess(pid: number, container: string): Promise<void> {
  const found = await treeIn(pid, container)
  for (const each of found) signal(each, 'SIGHUP')
  const deadline = Date.now() + graceMs
  while (Date.now() < deadline && (await living(found, container)).length > 0) await sleep(50)
  // What was started meanwhile, too, as long as its parents live.
  const left = new Set([...(await living(found, container)), ...(await treeIn(pid, container))])
  for (const each of left) signal(each, 'SIGKILL')
}

async function living(pids: number[], container: string): Promise<number[]> {
  const alive = await Promise.all(pids.map((pid) => belongsTo(pid, container)))
  return pids.filter((_, i) => alive[i])
}

async function treeIn(pid: number, container: string): Promise<number[]> {
  if (!(await belongsTo(pid, container))) return []
  const children = Map.groupBy(await parents(), ({ parent }) => parent)
  const found = [pid]
  for (const each of found) for (const child of children.get(each) ?? []) found.push(child.pid)
  return living(found, container)
}

async function parents(): Promise<{ pid: number; parent: number }[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const read = pids.map(async (pid) => ({ pid, parent: await parentOf(pid) }))
  return (await Promise.all(read)).filter((p): p is { pid: number; parent: number } => p.parent !== null)
}

async function parentOf(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  // The name in brackets may hold anything, also brackets.
  return text === null ? null : Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

/** False for a zombie as well: nothing is left of it to end. */
async function belongsTo(pid: number, container: string): Promise<boolean> {
  const [cgroup, stat] = await Promise.all([
    readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
  ])
  return cgroup.includes(container) && stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z'
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended, or is somebody's whom we may not signal.
  }
}
