import type { ContainerState } from '../../reconcile/observed.js'
import type { Engine } from './engine.js'

/** What the agent's own upkeep needs beyond the actions' narrow view: no action may depend on it. */
export interface NodeEngine extends Engine {
  /** One cheap call for any number of containers; `list` costs one more call a container. */
  summaries(labels: Record<string, string>): Promise<ContainerSummary[]>
  /** Lines of one container, oldest first; ends with the container unless it is only read to its present end. */
  logs(nameOrId: string, options: LogOptions, onLine: (line: LogLine) => void, signal: AbortSignal): Promise<void>
  /** Creates a container of our own on the node, such as its resolver. Fails like `create`. */
  createSystem(spec: SystemContainerSpec, network: SystemNetwork): Promise<{ id: string }>
  /** Ids of all images that any container on this engine uses, ours or not. */
  imagesInUse(): Promise<Set<string>>
  /** Removes one reference, and the image with its last one. False when it is in use or not there. */
  removeImage(reference: string): Promise<boolean>
  /** Where the engine keeps images and containers, to watch the disk below it. */
  rootDir(): Promise<string>
  /** Name of the network's bridge interface on the host. */
  bridgeOf(networkName: string): Promise<string | null>
  removeNetwork(networkName: string): Promise<void>
}

export interface ContainerSummary {
  id: string
  name: string
  labels: Record<string, string>
  state: ContainerState
  /** How long it has been running, to the second; null when that is a minute or more, or when it does not run. */
  upSeconds: number | null
}

export interface LogOptions {
  follow: boolean
  tail: number | null
  sinceMs: number | null
}

export interface LogLine {
  stream: 'stdout' | 'stderr'
  /** RFC 3339 with nanoseconds, as the engine keeps it. */
  at: string
  text: string
}

export interface SystemContainerSpec {
  name: string
  image: string
  labels: Record<string, string>
  command: string[]
  /** Host folder → folder in the container, read only. */
  readOnlyBinds: [string, string][]
  restartPolicy: 'no' | 'unless-stopped'
  dns: string[]
}

/** `host`: the host's own network. Else a network, and the address in it; null takes one from the dynamic range. */
export type SystemNetwork = 'host' | { name: string; address: string | null }
