import type { CertificateState } from '../observed.js'
import type { IngressSpec, IngressTarget, LeftOut } from './spec.js'

/** Caddy refused a configuration because of a host. */
export interface Refusal {
  /** Caddy's words. */
  message: string
  /** Hash of all that the configuration said of the host. */
  part: string
  at: number
}

/** A claimed domain and what was told of it last. */
export interface DomainState {
  host: string
  path: string
  resource: string
  changedAt: number
  routed: boolean
  reason: string
  message: string
  certificate: (CertificateState & { seenAt: number }) | null
  refusal: Refusal | null
}

export interface IngressDesired {
  spec: IngressSpec
  /** Id of its node; '' while there is none. */
  node: string
  /** Everything with domains that lives on its node. */
  targets: IngressTarget[]
  domains: DomainState[]
  /** SHA-256 of the configuration that this pass has stored as an artifact; null = none yet. */
  stored: string | null
}

/** What a domain's owner is told of its route. */
export type RouteReason = 'Routed' | 'Pending' | 'ConfigRefused' | LeftOut['reason']

export type IngressRecord =
  | { type: 'config'; sha256: string; content: string }
  | { type: 'route'; resource: string; host: string; path: string; routed: boolean; reason: RouteReason; message: string }
  | { type: 'refused'; resource: string; host: string; path: string; message: string; part: string }
  | { type: 'certificate'; host: string; certificate: CertificateState }
