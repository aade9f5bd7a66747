import type { ContainerSpec, ResourceLimits, RestartPolicy } from '../../reconcile/action.js'
import type { ContainerState } from '../../reconcile/observed.js'

/**
 * The narrow view of a container engine that Evenkeel needs. I/O only, no decisions. Two implementations:
 * `DockerodeEngine` and the simulation's model; one contract suite runs against both.
 */
export interface Engine {
  info(): Promise<EngineInfo>
  /** All containers that carry these labels, in any state. */
  list(labels: Record<string, string>): Promise<EngineContainer[]>
  /** By name or id; null when there is none. */
  inspect(nameOrId: string): Promise<EngineContainer | null>
  /**
   * Creates and does not start. `secrets` holds a value for each of `spec.secretEnv`, by `secretKey`; files are put in by
   * `putFiles`. Missing volumes are made with the container's owner in their labels. Fails with NameTaken when the name is
   * in use, ImageMissing, AddressInUse, VolumeForeign, BindSourceMissing…
   */
  create(spec: ContainerSpec, network: EngineNetwork, secrets?: SecretValues): Promise<{ id: string }>
  /** Writes files into a container, also into one that never ran. Parent folders are made; what stands at a path is replaced. */
  putFiles(nameOrId: string, files: EngineFile[]): Promise<void>
  /** Starting a running container is success. */
  start(nameOrId: string): Promise<void>
  unpause(nameOrId: string): Promise<void>
  /** SIGTERM (or the image's stop signal), then SIGKILL after `graceSeconds`. Stopping a stopped or absent container is success. */
  stop(nameOrId: string, graceSeconds: number): Promise<void>
  /** Removes a container and its anonymous volumes; an absent one is success. `force` kills a running one. */
  remove(nameOrId: string, force: boolean): Promise<void>
  setRestartPolicy(nameOrId: string, policy: RestartPolicy): Promise<void>
  /** Changes the limits of a container in place; null leaves one as it is. */
  setResources(nameOrId: string, limits: ResourceLimits): Promise<void>
  /** Names of all volumes that carry these labels, in their order. */
  volumes(labels: Record<string, string>): Promise<string[]>
  /** Labels of a volume; null when there is none. */
  volumeLabels(name: string): Promise<Record<string, string> | null>
  /** Removes a volume with what it holds; an absent one is success. Fails with VolumeInUse while any container has it. */
  removeVolume(name: string): Promise<void>
  /** Lines of one container, oldest first; ends with the container unless it is only read to its present end. */
  logs(nameOrId: string, options: LogOptions, onLine: (line: LogLine) => void, signal: AbortSignal): Promise<void>
  /** The local image's id for a reference, id or digest; null when it is not there. */
  imageId(reference: string): Promise<string | null>
  /** Name@digest of a local image, if a registry gave it one. */
  repoDigest(reference: string): Promise<string | null>
  /** Asks the registry for the digest behind a reference. Fails with RegistryUnreachable, ImageNotFound, ImagePullUnauthorized… */
  remoteDigest(reference: string, signal: AbortSignal, auth?: RegistryAuth | null): Promise<string>
  /** Returns when the image is here. Cancels with the signal. */
  pull(reference: string, signal: AbortSignal, auth?: RegistryAuth | null): Promise<void>
  /** Makes the node's network when it is missing; an existing one with the same name and subnet is kept. */
  ensureNetwork(network: EngineNetwork, labels: Record<string, string>): Promise<void>
  /** Subscribes to container events of these labels from `since` (seconds, as Docker takes it) on. Ends when the stream breaks or the signal aborts. */
  events(
    labels: Record<string, string>,
    since: number | null,
    onEvent: (event: EngineEvent) => void,
    signal: AbortSignal,
  ): Promise<void>
}

export interface EngineInfo {
  version: string
  apiVersion: string
  architecture: string
  rootless: boolean
  /** 'docker', 'podman', 'docker-desktop' … as far as the engine tells. */
  product: string
}

export interface EngineContainer {
  id: string
  name: string
  labels: Record<string, string>
  imageId: string
  state: ContainerState
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  restartCount: number
  restartPolicy: string
  /** IPv4 in the node's network. */
  address: string | null
  limits: ResourceLimits
}

/** Secrets' values by `secretKey`: in memory only, and only as long as a container is being made. */
export type SecretValues = ReadonlyMap<string, string>

/** Who the engine says it is to a registry. */
export interface RegistryAuth {
  username: string
  password: string
  serveraddress: string
}

export interface EngineFile {
  /** Absolute, in the container. */
  path: string
  mode: number
  /** Numbers of the user and group that it belongs to. */
  owner: { uid: number; gid: number }
  content: Buffer
}

export interface LogOptions {
  follow: boolean
  tail: number | null
  /** Milliseconds since the epoch. */
  sinceMs: number | null
  /** Finer than `sinceMs` and in its place: seconds and nanoseconds, as `1795969047.971123457`. */
  since?: string | null
  /** Absent = both. */
  streams?: readonly LogLine['stream'][]
}

export interface LogLine {
  stream: 'stdout' | 'stderr'
  /** RFC 3339 with nanoseconds, as the engine keeps it. */
  at: string
  text: string
}

/** The node's bridge. Fixed addresses lie outside `dynamicRange`. */
export interface EngineNetwork {
  name: string
  subnet: string
  gateway: string
  dynamicRange: string
  mtu: number
  /** Resolvers of the containers, ours first. */
  dns: string[]
}

export interface EngineEvent {
  /** create | start | die | destroy | oom | pause | unpause | health_status | rename | update … */
  action: string
  containerId: string
  containerName: string
  labels: Record<string, string>
  /** Nanoseconds since the epoch as a decimal text. */
  timeNano: string
}

/** Why the engine refused or could not; the reasons are those that conditions carry. */
export const engineFailureReasons = [
  'DockerUnreachable',
  'ImageMissing',
  'ImageNotFound',
  'ImagePullUnauthorized',
  'ImagePullRateLimited',
  'ImagePlatformMismatch',
  'RegistryUnreachable',
  'NameTaken',
  'AddressInUse',
  'NetworkMissing',
  'PortTaken',
  'CommandNotFound',
  'UserNotFound',
  'VolumeForeign',
  'VolumeInUse',
  'BindSourceMissing',
  'DeviceMissing',
  'ResourcesNotApplied',
  'DiskFull',
  'NotFound',
  'EngineError',
] as const
export type EngineFailureReason = (typeof engineFailureReasons)[number]

/** An engine's refusal in our own words. `retryable` false: the same request cannot succeed later. */
export class EngineFailure extends Error {
  constructor(
    readonly reason: EngineFailureReason,
    message: string,
    readonly retryable: boolean,
  ) {
    super(message)
    this.name = 'EngineFailure'
  }
}
