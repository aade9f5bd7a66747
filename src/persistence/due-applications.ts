import type { Transaction } from './database.js'
import type { Prisma } from './generated/client.js'
import type { DueResource } from './pass-store.js'

/**
 * Makes applications of a project due now, so that the sweep finds what a nudge does not reach. Answers whom to nudge.
 * `concerned` is a condition on the row "Resource".
 */
export function makeDue(tx: Transaction, projectId: string, concerned: Prisma.Sql, now: Date): Promise<DueResource[]> {
  return tx.$queryRaw<DueResource[]>`
    UPDATE "Resource" r SET "nextPassDueAt" = ${now} FROM "Project" p
    WHERE p.id = r."projectId" AND r.id IN (
      SELECT id FROM "Resource"
      WHERE "projectId" = ${projectId} AND kind = 'application' AND NOT paused AND "deletionRequestedAt" IS NULL AND ${concerned}
      ORDER BY id FOR NO KEY UPDATE)
    RETURNING r.id, r.kind, p.name AS project, r.name`
}
