import { readdirSync, readFileSync } from 'node:fs'

/** Kernel's clock ticks a second, as /proc counts CPU time. */
const ticksPerSecond = 100

interface ProcessStat {
  pid: number
  parent: number
  ticks: number
  residentBytes: number
  command: string
}

function readAll(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8')
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return [
          {
            pid: Number(name),
            parent: Number(fields[1]),
            ticks: Number(fields[11]) + Number(fields[12]),
            residentBytes: Number(fields[21]) * 4096,
            command,
          },
        ]
      } catch {
        return [] // ended meanwhile
      }
    })
}

/** A process and all its descendants. */
function treeOf(pids: number[]): ProcessStat[] {
  const all = readAll()
  const found = new Set(pids)
  for (let grew = true; grew;) {
    grew = false
    for (const { pid, parent } of all) {
      if (found.has(parent) && !found.has(pid)) {
        found.add(pid)
        grew = true
      }
    }
  }
  return all.filter(({ pid }) => found.has(pid))
}

/** CPU milliseconds that the processes below `pids` have used so far, by what they are. */
export function cpuMs(pids: number[]): Record<string, number> {
  return byRole(treeOf(pids), (p) => (p.ticks * 1000) / ticksPerSecond)
}

/** Resident megabytes of the processes below `pids`, by what they are. Shared pages count once for each. */
export function memoryMb(pids: number[]): Record<string, number> {
  const mb = byRole(treeOf(pids), (p) => p.residentBytes / 1024 / 1024)
  return Object.fromEntries(Object.entries(mb).map(([role, value]) => [role, Math.round(value)]))
}

function byRole(processes: ProcessStat[], valueOf: (p: ProcessStat) => number): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const process of processes) {
    const role = roleOf(process.command)
    sums[role] = (sums[role] ?? 0) + valueOf(process)
  }
  return sums
}

function roleOf(command: string): string {
  const roles: [string, RegExp][] = [
    ['postgres', /postgres/],
    ['temporal', /temporal server/],
    ['worker', /worker\.main/],
    ['simulated-node', /simulated-node\.main/],
    ['agent', /agent\.main/],
    ['api', /src\/main\./],
    ['supervisor', /up\.main/],
  ]
  return roles.find(([, pattern]) => pattern.test(command))?.[0] ?? 'other'
}

export function total(parts: Record<string, number>): number {
  return Object.values(parts).reduce((sum, value) => sum + value, 0)
}
