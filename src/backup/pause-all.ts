import type pg from 'pg'
import { reconciledKinds } from '../reconcile/kind.js'
import { restoredReason } from '../reconcile/restored.js'

/** Any fixed moment before the first installation. */
const passEpochMs = Date.UTC(2025, 0, 1)

export interface PausedCount {
  resources: number
}

/**
 * After a restore the rows say what was wanted at some earlier time. Nothing acts on that before a person has looked:
 * every loop is paused (what a person had paused keeps that reason), and what its conditions claim is taken back, because nobody has looked since.
 *
 * Passes count on from the seconds since a fixed day: higher than any number that an agent has seen from the lost
 * database or from an earlier restore, so that no agent takes what is new for something old.
 */
export async function pauseAll(client: pg.ClientBase, madeAt: Date, now: Date): Promise<PausedCount> {
  const reason = restoredReason(madeAt)
  const message = `${reason}; what runs goes on running, and nobody has looked at it since`
  const { rows } = await client.query<{ count: string }>(
    `WITH paused AS (
       UPDATE "Resource" SET paused = true, "pausedReason" = CASE WHEN paused THEN "pausedReason" ELSE $1 END, decision = NULL, "decisionPass" = 0,
         "passNumber" = greatest("passNumber" + 1, $2::int), "nextPassDueAt" = $3, "updatedAt" = $3
       WHERE kind = ANY($4) RETURNING id, "projectId", generation
     ), conditions AS (
       UPDATE "Condition" c SET status = 'Unknown', reason = 'Restored', message = $5, "lastTransitionAt" = $3
       FROM paused p WHERE c."resourceId" = p.id AND c.type IN ('Ready', 'Available')
       RETURNING c."resourceId", c.type, c."observedGeneration"
     ), transitions AS (
       INSERT INTO "ConditionTransition" ("resourceId", type, status, reason, message, "observedGeneration", at)
       SELECT "resourceId", type, 'Unknown', 'Restored', $5, "observedGeneration", $3 FROM conditions
     ), events AS (
       INSERT INTO "Event" ("resourceId", "projectId", severity, reason, message, generation, at)
       SELECT id, "projectId", 'Warning', 'Restored', $1, generation, $3 FROM paused
     ), audit AS (
       INSERT INTO "AuditEntry" (actor, ability, operation, after, outcome, at)
       VALUES ('restore', 'admin', 'restore', json_build_object('backupMadeAt', $6::text)::jsonb, 'ok', $3)
     )
     SELECT count(*) AS count FROM paused`,
    [reason, Math.floor((now.getTime() - passEpochMs) / 1_000), now, [...reconciledKinds], message, madeAt.toISOString()],
  )
  return { resources: Number(rows[0]?.count) }
}
