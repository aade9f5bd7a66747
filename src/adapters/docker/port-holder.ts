import { readdir, readFile, readlink } from 'node:fs/promises'

/** Kernel's numbers in /proc/net for a listening TCP socket, and for a UDP socket that takes datagrams from anybody. */
const listening = { tcp: '0A', udp: '07' }

/** The process that listens on a port of this host, in words; null when /proc does not tell. */
export async function portHolder(port: number, protocol: 'tcp' | 'udp' = 'tcp'): Promise<string | null> {
  const state = listening[protocol]
  const found = await Promise.all([protocol, `${protocol}6`].map((table) => listeners(`/proc/net/${table}`, port, state)))
  const inodes = new Set(found.flat())
  if (inodes.size === 0) return null
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    if (!(await holdsAny(pid, inodes))) continue
    const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
    return `process ${pid} (${command.trim() || 'unknown'})`
  }
  return null
}

async function listeners(file: string, port: number, state: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((f) => f[1]?.endsWith(`:${hexPort}`) && f[3] === state)
    .map((f) => f[9] ?? '')
}

async function holdsAny(pid: string, inodes: Set<string>): Promise<boolean> {
  const fds = await readdir(`/proc/${pid}/fd`).catch(() => [])
  for (const fd of fds) {
    const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
    if (inode !== undefined && inodes.has(inode)) return true
  }
  return false
}
