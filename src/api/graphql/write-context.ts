import { createHash } from 'node:crypto'
import { isPlainText } from '../../reconcile/name.js'
import { canonicalJson } from '../../reconcile/hash.js'
import type { WriteContext } from '../../persistence/write.js'
import type { Actor } from '../auth/actor.js'
import { abilityOf } from '../auth/ability.js'
import type { UserErrorValue } from './user-error.js'

const keyMost = 200

/** What a write has to know of who asked for it. `input` is what a repeated idempotency key must repeat. */
export function writeContext(
  operation: string,
  actor: Actor,
  nowMs: number,
  idempotency?: { key: string | null | undefined; input: unknown },
): WriteContext {
  const key = idempotency?.key
  return {
    actor: actor.tokenId,
    ability: abilityOf.Mutation[operation] ?? 'admin',
    operation,
    now: new Date(nowMs),
    ...(key === null || key === undefined
      ? {}
      : { idempotency: { key, inputHash: createHash('sha256').update(canonicalJson(idempotency?.input)).digest('hex') } }),
  }
}

/** An idempotency key is any text of 1 to 200 characters. */
export function keyErrors(key: string | null | undefined): UserErrorValue<'INVALID'>[] {
  if (key === null || key === undefined || (key.length >= 1 && key.length <= keyMost && isPlainText(key))) return []
  return [
    { field: ['idempotencyKey'], message: `must have 1 to ${keyMost} characters of Unicode text without NUL`, code: 'INVALID' },
  ]
}

export function keyReusedError(operation: string): UserErrorValue<'IDEMPOTENCY_KEY_REUSED'> {
  return {
    field: ['idempotencyKey'],
    message: `was used before, for ${operation} with other values: take a new key for every new wish`,
    code: 'IDEMPOTENCY_KEY_REUSED',
  }
}

export function goneSinceError(id: string): UserErrorValue<'IDEMPOTENCY_RESULT_GONE'> {
  return {
    field: ['idempotencyKey'],
    message: `${id}, which the first call with this key made, was deleted since: take a new key to create another one`,
    code: 'IDEMPOTENCY_RESULT_GONE',
  }
}
