import type { ContainerCreateOptions } from 'dockerode'
import type { ContainerSpec } from '../../reconcile/action.js'
import type { EngineNetwork } from './engine.js'

/** Keeps a chatty container from filling the node's disk. */
export const logConfig = { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } }

/**
 * The Engine API's words for a container spec. Env goes byte for byte as `NAME=value`: nothing parses it.
 * No aliases, so that short names resolve by search domain only and never meet another project's.
 */
export function toCreateBody(spec: ContainerSpec, network: EngineNetwork): ContainerCreateOptions {
  return {
    name: spec.name,
    Image: spec.image,
    Labels: spec.labels,
    Env: spec.env.map(([name, value]) => `${name}=${value}`),
    ...(spec.entrypoint ? { Entrypoint: spec.entrypoint } : {}),
    ...(spec.command ? { Cmd: spec.command } : {}),
    ...(spec.hostname ? { Hostname: spec.hostname } : {}),
    ExposedPorts: Object.fromEntries(spec.publishedPorts.map((p) => [`${p.containerPort}/${p.protocol}`, {}])),
    StopTimeout: spec.stopGraceSeconds,
    HostConfig: {
      NetworkMode: network.name,
      RestartPolicy: { Name: spec.restartPolicy },
      PortBindings: portBindings(spec),
      Dns: network.dns,
      // Docker's default of 0 sends short names upstream instead of through the search domains.
      DnsOptions: ['ndots:1'],
      DnsSearch: spec.dnsSearch,
      LogConfig: logConfig,
      Init: false,
    },
    NetworkingConfig: endpointIn({ name: network.name, address: spec.address }),
  }
}

/** Without an address the engine gives one from the network's dynamic range. */
export function endpointIn({ name, address }: { name: string; address: string | null }) {
  return { EndpointsConfig: { [name]: address ? { IPAMConfig: { IPv4Address: address } } : {} } }
}

function portBindings(spec: ContainerSpec): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {}
  for (const { containerPort, protocol, hostAddress, hostPort } of spec.publishedPorts) {
    const bound = (bindings[`${containerPort}/${protocol}`] ??= [])
    bound.push({ HostIp: hostAddress, HostPort: String(hostPort) })
  }
  return bindings
}
