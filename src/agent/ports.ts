import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineContainer, EngineNetwork } from '../adapters/docker/engine.js'
import type { ArgsOf, ContainerSpec, Publication, ResultOf, SecretRef } from '../reconcile/action.js'
import type { ObservedIngress, ObserveRequest } from '../reconcile/observed.js'

/** What the executor needs of the rest of the agent: narrow, so that the simulation can stand in for each. */

export interface ResourceRef {
  kind: string
  resource: string
}

export interface Clock {
  /** Milliseconds since the epoch by this machine's own clock. */
  now(): number
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await sleep(ms, undefined, signal ? { signal } : {})
    } catch (error) {
      throw signal?.aborted ? signal.reason : error
    }
  },
}

export interface ProbeState {
  /** null = nothing is known: there is no probe, or the agent is younger than the container and has no verdict yet. */
  ready: boolean | null
  message: string
  /** false: the container's present run was not asked yet. */
  asked?: boolean
  /** Absent: it has no liveness probe. null = nothing is known: it is asked from its first Ready on. */
  live?: boolean | null
  liveMessage?: string
}

export interface Readiness {
  /** Tells the prober of a container as it is now; called again and again with the newest state. */
  track(container: EngineContainer): void
  stateOf(container: EngineContainer): ProbeState
  /**
   * An action is about to wait for the container of that name: that it turns ready is the action's to tell, also when it
   * does so before the wait begins, until the function is called that this answers. One action at a time for each name.
   */
  expectReady(name: string): () => void
  /** Resolves with true at the first success, with false when it ends or `ms` are over. */
  awaitReady(container: EngineContainer, ms: number, signal: AbortSignal): Promise<boolean>
}

export interface EndpointReaders {
  /** Returns when DNS and ingress on this node show exactly this; null takes everything of the resource away. */
  publish(resource: string, publication: Publication | null, revision: string, signal: AbortSignal): Promise<void>
  /** Revision that is live; null when there is none, or when its files were lost or damaged. */
  liveRevision(resource: string): string | null
  /** Whether the resource's endpoints, as they are shown here, name this address. */
  names(resource: string, address: string): boolean
}

export interface NodeNetworkSource {
  /** The node's network, made when it is missing. */
  ensure(): Promise<EngineNetwork>
  /** It turned out to be gone: the next `ensure` looks again. */
  forget(): void
}

/** Secrets' values, which the agent has from the control plane only and keeps nowhere. */
export interface SecretSource {
  /** By `secretKey`, exactly as they were set. Fails with RequiredSecretMissing. */
  values(resource: string, refs: SecretRef[], signal: AbortSignal): Promise<Map<string, string>>
}

export interface RegistryCredential {
  /** The only registry that it is for. */
  host: string
  username: string
  password: string
}

export interface CredentialSource {
  /** By the name that the resource's project gave it. Fails with CredentialMissing. */
  credential(resource: string, name: string, signal: AbortSignal): Promise<RegistryCredential>
}

/** The ingress of this node. */
export interface IngressNode {
  load(args: ArgsOf<'loadIngressConfig'>, signal: AbortSignal): Promise<ResultOf['loadIngressConfig']>
  /** Never fails: what does not answer has loaded nothing. */
  observe(request: NonNullable<ObserveRequest['ingress']>): Promise<ObservedIngress>
}

/** Folders of the agent that containers of the platform mount. */
export interface StateFolderSource {
  mounted(spec: ContainerSpec): ContainerSpec
  lost(labels: Record<string, string>): boolean
}

export interface ArtifactSource {
  /** By its SHA-256 in hex; what comes is what was asked for. */
  get(sha256: string, signal: AbortSignal): Promise<Buffer>
}

export interface ArtifactSink {
  /** Keeps the bytes in the control plane; answers their SHA-256 in hex. */
  put(content: Buffer, signal: AbortSignal): Promise<string>
}

/** Remembers pulled images for their later clean-up and knows whether there is room for more. */
export interface PullPolicy {
  /** Throws DiskFull when no image may be pulled now. */
  admit(): void
  pulled(reference: string, imageId: string): void
}
