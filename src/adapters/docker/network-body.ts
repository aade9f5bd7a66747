import { createHash } from 'node:crypto'
import type { NetworkCreateOptions, NetworkInspectInfo } from 'dockerode'
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
