import type { ContainerCreateOptions, MountSettings } from 'dockerode'
import { secretKey, type ContainerSpec, type ResourceLimits } from '../../reconcile/action.js'
import { label, ownerOf, volumeName } from '../../reconcile/labels.js'
import { EngineFailure, type EngineNetwork, type SecretValues } from './engine.js'

/** Keeps a chatty container from filling the node's disk. */
export const logConfig = { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } }

/**
 * The Engine API's words for a container spec. Env goes byte for byte as `NAME=value`: nothing parses it.
 * No aliases, so that short names resolve by search domain only and never meet another project's.
 */
export function toCreateBody(
  spec: ContainerSpec,
  network: EngineNetwork,
  secrets: SecretValues = new Map(),
): ContainerCreateOptions {
  return {
    name: spec.name,
    Image: spec.image,
    Labels: spec.labels,
    Env: envOf(spec, secrets),
    ...(spec.user ? { User: spec.user } : {}),
    ...(spec.entrypoint ? { Entrypoint: spec.entrypoint } : {}),
    ...(spec.command ? { Cmd: spec.command } : {}),
    ...(spec.hostname ? { Hostname: spec.hostname } : {}),
    ExposedPorts: Object.fromEntries(spec.publishedPorts.map((p) => [`${p.containerPort}/${p.protocol}`, {}])),
    StopTimeout: spec.stopGraceSeconds,
    HostConfig: {
      ...networkOf(spec, network),
      ...(spec.capabilities === null ? {} : { CapDrop: ['ALL'], CapAdd: spec.capabilities }),
      RestartPolicy: { Name: spec.restartPolicy },
      PortBindings: portBindings(spec),
      LogConfig: logConfig,
      Init: false,
      Mounts: mountsOf(spec),
      ...(spec.shmBytes === null ? {} : { ShmSize: spec.shmBytes }),
      Devices: spec.devices.map((d) => ({ PathOnHost: d.source, PathInContainer: d.target, CgroupPermissions: d.permissions })),
      ...limitsIn(spec.resources),
    },
    ...(spec.network === 'host' ? {} : { NetworkingConfig: endpointIn({ name: network.name, address: spec.address }) }),
  }
}

function networkOf({ network: kind, dnsSearch }: ContainerSpec, network: EngineNetwork) {
  if (kind === 'host') return { NetworkMode: 'host' }
  // Docker's default of 0 dots sends short names upstream instead of through the search domains.
  return { NetworkMode: network.name, Dns: network.dns, DnsOptions: ['ndots:1'], DnsSearch: dnsSearch }
}

/** Memory is the bound of memory and swap together: a program that is limited does not fill the swap instead. */
export function limitsIn({ memoryBytes, nanoCpus }: ResourceLimits): { Memory?: number; MemorySwap?: number; NanoCpus?: number } {
  return {
    ...(memoryBytes === null ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
    ...(nanoCpus === null ? {} : { NanoCpus: nanoCpus }),
  }
}

/** What a volume carries: its owner, and the name that the owner gave it. */
export function volumeLabels(spec: ContainerSpec, source: string): Record<string, string> {
  const { instance, kind, resource } = ownerOf(spec)
  const prefix = volumeName(instance, resource, '')
  const own = source.startsWith(prefix) ? source.slice(prefix.length) : source
  return { [label.instance]: instance, [label.kind]: kind, [label.resource]: resource, [label.volume]: own }
}

function envOf({ env, secretEnv }: ContainerSpec, secrets: SecretValues): string[] {
  const bySecret = new Set(secretEnv.map((e) => e.name))
  return [
    ...env.filter(([name]) => !bySecret.has(name)).map(([name, value]) => `${name}=${value}`),
    ...secretEnv.map(({ name, secret }) => {
      const value = secrets.get(secretKey(secret))
      if (value === undefined)
        throw new EngineFailure('EngineError', `the value of secret ${secretKey(secret)} is not at hand`, true)
      return `${name}=${value}`
    }),
  ]
}

/** A bind mount's source is never made: a folder that is missing is a disk that is not there, or a mistake in writing. */
function mountsOf(spec: ContainerSpec): MountSettings[] {
  // A state folder has become a bind mount by now: only the agent knows where it lies.
  const mounts = spec.mounts.map(({ kind, source, target, readOnly }) => ({
    Type: kind,
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    ...(kind === 'volume' ? { VolumeOptions: { Labels: volumeLabels(spec, source) } } : {}),
  }))
  const inMemory = spec.tmpfs.map(({ target, sizeBytes }) => ({
    Type: 'tmpfs',
    Target: target,
    ...(sizeBytes === null ? {} : { TmpfsOptions: { SizeBytes: sizeBytes } }),
  }))
  return [...mounts, ...inMemory] as MountSettings[]
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
