import ipaddr from 'ipaddr.js'

/** A block of IPv4 addresses: one address of it, and the length of its prefix. */
export type Cidr = [ipaddr.IPv4, number]

/** `10.0.0.0/8`, or a lone address as a block of one; null for what is neither. */
export function cidrOf(text: string): Cidr | null {
  const withPrefix = text.includes('/') ? text : `${text}/32`
  return ipaddr.IPv4.isValidCIDR(withPrefix) ? ipaddr.IPv4.parseCIDR(withPrefix) : null
}

/** Two blocks overlap exactly when the wider one holds the other's address. */
export function overlap(a: Cidr, b: Cidr): boolean {
  const prefix = Math.min(a[1], b[1])
  return a[0].match(b[0], prefix)
}
