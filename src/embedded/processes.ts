import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Is there a process with this id? One of another user counts as well. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The argument vector of a running process; empty when it is gone or not ours to read. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    return []
  }
}

/** Waits until a process that is not our child is gone. */
export async function waitForExit(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (alive(pid)) {
    if (Date.now() > deadline) return false
    await sleep(20)
  }
  return true
}

/** Asks a process that is not our child to end, and kills it when its grace is over. */
export async function endProcess(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const next of [signal, 'SIGKILL'] as const) {
    try {
      process.kill(pid, next)
    } catch {
      return
    }
    if (await waitForExit(pid, graceMs)) return
  }
}

/**
 * Remembers a child's process id on disk, so that the next start can end it when we were killed ourselves
 * and could not. An id alone proves nothing, since ids are reused: `marks` must all be among its arguments.
 */
export class PidFile {
  constructor(
    private readonly path: string,
    private readonly marks: readonly string[],
  ) {}

  write(pid: number): void {
    writeFileSync(this.path, `${pid}\n`, { mode: 0o600 })
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }

  /** The process that an earlier start left behind, if it is certainly ours and still runs. */
  leftover(): number | undefined {
    const pid = readPid(this.path)
    if (pid === undefined || pid === process.pid) return undefined
    const args = commandLine(pid)
    return args.length > 0 && this.marks.every((mark) => args.some((arg) => arg.includes(mark))) ? pid : undefined
  }

  async endLeftover(signal: NodeJS.Signals = 'SIGTERM', graceMs = 10_000): Promise<void> {
    const pid = this.leftover()
    if (pid !== undefined) await endProcess(pid, signal, graceMs)
    this.remove()
  }
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(path, 'utf8'), 10)
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}
