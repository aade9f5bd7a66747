import { readFile } from 'node:fs/promises'

/** Kernel's number for an established TCP connection in /proc/net/tcp. */
const established = '01'

/** Local ports of the probes that are running: they are no traffic. */
export interface ProbePorts {
  has(localPort: number): boolean
}

/**
 * Counts connections from this host's own network to containers: those of an ingress in host network, and of anything
 * else that runs on the host. A container must not be stopped while one of them is open.
 */
export class ConnectionCounter {
  constructor(private readonly probes: ProbePorts) {}

  async count(addresses: string[]): Promise<Record<string, number>> {
    const counts = Object.fromEntries(addresses.map((a) => [a, 0]))
    if (addresses.length === 0) return counts
    const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'latin1').catch(() => '')))
    const byHex = new Map(addresses.map((a) => [toHex(a), a]))
    for (const { remote } of tables.flatMap(connectionsIn).filter((c) => !this.probes.has(c.localPort))) {
      const address = byHex.get(remote)
      if (address !== undefined) counts[address] = (counts[address] ?? 0) + 1
    }
    return counts
  }
}

/** Established connections of one of the kernel's tables: `remote` is the last 8 hex digits of the address. */
export function connectionsIn(table: string): { localPort: number; remote: string }[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/, 4)
    if (state !== established) return []
    const [remoteAddress = ''] = remote.split(':')
    return [{ localPort: Number.parseInt(local.split(':')[1] ?? '', 16), remote: remoteAddress.slice(-8) }]
  })
}

/** An IPv4 address as the kernel writes it on a little-endian machine; a mapped one in tcp6 ends with the same digits. */
export function toHex(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'))
  return bytes.reverse().join('')
}
