import type { Transaction } from './database.js'
import { refuse } from './write.js'

/** A value as rows keep it: sealed by whoever holds the key file, never by this layer. */
export interface SealedValue {
  keyId: string
  sealed: Uint8Array
}

/** A sealed value and the place that it was sealed for; it opens nowhere else. */
export interface PlacedValue extends SealedValue {
  place: string
}

/** A value in the hands of somebody who can seal it; asked inside the transaction, where its place is known. */
export interface SealableValue {
  seal(place: string): SealedValue
  /** False as well when what stands there does not open. */
  equals(sealed: PlacedValue): boolean
}

/** What is sealed under a key that a rotation has just dropped, or not yet made known, is not written. */
export interface KeyNotKnown {
  outcome: 'keyNotKnown'
  keyId: string
}

export const secretPlace = (secretId: string, version: number): string => `SecretVersion:${secretId}:${version}`
export const credentialPlace = (credentialId: string): string => `RegistryCredential:${credentialId}`

/**
 * Seals under a key that cannot be dropped before this transaction ends: a rotation deletes the key's row before it
 * counts what names the key, and waits here.
 */
export async function sealUnderKnownKey(tx: Transaction, value: SealableValue, place: string): Promise<{ keyId: string; sealed: Uint8Array<ArrayBuffer> }> {
  const { keyId, sealed } = value.seal(place)
  const known = await tx.$queryRaw<object[]>`SELECT 1 AS known FROM "KeyCheck" WHERE "keyId" = ${keyId} FOR KEY SHARE`
  if (known.length === 0) refuse({ outcome: 'keyNotKnown', keyId } satisfies KeyNotKnown)
  return { keyId, sealed: Uint8Array.from(sealed) }
}
