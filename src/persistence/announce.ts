import type { Transaction } from './database.js'

/** PostgreSQL channel on which changed resources are told, by id only; listeners read the row themselves. */
export const changesChannel = 'evenkeel_changes'

/** Tells subscribers that a resource changed; delivered when the transaction commits, and never when it does not. */
export async function announce(tx: Transaction, resourceId: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_notify(${changesChannel}, ${resourceId})`
}
