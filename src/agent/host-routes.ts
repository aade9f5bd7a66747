import { readFile } from 'node:fs/promises'

interface Route {
  device: string
  cidr: string
}

/** Networks that this host reaches by a route of its own, other than over `ownBridge`, so that the node's network overlaps none. */
export async function hostRoutes(ownBridge: string): Promise<string[]> {
  const table = await readFile('/proc/net/route', 'latin1').catch(() => '')
  const routes = routesIn(table).filter((r) => r.device !== ownBridge && r.cidr !== '0.0.0.0/0')
  return [...new Set(routes.map((r) => r.cidr))]
}

/** Rows of /proc/net/route: addresses are little-endian hex. */
export function routesIn(table: string): Route[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device, destination, , , , , , mask] = line.trim().split(/\s+/)
      if (!device || !destination || !mask) return []
      return [{ device, cidr: `${toAddress(destination)}/${prefixOf(mask)}` }]
    })
}

function toAddress(hex: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.')
}

function prefixOf(hex: string): number {
  return Number.parseInt(hex, 16).toString(2).replaceAll('0', '').length
}
