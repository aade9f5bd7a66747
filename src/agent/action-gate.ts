import { ActionRefused, openSigned, type PinnedKey, type SignedPayload } from '../adapters/crypto/signing.js'
import type { SignedAction } from '../reconcile/loop.js'
import type { FenceJournal } from './fences.js'
import { KeyedMutex } from './keyed-mutex.js'
import type { OwnEffects } from './own-effects.js'
import type { ResourceRef } from './ports.js'

export interface GateOptions {
  instance: string
  node: string
  pinnedKeys: PinnedKey[]
  fences: FenceJournal
  effects: OwnEffects
  /** The control plane's clock as this agent knows it. */
  controlNow(): number
  /** An action ended so late that whoever started it may wait for it no longer: its effect has to be looked at. */
  onLate(action: ResourceRef): void
}

/** The loop gives up an action whose agent sends no heartbeat for this long. */
const waitedForMs = 5_000

/**
 * What stands between Temporal and the engine: only actions that the control plane signed for this node run, one at a
 * time for each key and each container, and never one of an older pass after one of a newer.
 */
export class ActionGate {
  private readonly mutex = new KeyedMutex()

  constructor(private readonly options: GateOptions) {}

  async admit<T>(signed: SignedAction, signal: AbortSignal, run: (payload: SignedPayload) => Promise<T>): Promise<T> {
    const payload = this.open(signed)
    const { resource, container } = payload
    const releases = [await this.mutex.acquire(`key ${resource} ${fenceOf(payload)}`, signal)]
    try {
      // Always after the key's, so that two actions never wait for each other.
      if (container !== null) releases.push(await this.mutex.acquire(`container ${container}`, signal))
      this.open(signed)
      this.fence(payload)
      return await this.observed(payload, run).finally(() => this.tellLate(payload))
    } finally {
      for (const release of releases.reverse()) release()
    }
  }

  private tellLate({ kind, resource, signedAt }: SignedPayload): void {
    if (this.options.controlNow() - signedAt > waitedForMs) this.options.onLate({ kind, resource })
  }

  private open(signed: SignedAction): SignedPayload {
    const { instance, node, pinnedKeys } = this.options
    return openSigned(signed, pinnedKeys, { instance, node, now: this.options.controlNow() })
  }

  private fence(payload: SignedPayload): void {
    const { resource, key, pass, notAfter } = payload
    if (this.options.fences.admit({ resource, key: fenceOf(payload), pass, until: notAfter }, this.options.controlNow())) return
    throw new ActionRefused(`pass ${pass} of ${resource} is too late for ${key}: a newer pass has already acted`)
  }

  private async observed<T>(payload: SignedPayload, run: (payload: SignedPayload) => Promise<T>): Promise<T> {
    if (payload.container === null) return run(payload)
    const end = this.options.effects.begin(payload.container)
    try {
      return await run(payload)
    } finally {
      end()
    }
  }
}

/** Each configuration has a key and so a back-off of its own, and overwrites whichever there was: to the fence they are one. */
function fenceOf({ verb, key }: SignedPayload): string {
  return verb === 'loadIngressConfig' ? 'load' : key
}
