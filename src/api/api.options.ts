import type { Logger } from 'pino'
import type { KeyFile } from '../adapters/crypto/key-file.js'
import type { Database } from '../persistence/database.js'
import type { DueResource } from '../persistence/pass-store.js'
import type { Settings } from '../settings.js'
import type { PreviewPort } from './application/preview.port.js'
import type { Limits } from './limits/limits.js'

/** Says «look again» to one resource's workflow. */
export interface NudgePort {
  nudge(resource: DueResource): Promise<void>
}

/** Fails when Temporal does not answer. */
export interface TemporalProbe {
  check(): Promise<void>
}

/** Everything that the API takes from outside: made in `main.ts`, or by a test. */
export interface ApiOptions {
  settings: Settings
  database: Database
  /** For the one connection that listens; the pool is for everything else. */
  databaseUrl: string
  /** Seals and opens secrets. */
  keys: KeyFile
  nudges: NudgePort
  temporal: TemporalProbe
  /** null until previews are wired: `applicationPlan` then says so. */
  previews: PreviewPort | null
  /** The node that this machine is, when an agent belongs to this installation; readiness asks for its canary. */
  localNodeId: string | null
  limits: Limits
  /** The control plane's clock, milliseconds since the epoch. */
  clock(): number
  log: Logger
}

/** Injection token of ApiOptions. */
export const API_OPTIONS = Symbol('evenkeel.api.options')
