import type { Database, Transaction } from './database.js'

/** Who changes desired state, by which operation and when: it is written down beside the change, in its transaction. */
export interface WriteContext {
  /** Id of the token that asked, or a name such as `up` for the platform's own writes. */
  actor: string
  /** The ability that the operation needed. */
  ability: string
  /** The mutation's name, e.g. `applicationCreate`. */
  operation: string
  now: Date
  /** Given by the caller so that a repeated create answers as the first one did. */
  idempotency?: { key: string; inputHash: string }
}

/** An audit entry for what is no resource: projects, tokens. */
export async function auditPlain(
  tx: Transaction,
  context: WriteContext,
  subject: string,
  before: unknown,
  after: unknown,
): Promise<void> {
  const { actor, ability, operation, now } = context
  await tx.$executeRaw`
    INSERT INTO "AuditEntry" (actor, ability, operation, "resourceId", before, after, outcome, at)
    VALUES (${actor}, ${ability}, ${operation}, ${subject}, ${jsonText(before)}::jsonb, ${jsonText(after)}::jsonb, 'ok', ${now})`
}

/** An audit entry for an operation that had nothing to change: it was so already, or a key repeated an earlier call. */
export async function auditIdle(
  tx: Transaction,
  context: WriteContext,
  subject: { id: string; workflowId?: string | null },
  outcome: 'unchanged' | 'repeated',
): Promise<void> {
  const { actor, ability, operation, now } = context
  await tx.$executeRaw`
    INSERT INTO "AuditEntry" (actor, ability, operation, "resourceId", "workflowId", outcome, at)
    VALUES (${actor}, ${ability}, ${operation}, ${subject.id}, ${subject.workflowId ?? null}, ${outcome}, ${now})`
}

/** For a jsonb column: null stays the database's null, and does not become the JSON one. */
export function jsonText(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}

/** Ends a transaction without writing anything, with a typed answer instead of an error. */
class Refusal<R> extends Error {
  constructor(readonly answer: R) {
    super('refused')
  }
}

/** Inside `transact`: undoes everything and makes `answer` the result. */
export function refuse(answer: object | false): never {
  throw new Refusal(answer)
}

/** Runs `work` in a transaction; what `refuse` is given becomes the result of a transaction that wrote nothing. */
export async function transact<R>(db: Database, work: (tx: Transaction) => Promise<R>): Promise<R> {
  try {
    return await db.$transaction(work, { timeout: 10_000, maxWait: 5_000 })
  } catch (error) {
    if (error instanceof Refusal) return error.answer as R
    throw error
  }
}

export type KeyClaim =
  { outcome: 'fresh' } | { outcome: 'repeated'; resultId: string } | { outcome: 'keyReused'; operation: string }

/**
 * Takes the caller's idempotency key for `resultId`. A second transaction with the same key waits here until the first
 * one has committed, and then learns what it made.
 */
export async function claimKey(tx: Transaction, context: WriteContext, resultId: string): Promise<KeyClaim> {
  const { idempotency, actor, operation, now } = context
  if (!idempotency) return { outcome: 'fresh' }
  const { key, inputHash } = idempotency
  const { count } = await tx.idempotencyKey.createMany({
    data: [{ actor, key, operation, inputHash, resultId, createdAt: now }],
    skipDuplicates: true,
  })
  if (count === 1) return { outcome: 'fresh' }
  const first = await tx.idempotencyKey.findUniqueOrThrow({ where: { actor_key: { actor, key } } })
  return first.operation === operation && first.inputHash === inputHash
    ? { outcome: 'repeated', resultId: first.resultId }
    : { outcome: 'keyReused', operation: first.operation }
}
