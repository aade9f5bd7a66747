import ipaddr from 'ipaddr.js'
import { cidrOf, overlap, type Cidr } from '../reconcile/cidr.js'

/** Every node's network is a /20 of the pool. */
export const subnetPrefix = 20

/**
 * The first /20 of the pool that overlaps nothing in `taken` (other nodes' networks, the host's routes); null when
 * there is none. A default route and IPv6 routes say nothing about the pool and are passed over.
 */
export function firstFreeSubnet(pool: string, taken: readonly string[]): string | null {
  const [base, prefix] = ipaddr.IPv4.parseCIDR(pool)
  if (prefix > subnetPrefix) throw new Error(`the network pool ${pool} is smaller than one node's /${subnetPrefix}`)
  const blocked = taken.map(cidrOf).filter((c): c is Cidr => c !== null && c[1] > 0)
  const first = numberOf(ipaddr.IPv4.networkAddressFromCIDR(`${base.toString()}/${prefix}`))
  const size = 2 ** (32 - subnetPrefix)
  for (let n = 0; n < 2 ** (subnetPrefix - prefix); n++) {
    const candidate: Cidr = [addressOf(first + n * size), subnetPrefix]
    if (!blocked.some((b) => overlap(candidate, b))) return `${candidate[0].toString()}/${subnetPrefix}`
  }
  return null
}

/** True when `subnet` is a /20 inside the pool. */
export function liesInPool(pool: string, subnet: string): boolean {
  const inner = cidrOf(subnet)
  const outer = cidrOf(pool)
  return inner !== null && outer !== null && inner[1] === subnetPrefix && inner[0].match(outer[0], outer[1])
}

function numberOf(address: ipaddr.IPv4): number {
  return address.octets.reduce((sum, octet) => sum * 256 + octet, 0)
}

function addressOf(n: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([(n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255])
}
