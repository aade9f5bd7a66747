import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeStateFile } from '../bootstrap/state-file.js'

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
 * What tells a process from every other one that has or had its id, also after a reboot: the boot and its start time.
 * Nothing when there is no such process, or only its exit code waits to be read.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '')
    const [state, ...fields] = afterName.trim().split(' ')
    return state === 'Z' ? undefined : `${boot}/${fields[18]}`
  } catch {
    return undefined
  }
}

/**
 * Remembers a running process on disk, so that the next start can find what we left behind when we were killed.
 * An id alone proves nothing, since ids are reused, so its identity is kept beside it.
 */
export class PidFile {
  constructor(private readonly path: string) {}

  write(pid: number): void {
    writeStateFile(this.path, record(pid))
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }

  /** The process of this file, if it still runs. */
  running(): number | undefined {
    const [pid, identity] = readOr(this.path, '').trim().split(' ')
    return pid && identity && processIdentity(Number(pid)) === identity ? Number(pid) : undefined
  }

  /** Ends the process of this file, if it still runs, and removes the file. */
  async end(signal: NodeJS.Signals = 'SIGTERM', graceMs = 10_000): Promise<void> {
    const pid = this.running()
    if (pid !== undefined) await endProcess(pid, signal, graceMs)
    this.remove()
  }
}

function record(pid: number): string {
  return `${pid} ${processIdentity(pid) ?? 'gone'}\n`
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}
