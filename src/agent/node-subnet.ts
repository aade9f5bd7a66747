import ipaddr from 'ipaddr.js'

/** The parts of a node's subnet that have a fixed meaning. Everything between them is for fixed addresses of replicas. */
export interface NodeSubnet {
  cidr: string
  /** First address: the bridge itself, where the resolver listens. */
  gateway: string
  /** Second address: where the resolver goes when somebody else has port 53 of the gateway. */
  reservedResolver: string
  /** Last /24: what asks for no address gets one from here, so that it never takes a fixed one. */
  dynamicRange: string
}

export function nodeSubnetOf(cidr: string): NodeSubnet {
  const [address, prefix] = ipaddr.IPv4.parseCIDR(cidr)
  if (prefix > 22) throw new Error(`the node's subnet ${cidr} is too small: it needs at least a /22`)
  const first = toNumber(address) & ~(2 ** (32 - prefix) - 1)
  const size = 2 ** (32 - prefix)
  return {
    cidr: `${toText(first)}/${prefix}`,
    gateway: toText(first + 1),
    reservedResolver: toText(first + 2),
    dynamicRange: `${toText(first + size - 256)}/24`,
  }
}

function toNumber(address: ipaddr.IPv4): number {
  return address.octets.reduce((sum, octet) => sum * 256 + octet, 0) | 0
}

function toText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
}
