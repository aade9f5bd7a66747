import { createHash } from 'node:crypto'
import type { NetworkCreateOptions, NetworkInspectInfo } from 'dockerode'
import { cidrOf, overlap } from '../../reconcile/cidr.js'
import { EngineFailure, type EngineNetwork } from './engine.js'

/** Interface names have at most 15 characters; the name is fixed so that firewall rules and the resolver find it. */
export function bridgeName(networkName: string): string {
  return `ek-${createHash('sha256').update(networkName).digest('hex').slice(0, 10)}`
}

export function networkBody(network: EngineNetwork, labels: Record<string, string>): NetworkCreateOptions {
  return {
    Name: network.name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: labels,
    IPAM: { Driver: 'default', Config: [{ Subnet: network.subnet, Gateway: network.gateway, IPRange: network.dynamicRange }] },
    Options: {
      'com.docker.network.driver.mtu': String(network.mtu),
      'com.docker.network.bridge.name': bridgeName(network.name),
    },
  }
}

/** A node's network is never renumbered: containers hold its addresses, so another subnet is somebody's decision to take. */
export function checkNetwork(existing: NetworkInspectInfo, wanted: EngineNetwork): void {
  const subnets = (existing.IPAM?.Config ?? []).map((c) => c.Subnet)
  if (subnets.includes(wanted.subnet)) return
  throw new EngineFailure(
    'EngineError',
    `network ${wanted.name} exists with subnet ${subnets.join(', ') || 'none'} instead of ${wanted.subnet}; remove it when no container needs it`,
    false,
  )
}

/**
 * Whose networks hold a part of the wanted one's addresses, in words: the engine only says that somebody's do. A network
 * that is only just being made takes its addresses before anybody can list it.
 */
export function overlapWith(
  networks: readonly Pick<NetworkInspectInfo, 'Name' | 'IPAM'>[],
  { name, subnet }: EngineNetwork,
): string {
  const wanted = cidrOf(subnet)
  const holders = networks.flatMap(({ Name, IPAM }) =>
    (IPAM?.Config ?? []).flatMap(({ Subnet }) => {
      const taken = cidrOf(Subnet ?? '')
      return wanted && taken && overlap(wanted, taken) ? [`${Name} (${Subnet})`] : []
    }),
  )
  return holders.length > 0
    ? `network ${name} cannot have the addresses ${subnet}: they overlap those of Docker network ${holders.join(', ')}; remove it when nothing needs it`
    : `the addresses ${subnet} of network ${name} are just being taken or given back; it is tried again`
}
