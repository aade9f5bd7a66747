/** One line of the hosts file that CoreDNS reads: an address and one name that it answers for. */
export interface ZoneEntry {
  name: string
  address: string
}

export const internalZone = 'internal'

/** The hosts file of all names on this node, in an order of its own, so that equal contents are equal texts. */
export function renderHosts(entries: ZoneEntry[]): string {
  const lines = new Set(entries.map(({ name, address }) => `${address} ${name}`))
  return [...lines]
    .sort()
    .map((line) => `${line}\n`)
    .join('')
}

/**
 * The zone behind the hosts file. Without it a name that is not in the hosts file is answered by SERVFAIL, and a
 * resolver then asks the next server; with it the answer is NXDOMAIN, and for `ttlSeconds` at most.
 */
export function renderEmptyZone(ttlSeconds: number): string {
  const ttl = Math.min(ttlSeconds, 5)
  return [
    `${internalZone}. ${ttl} IN SOA ns.${internalZone}. hostmaster.${internalZone}. 1 60 60 60 ${ttl}`,
    `${internalZone}. ${ttl} IN NS ns.${internalZone}.`,
    '',
  ].join('\n')
}

export interface ResolverConfig {
  listenAddress: string
  ttlSeconds: number
  /** The node's own resolvers, for every name outside the zone. Empty: such names are refused. */
  upstreams: string[]
  /** Folder in the container that holds `hosts` and `internal.zone`. */
  folder: string
}

/** How long a change of the hosts file may take to be seen; the look costs 0.3 % of a core, twice as many 0.6 %. */
export const hostsReloadMs = 100

/** CoreDNS's own configuration. */
export function renderCorefile({ listenAddress, ttlSeconds, upstreams, folder }: ResolverConfig): string {
  return [
    `${internalZone}:53 {`,
    `  bind ${listenAddress}`,
    `  hosts ${folder}/hosts ${internalZone} {`,
    `    ttl ${ttlSeconds}`,
    `    reload ${hostsReloadMs}ms`,
    '    no_reverse',
    '    fallthrough',
    '  }',
    `  file ${folder}/internal.zone ${internalZone}`,
    '  errors',
    '}',
    '.:53 {',
    `  bind ${listenAddress}`,
    // A short name that no search domain knew exists nowhere; the upstreams would take their time to say so.
    ...['A', 'AAAA'].flatMap((type) => [
      `  template IN ${type} {`,
      '    match "^[^.]+[.]$"',
      '    rcode NXDOMAIN',
      '    fallthrough',
      '  }',
    ]),
    ...(upstreams.length > 0 ? [`  forward . ${upstreams.join(' ')}`, '  cache 30'] : []),
    '  errors',
    '}',
    '',
  ].join('\n')
}

/** Resolver addresses of a resolv.conf, in their order. */
export function nameserversOf(resolvConf: string): string[] {
  return resolvConf
    .split('\n')
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1])
    .filter((address) => address !== undefined)
}

/** A container cannot use a resolver that listens on the node's loopback only. */
export function loopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
