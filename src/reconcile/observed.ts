import type { ResourceLimits, ResultOf } from './action.js'

/** What was read from one node a moment ago for one resource. */

export const ContainerState = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const
export type ContainerState = (typeof ContainerState)[number]

export interface ObservedContainer {
  id: string
  name: string
  release: number
  replica: number
  specHash: string
  imageId: string
  state: ContainerState
  exitCode: number | null
  /** It ended while its engine or agent was away, perhaps by a reboot: no evidence against the program. Absent = false. */
  endedUnseen?: boolean
  oomKilled: boolean
  /** Milliseconds since the epoch by the node's clock, already corrected by the agent's clock offset; null before the first start. */
  startedAt: number | null
  restartCount: number
  restartPolicy: string
  address: string | null
  /** What the prober found last; `ready` is null while nothing is known (also when there is no probe). */
  probe: {
    ready: boolean | null
    message: string
    /** false: its present run was not asked yet. Absent = it was. */
    asked?: boolean
    /** false: it fails its liveness probe. Absent or null = it has none, or nothing is known. */
    live?: boolean | null
    /** What the liveness probe said last. */
    liveMessage?: string
  }
  /** Absent: an agent that does not tell. */
  limits?: ResourceLimits
  /** true: a folder of the agent that it mounts was removed and made again, so that it reads one that is gone. */
  foldersLost?: boolean
  /** What it is for when it is no replica. Absent = a replica. */
  purpose?: 'pre-deploy'
}

export interface NodeObservation {
  node: string
  unreachable: null
  /** When it was read, by the clock of `startedAt`: it may be decided on much later. Absent = just now. */
  observedAt?: number
  containers: ObservedContainer[]
  /** By reference as asked: the local image's id, or null when it is not there. */
  images: Record<string, string | null>
  /** Revision of the resource's endpoints that DNS and ingress files on this node show; null when there are none. */
  published: string | null
  /** Established connections from this node's ingress, by container address. */
  connections: Record<string, number>
  /** Names of the resource's volumes; absent when nobody asked, and from an agent that does not tell. */
  volumes?: string[]
  /** What the image that was asked for means now; absent when nobody asked, or when it would have taken long. */
  resolved?: { image: string } & ResultOf['resolveImage']
  /** Of the node's ingress; absent when nobody asked. */
  ingress?: ObservedIngress
}

export interface ObservedIngress {
  /** SHA-256 of the canonical JSON of what Caddy has loaded; null when it does not answer. */
  loaded: string | null
  /** By host, of those that were asked for: what a client that connects now is shown. */
  certificates: Record<string, CertificateState>
}

/** What was found out about the certificate that a host is served with. */
export interface CertificateState {
  issuer: string | null
  /** Milliseconds since the epoch. */
  notAfter: number | null
  /** Why there is none, or why it is not renewed; null = all is well. */
  error: string | null
}

export interface UnreachableNode {
  node: string
  /** AgentSilent: no answer. DockerUnreachable: the agent answers, its engine does not. NodeAway: heartbeat is stale, not asked. */
  unreachable: 'AgentSilent' | 'DockerUnreachable' | 'NodeAway'
  message: string
}

export type Observation = NodeObservation | UnreachableNode

/** What an observe activity is asked for. */
export interface ObserveRequest {
  node: string
  kind: string
  resource: string
  images: string[]
  /** Addresses whose ingress connections matter now. */
  connectionsTo: string[]
  /** An image whose digest is wanted along the way: saves a pass when the answer is quick, and is left to an action when not. */
  resolve?: string
  /** The node's ingress is looked at, and the certificates of these hosts. */
  ingress?: { httpsPort: number; hosts: string[] }
  /** Its volumes matter now. */
  volumes?: true
}

export function reachable(observed: Observation[]): NodeObservation[] {
  return observed.filter((o): o is NodeObservation => o.unreachable === null)
}
