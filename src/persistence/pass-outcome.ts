import type { ConditionChange } from '../reconcile/condition.js'
import type { ResourceView } from '../reconcile/controller.js'
import { toPlainText } from '../reconcile/name.js'
import { announce, changesChannel } from './announce.js'
import type { Transaction } from './database.js'
import { makeIngressesOfDue } from './domain-claims.js'
import type { PassOutcome } from './pass-store.js'

/** Writes what a pass leaves behind, under the row's lock. */
export async function writeOutcome(
  tx: Transaction,
  resource: ResourceView,
  pass: number,
  outcome: PassOutcome,
  now: number,
): Promise<void> {
  const at = new Date(now)
  if (outcome.finalize) return await bury(tx, resource, outcome, at)
  await writeRows(tx, resource, pass, outcome, at)
  if (outcome.decision.wakes) await makeDependantsDue(tx, resource, at)
  if (outcome.concernsOthers) await makeIngressesOfDue(tx, resource.id, at)
}

async function bury(tx: Transaction, resource: ResourceView, { events }: PassOutcome, at: Date): Promise<void> {
  const { id, projectId, generation } = resource
  await tx.$executeRaw`
    INSERT INTO "Tombstone" ("resourceId", kind, "projectId", name, "removesVolumes", "deletedAt")
    SELECT id, kind, "projectId", name, "removesVolumes", ${at} FROM "Resource" WHERE id = ${id}`
  await tx.event.createMany({
    data: events.map((e) => ({ ...e, message: toPlainText(e.message), resourceId: id, projectId, generation, at })),
  })
  await tx.resource.delete({ where: { id } })
  await announce(tx, id)
}

/**
 * One statement for all of it: every pass of every resource comes by here, and most of what a statement costs is its way
 * there. Its parts touch different rows, so their order does not matter.
 */
async function writeRows(tx: Transaction, resource: ResourceView, pass: number, outcome: PassOutcome, at: Date): Promise<void> {
  const { id, projectId, generation } = resource
  const { decision, lastError, nextPassDueAt, observedGeneration, droppedConditions, failures, events } = outcome
  const changed = outcome.conditions.filter((c) => c.changed)
  const news = changed.length > 0 || events.length > 0
  await tx.$executeRaw`
    WITH pass AS (
      UPDATE "Resource" SET decision = ${jsonText(decision)}::jsonb, "decisionPass" = ${pass}, "lastPassAt" = ${at},
        "lastError" = ${lastError && toPlainText(lastError)}, "nextPassDueAt" = ${new Date(nextPassDueAt)},
        "observedGeneration" = coalesce(${observedGeneration}::int, "observedGeneration")
      WHERE id = ${id}
    ), conditions AS (
      INSERT INTO "Condition" ("resourceId", type, status, reason, message, "observedGeneration", "lastTransitionAt")
      SELECT ${id}, type, status, reason, message, "observedGeneration", at
      FROM jsonb_to_recordset(${rowsOf(changed)}::jsonb)
        AS c(type text, status text, reason text, message text, "observedGeneration" int, at timestamptz)
      ON CONFLICT ("resourceId", type) DO UPDATE SET status = excluded.status, reason = excluded.reason, message = excluded.message,
        "observedGeneration" = excluded."observedGeneration", "lastTransitionAt" = excluded."lastTransitionAt"
    ), dropped AS (
      DELETE FROM "Condition" WHERE "resourceId" = ${id} AND type = ANY(${droppedConditions}::text[])
    ), transitions AS (
      INSERT INTO "ConditionTransition" ("resourceId", type, status, reason, message, "observedGeneration", at)
      SELECT ${id}, type, status, reason, message, "observedGeneration", ${at}
      FROM ROWS FROM (jsonb_to_recordset(${rowsOf(outcome.conditions.filter((c) => c.transitioned))}::jsonb)
        AS (type text, status text, reason text, message text, "observedGeneration" int)) WITH ORDINALITY
      ORDER BY ordinality
    ), cleared AS (
      DELETE FROM "ActionFailure" WHERE "resourceId" = ${id} AND key = ANY(${failures.cleared}::text[])
    ), failed AS (
      INSERT INTO "ActionFailure" ("resourceId", key, generation, count, reason, message, retryable, "nextTryAt")
      SELECT ${id}, key, generation, count, reason, message, retryable, to_timestamp("nextTryAt" / 1000)
      FROM jsonb_to_recordset(${jsonText(failures.set)}::jsonb)
        AS f(key text, generation int, count int, reason text, message text, retryable boolean, "nextTryAt" float8)
      ON CONFLICT ("resourceId", key) DO UPDATE SET generation = excluded.generation, count = excluded.count,
        reason = excluded.reason, message = excluded.message, retryable = excluded.retryable, "nextTryAt" = excluded."nextTryAt"
    ), events AS (
      INSERT INTO "Event" ("resourceId", "projectId", severity, reason, message, generation, at)
      SELECT ${id}, ${projectId}, severity, reason, message, ${generation}, ${at}
      FROM ROWS FROM (jsonb_to_recordset(${jsonText(events)}::jsonb) AS (severity text, reason text, message text)) WITH ORDINALITY
      ORDER BY ordinality
    )
    SELECT pg_notify(${changesChannel}, ${id})::text WHERE ${news}`
}

/** As `jsonb_to_recordset` takes them. */
function rowsOf(changes: ConditionChange[]): string {
  return jsonText(changes.map(({ condition }) => ({ ...condition, at: new Date(condition.lastTransitionAt) })))
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? toPlainText(part) : part))
}

/** Locks follow the direction of `dependsOn`, which has no circles. */
async function makeDependantsDue(tx: Transaction, { projectId, name }: ResourceView, at: Date): Promise<void> {
  await tx.$executeRaw`
    UPDATE "Resource" SET "nextPassDueAt" = ${at}
    WHERE "projectId" = ${projectId} AND kind = 'application' AND jsonb_exists(spec -> 'dependsOn', ${name})`
}
