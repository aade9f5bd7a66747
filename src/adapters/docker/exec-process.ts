import { readFile } from 'node:fs/promises'

/**
 * Kills the process of a command in a container, because the engine has no call for it. Only when the kernel says that it
 * belongs to that container: seen from another PID namespace the number means another process, or none.
 */
export async function killExec(pid: number, containerId: string): Promise<void> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
  if (!groups.includes(containerId)) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself, or we may not.
  }
}
