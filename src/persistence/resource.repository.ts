import type { Kind } from '../reconcile/kind.js'
import { isReconciledKind, reconciledKinds, workflowIdOf } from '../reconcile/kind.js'
import { canonicalJson } from '../reconcile/hash.js'
import { restoredPrefix } from '../reconcile/restored.js'
import { withoutHashes } from '../reconcile/ingress/without-hashes.js'
import { changesChannel } from './announce.js'
import type { Database, Transaction } from './database.js'
import { claimDomains, claimsDomains, type TakenDomain } from './domain-claims.js'
import { Prisma } from './generated/client.js'
import { newResourceId } from './id.js'
import type { DueResource } from './pass-store.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import { auditIdle, claimKey, jsonText, refuse, transact, type WriteContext } from './write.js'

/** A resource as it stands in its row. `spec` was checked by its kind's schema when it was written. */
export interface ResourceRow {
  id: string
  kind: string
  projectId: string
  name: string
  spec: unknown
  generation: number
  observedGeneration: number
  passNumber: number
  lastPassAt: Date | null
  lastError: string | null
  nextPassDueAt: Date | null
  paused: boolean
  pausedReason: string | null
  deletionRequestedAt: Date | null
  /** Its deletion takes its volumes with it. */
  removesVolumes: boolean
  createdAt: Date
  updatedAt: Date
}

/** Everything but the stored decision, which only passes read. */
const resourceColumns = Prisma.raw(
  `id, kind, "projectId", name, spec, generation, "observedGeneration", "passNumber", "lastPassAt", "lastError",
  "nextPassDueAt", paused, "pausedReason", "deletionRequestedAt", "removesVolumes", "createdAt", "updatedAt"`,
)

export interface ResourceDraft {
  kind: Kind
  projectId: string
  name: string
  spec: object
  /** Given when something of that id exists already, e.g. containers of an orphan. */
  id?: string
  paused?: { reason: string }
  /** Born to be torn down: its normal workflow removes what is left of it. */
  deleting?: boolean
  removesVolumes?: boolean
}

export type CreateResult =
  /** `due`: whom else to nudge. */
  | { outcome: 'created'; resource: ResourceRow; due: DueResource[] }
  | { outcome: 'repeated'; resource: ResourceRow }
  | { outcome: 'projectNotFound' }
  | { outcome: 'domainTaken'; taken: TakenDomain[] }
  | { outcome: 'nameTaken'; holder: { id: string; kind: string } }
  | { outcome: 'keyReused'; operation: string }
  /** The key's first call made it, and it was deleted since. */
  | { outcome: 'goneSince'; id: string }

export type ChangeResult =
  /** `due`: whom else to nudge. */
  | { outcome: 'changed'; resource: ResourceRow; due: DueResource[] }
  | { outcome: 'domainTaken'; resource: ResourceRow; taken: TakenDomain[] }
  | { outcome: 'unchanged'; resource: ResourceRow }
  | { outcome: 'notFound' }
  | { outcome: 'stale'; resource: ResourceRow }
  | { outcome: 'deleting'; resource: ResourceRow }
  | { outcome: 'keyReused'; operation: string }

/** A refusal of the caller's own, found under the locks of the write. */
export interface Refused<Reason> {
  outcome: 'refused'
  refused: Reason
}

export interface NameKey {
  name: string
  id: string
}

/** Which resource a change is for. `kind` null = any that has a loop. */
export interface ResourceSelector {
  id: string
  kind: Kind | null
}

/** What a patch makes of a spec: the new one, or a refusal of the caller's own. */
export type SpecChange<Reason> = { spec: object } | { refused: Reason }

/** Looks, in the transaction of a create, at what it would collide with; null = with nothing. */
export type CreateCheck<Reason> = (tx: Transaction) => Promise<Reason | null>

/** How a resource is to be deleted. */
export interface Deletion<Reason> {
  /** null = as it was said before, or else no. */
  removesVolumes: boolean | null
  check: DeletionCheck<Reason>
  /** What is told beside the request. */
  message(resource: ResourceRow, removesVolumes: boolean): string
}

/** Looks, under the row's lock, at what keeps a resource from being deleted; null = nothing. */
export type DeletionCheck<Reason> = (tx: Transaction, resource: ResourceRow) => Promise<Reason | null>

/** Desired state of all kinds. Every write leaves revision, audit entry and event in the same transaction. */
export class ResourceRepository {
  constructor(private readonly db: Database) {}

  async get(id: string, kind: Kind): Promise<ResourceRow | null> {
    const [row] = await this.db.$queryRaw<
      ResourceRow[]
    >`SELECT ${resourceColumns} FROM "Resource" WHERE id = ${id} AND kind = ${kind}`
    return row ?? null
  }

  async getMany(ids: readonly string[]): Promise<ResourceRow[]> {
    return this.db.$queryRaw`SELECT ${resourceColumns} FROM "Resource" WHERE id = ANY(${[...ids]}::text[])`
  }

  /** Ascending by name, then id. */
  async list(
    filter: { kind: Kind; projectId?: string | undefined; name?: string | undefined },
    { first, after }: PageRequest<NameKey>,
  ): Promise<Page<ResourceRow>> {
    const { kind, projectId = null, name = null } = filter
    const rows = await this.db.$queryRaw<ResourceRow[]>`
      SELECT ${resourceColumns} FROM "Resource"
      WHERE kind = ${kind} AND (${projectId}::text IS NULL OR "projectId" = ${projectId}) AND (${name}::text IS NULL OR name = ${name})
        AND (${after?.name ?? null}::text IS NULL OR (name, id) > (${after?.name ?? null}::text, ${after?.id ?? null}::text))
      ORDER BY name, id LIMIT ${first + 1}`
    return pageOf(rows, first)
  }

  /** Without an idempotency key, a check and domains one statement is the whole transaction. */
  create(draft: ResourceDraft, context: WriteContext): Promise<CreateResult>
  create<Reason>(
    draft: ResourceDraft,
    context: WriteContext,
    check: CreateCheck<Reason> | null,
  ): Promise<CreateResult | Refused<Reason>>
  create<Reason>(
    draft: ResourceDraft,
    context: WriteContext,
    check: CreateCheck<Reason> | null = null,
  ): Promise<CreateResult | Refused<Reason>> {
    return context.idempotency || check || claimsDomains(draft.kind, draft.spec)
      ? transact<CreateResult | Refused<Reason>>(this.db, (tx) => createResource(tx, draft, context, check))
      : insertResource(this.db, draft, draft.id ?? newResourceId(draft.kind), context)
  }

  /** What `create` would answer now: it is made and taken back in one transaction, so that nothing is written and nobody is told. */
  tryCreate<Reason>(
    draft: ResourceDraft,
    context: WriteContext,
    check: CreateCheck<Reason>,
  ): Promise<CreateResult | Refused<Reason>> {
    return transact<CreateResult | Refused<Reason>>(this.db, async (tx) =>
      refuse(await createResource(tx, draft, context, check)),
    )
  }

  /**
   * Changes a spec under the row's lock. An equal spec changes nothing and makes no generation; a given
   * `expectedGeneration` that is not the row's refuses. What an idempotency key has done already is not done again.
   */
  patch<Reason>(
    { id, kind }: { id: string; kind: Kind },
    expectedGeneration: number | null,
    change: (spec: unknown, resource: ResourceRow, tx: Transaction) => SpecChange<Reason> | Promise<SpecChange<Reason>>,
    context: WriteContext,
    /** Takes locks that others take before this row's. */
    prepare?: (tx: Transaction) => Promise<void>,
  ): Promise<ChangeResult | Refused<Reason>> {
    return transact<ChangeResult | Refused<Reason>>(this.db, async (tx) => {
      await prepare?.(tx)
      const resource = await lock(tx, { id, kind })
      if (!resource) return { outcome: 'notFound' }
      const claim = await claimKey(tx, context, id)
      if (claim.outcome === 'keyReused') return claim
      if (claim.outcome === 'repeated') return unchanged(tx, resource, context, 'repeated')
      // From here on a refusal undoes the claim, so that the key stays free.
      if (expectedGeneration !== null && expectedGeneration !== resource.generation) refuse({ outcome: 'stale', resource })
      if (resource.deletionRequestedAt) refuse({ outcome: 'deleting', resource })
      const changed = await change(resource.spec, resource, tx)
      if ('refused' in changed) refuse({ outcome: 'refused', refused: changed.refused })
      const { spec } = changed
      if (canonicalJson(spec) === canonicalJson(resource.spec)) return unchanged(tx, resource, context)
      const { taken, due } = await claimDomains(tx, resource, resource.spec, spec, context.now)
      if (taken.length > 0) refuse({ outcome: 'domainTaken', resource, taken })
      const generation = resource.generation + 1
      const told = {
        reason: 'DesiredChanged',
        message: `generation ${generation} was asked for`,
        before: resource.spec,
        after: spec,
      }
      return writeChange(tx, resource, { spec, generation }, context, told, due)
    })
  }

  /** A paused resource is observed no more and changed by nobody, until it is resumed. */
  setPaused(selector: ResourceSelector, paused: boolean, reason: string | null, context: WriteContext): Promise<ChangeResult> {
    return transact<ChangeResult>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      if (resource.paused === paused && resource.pausedReason === reason) return unchanged(tx, resource, context)
      const pausedReason = paused ? reason : null
      return writeChange(tx, resource, { paused, pausedReason, nextPassDueAt: context.now }, context, {
        reason: paused ? 'Paused' : 'Resumed',
        message: paused ? `paused${reason ? `: ${reason}` : ''}` : 'resumed',
        before: { paused: resource.paused, reason: resource.pausedReason },
        after: { paused, reason: pausedReason },
      })
    })
  }

  /** Makes it a new generation, so that old failures and holds do not keep the teardown back. Asking twice changes nothing. */
  requestDeletion(
    selector: { id: string; kind: Kind },
    expectedGeneration: number | null,
    context: WriteContext,
  ): Promise<ChangeResult>
  requestDeletion<Reason>(
    selector: { id: string; kind: Kind },
    expectedGeneration: number | null,
    context: WriteContext,
    deletion: Deletion<Reason>,
  ): Promise<ChangeResult | Refused<Reason>>
  requestDeletion<Reason>(
    selector: { id: string; kind: Kind },
    expectedGeneration: number | null,
    context: WriteContext,
    deletion: Deletion<Reason> | null = null,
  ): Promise<ChangeResult | Refused<Reason>> {
    return transact<ChangeResult | Refused<Reason>>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      const removesVolumes = deletion?.removesVolumes ?? resource.removesVolumes
      const again = resource.deletionRequestedAt !== null
      if (again && removesVolumes === resource.removesVolumes) return unchanged(tx, resource, context)
      if (expectedGeneration !== null && expectedGeneration !== resource.generation) return { outcome: 'stale', resource }
      const refused = again ? null : ((await deletion?.check(tx, resource)) ?? null)
      if (refused !== null) return { outcome: 'refused', refused }
      const change = {
        deletionRequestedAt: resource.deletionRequestedAt ?? context.now,
        removesVolumes,
        generation: resource.generation + 1,
        paused: false,
        pausedReason: null,
      }
      // At once, and not when the last of it is gone: the next one may have its domains although its node is away.
      const { due } = await claimDomains(tx, resource, again ? null : resource.spec, null, context.now)
      const told = {
        reason: 'DeletionRequested',
        message: deletion?.message(resource, removesVolumes) ?? 'its deletion was asked for',
        before: resource.spec,
        after: deletion ? { removesVolumes } : null,
      }
      return writeChange(tx, resource, change, context, told, due)
    })
  }

  /** Keeps an action from running until the generation changes, and so cancels it where it runs. */
  holdAction(selector: ResourceSelector, key: string, context: WriteContext): Promise<ChangeResult> {
    return transact<ChangeResult>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      const { id: resourceId, generation } = resource
      await tx.$executeRaw`
        INSERT INTO "ActionHold" ("resourceId", key, generation, actor, "createdAt")
        VALUES (${resourceId}, ${key}, ${generation}::int, ${context.actor}, ${context.now})
        ON CONFLICT ("resourceId", key) DO UPDATE SET generation = excluded.generation, actor = excluded.actor, "createdAt" = excluded."createdAt"`
      return writeChange(tx, resource, { nextPassDueAt: context.now }, context, {
        reason: 'ActionCancelled',
        message: `${key} was cancelled; it is not tried again before the next change`,
        before: null,
        after: { key },
      })
    })
  }

  /** What a restore paused and nobody has resumed since. */
  async pausedByRestore(): Promise<string[]> {
    const where = { paused: true, pausedReason: { startsWith: restoredPrefix }, kind: { in: [...reconciledKinds] } }
    const rows = await this.db.resource.findMany({ where, orderBy: { id: 'asc' }, select: { id: true } })
    return rows.map((r) => r.id)
  }

  /** Makes every resource due now, so that the sweep finds what a nudge does not reach. Answers whom to nudge. */
  async makeAllDue(now: Date): Promise<DueResource[]> {
    return this.db.$queryRaw<DueResource[]>`
      UPDATE "Resource" r SET "nextPassDueAt" = ${now} FROM "Project" p
      WHERE p.id = r."projectId" AND r.id IN (
        -- ingresses last, as everybody locks them who writes domains
        SELECT id FROM "Resource" WHERE NOT paused AND kind = ANY(${[...reconciledKinds]}) ORDER BY kind = 'ingress', id FOR NO KEY UPDATE)
      RETURNING r.id, r.kind, p.name AS project, r.name`
  }

  /** What a nudge has to know of each resource that exists. */
  async addressesOf(ids: readonly string[]): Promise<DueResource[]> {
    if (ids.length === 0) return []
    return this.db.$queryRaw<DueResource[]>`
      SELECT r.id, r.kind, p.name AS project, r.name FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
      WHERE r.id = ANY(${[...ids]})`
  }

  /** Makes the sweep look after a resource: what a lost nudge was about may be written nowhere. */
  async lookSoon(id: string, now: Date): Promise<void> {
    await this.db.resource.updateMany({ where: { id }, data: { nextPassDueAt: now } })
  }

  /** Resources of a filter that changed at or after `since`, also those that are gone: for a listener that missed something. */
  async changedSince(since: Date, filter: { ids?: readonly string[]; projectId?: string }, limit: number): Promise<string[]> {
    const ids = filter.ids ? [...filter.ids] : null
    const rows = await this.db.$queryRaw<{ id: string }[]>`
      SELECT id FROM (
        SELECT id FROM "Resource" r
        WHERE (${ids}::text[] IS NULL OR id = ANY(${ids}::text[])) AND (${filter.projectId ?? null}::text IS NULL OR "projectId" = ${filter.projectId ?? null})
          AND ("updatedAt" >= ${since} OR "lastPassAt" >= ${since})
        UNION ALL
        SELECT "resourceId" FROM "Tombstone"
        WHERE (${ids}::text[] IS NULL OR "resourceId" = ANY(${ids}::text[])) AND (${filter.projectId ?? null}::text IS NULL OR "projectId" = ${filter.projectId ?? null})
          AND "deletedAt" >= ${since}
      ) c ORDER BY id LIMIT ${limit}`
    return rows.map((r) => r.id)
  }

  /** Project of a resource that exists or left a tombstone. */
  async projectIdOf(id: string): Promise<string | null> {
    const rows = await this.db.$queryRaw<{ projectId: string | null }[]>`
      SELECT coalesce((SELECT "projectId" FROM "Resource" WHERE id = ${id}),
        (SELECT "projectId" FROM "Tombstone" WHERE "resourceId" = ${id})) AS "projectId"`
    return rows[0]?.projectId ?? null
  }

  /** Who asked for the spec that stands now. */
  async lastActor(id: string): Promise<string | null> {
    const revision = await this.db.revision.findFirst({
      where: { resourceId: id },
      orderBy: { generation: 'desc' },
      select: { actor: true },
    })
    return revision?.actor ?? null
  }

  /** Counts for metrics. */
  async counts(): Promise<{ kind: string; ready: string; outOfStep: boolean; count: number }[]> {
    return this.db.$queryRaw`
      SELECT r.kind, coalesce(c.status, 'Unknown') AS ready, r.generation <> r."observedGeneration" AS "outOfStep", count(*)::int AS count
      FROM "Resource" r LEFT JOIN "Condition" c ON c."resourceId" = r.id AND c.type = 'Ready'
      GROUP BY 1, 2, 3`
  }
}

/** Inside a transaction of another repository. */
export async function createResource(
  tx: Transaction,
  draft: ResourceDraft,
  context: WriteContext,
  check: CreateCheck<unknown> | null = null,
): Promise<CreateResult> {
  const id = draft.id ?? newResourceId(draft.kind)
  const claim = await claimKey(tx, context, id)
  if (claim.outcome === 'keyReused') return claim
  if (claim.outcome === 'repeated') {
    const [resource] = await tx.$queryRaw<ResourceRow[]>`SELECT ${resourceColumns} FROM "Resource" WHERE id = ${claim.resultId}`
    if (!resource) return { outcome: 'goneSince', id: claim.resultId }
    await auditIdle(tx, context, { id: resource.id, workflowId: workflowOf(resource) }, 'repeated')
    return { outcome: 'repeated', resource }
  }
  const refused = (await check?.(tx)) ?? null
  if (refused !== null) refuse({ outcome: 'refused', refused })
  const made = await insertResource(tx, draft, id, context)
  if (made.outcome !== 'created') refuse(made) // so that the key stays free
  const { taken, due } = await claimDomains(tx, made.resource, null, draft.deleting ? null : draft.spec, context.now)
  if (taken.length > 0) refuse({ outcome: 'domainTaken', taken })
  return { ...made, due }
}

/**
 * Row, revision, audit entry, event and announcement in one statement. The project is locked against its deletion, and
 * a name that is taken makes nothing.
 */
async function insertResource(
  db: Database | Transaction,
  draft: ResourceDraft,
  id: string,
  context: WriteContext,
): Promise<CreateResult> {
  const { kind, projectId, name, spec, paused, deleting, removesVolumes = false } = draft
  const { actor, ability, operation, now } = context
  const workflowId = workflowOf({ kind, id })
  const [row] = await db.$queryRaw<({ project: string } & { [K in keyof ResourceRow]: ResourceRow[K] | null })[]>`
    WITH project AS (SELECT id FROM "Project" WHERE id = ${projectId} FOR KEY SHARE),
    made AS (
      INSERT INTO "Resource" (id, kind, "projectId", name, spec, "observedGeneration", paused, "pausedReason", "deletionRequestedAt", "removesVolumes", "createdAt", "updatedAt")
      SELECT ${id}, ${kind}, project.id, ${name}, ${JSON.stringify(spec)}::jsonb,
        ${isReconciledKind(kind) ? 0 : 1}::int, -- a kind without a loop has nothing to observe: it is never out of step
        ${paused !== undefined}::boolean, ${paused?.reason ?? null}, ${deleting ? now : null}::timestamptz, ${removesVolumes}::boolean,
        ${now}, ${now}
      FROM project
      ON CONFLICT DO NOTHING
      RETURNING ${resourceColumns}
    ), revision AS (
      INSERT INTO "Revision" ("resourceId", generation, spec, actor, "createdAt") SELECT id, generation, spec, ${actor}, ${now} FROM made
    ), audit AS (
      INSERT INTO "AuditEntry" (actor, ability, operation, "resourceId", "workflowId", after, outcome, at)
      SELECT ${actor}, ${ability}, ${operation}, id, ${workflowId}, ${JSON.stringify(withoutHashes(spec))}::jsonb, 'ok', ${now} FROM made
    ), event AS (
      INSERT INTO "Event" ("resourceId", "projectId", severity, reason, message, generation, at)
      SELECT id, "projectId", 'Normal', ${deleting ? 'DeletionRequested' : 'Created'},
        ${deleting ? 'what is left of it is removed' : `${kind} ${name} was created`}, generation, ${now} FROM made
    )
    SELECT project.id AS project, made.*, CASE WHEN made.id IS NULL THEN NULL ELSE pg_notify(${changesChannel}, made.id)::text END AS told
    FROM project LEFT JOIN made ON true`
  if (!row) return { outcome: 'projectNotFound' }
  if (row.id === null) {
    const [holder] = await db.$queryRaw<{ id: string; kind: string }[]>`
      SELECT id, kind FROM "Resource" WHERE ("projectId" = ${projectId} AND name = ${name}) OR id = ${id} ORDER BY id = ${id} LIMIT 1`
    return { outcome: 'nameTaken', holder: holder ?? { id: 'that is just being made or deleted', kind: 'a resource' } }
  }
  return { outcome: 'created', resource: row as ResourceRow, due: [] }
}

/** What a change may set; the rest stays. */
type ResourceChange = Partial<
  Pick<ResourceRow, 'generation' | 'paused' | 'pausedReason' | 'deletionRequestedAt' | 'removesVolumes' | 'nextPassDueAt'>
> & { spec?: object }

/** The row, a revision when the generation is new, audit entry, event and announcement, in one statement. Wants the row's lock. */
async function writeChange(
  tx: Transaction,
  row: ResourceRow,
  change: ResourceChange,
  context: WriteContext,
  told: { reason: string; message: string; before: unknown; after: unknown },
  due: DueResource[] = [],
): Promise<{ outcome: 'changed'; resource: ResourceRow; due: DueResource[] }> {
  const { actor, ability, operation, now } = context
  const next = { ...row, ...change }
  const [resource] = await tx.$queryRaw<ResourceRow[]>`
    WITH written AS (
      UPDATE "Resource" SET spec = ${JSON.stringify(next.spec)}::jsonb, generation = ${next.generation}::int, paused = ${next.paused}::boolean,
        "pausedReason" = ${next.pausedReason}, "deletionRequestedAt" = ${next.deletionRequestedAt}::timestamptz,
        "removesVolumes" = ${next.removesVolumes}::boolean,
        "nextPassDueAt" = ${next.nextPassDueAt}::timestamptz, "updatedAt" = ${now}
      WHERE id = ${row.id} RETURNING ${resourceColumns}
    ), revision AS (
      INSERT INTO "Revision" ("resourceId", generation, spec, actor, "createdAt")
      SELECT id, generation, spec, ${actor}, ${now} FROM written WHERE generation <> ${row.generation}::int
    ), audit AS (
      INSERT INTO "AuditEntry" (actor, ability, operation, "resourceId", "workflowId", before, after, outcome, at)
      SELECT ${actor}, ${ability}, ${operation}, id, ${workflowOf(row)}, ${jsonText(withoutHashes(told.before))}::jsonb, ${jsonText(withoutHashes(told.after))}::jsonb, 'ok', ${now} FROM written
    ), event AS (
      INSERT INTO "Event" ("resourceId", "projectId", severity, reason, message, generation, at)
      SELECT id, "projectId", 'Normal', ${told.reason}, ${told.message}, generation, ${now} FROM written
    )
    SELECT written.*, pg_notify(${changesChannel}, id)::text AS told FROM written`
  if (!resource) throw new Error(`${row.id} vanished under its lock`)
  return { outcome: 'changed', resource, due }
}

async function unchanged(
  tx: Transaction,
  resource: ResourceRow,
  context: WriteContext,
  why: 'unchanged' | 'repeated' = 'unchanged',
): Promise<{ outcome: 'unchanged'; resource: ResourceRow }> {
  await auditIdle(tx, context, { id: resource.id, workflowId: workflowOf(resource) }, why)
  return { outcome: 'unchanged', resource }
}

async function lock(tx: Transaction, { id, kind }: ResourceSelector): Promise<ResourceRow | null> {
  const [row] = await tx.$queryRaw<ResourceRow[]>`SELECT ${resourceColumns} FROM "Resource" WHERE id = ${id} FOR UPDATE`
  if (!row) return null
  return (kind === null ? isReconciledKind(row.kind) : row.kind === kind) ? row : null
}

function workflowOf({ kind, id }: { kind: string; id: string }): string | null {
  return isReconciledKind(kind) ? workflowIdOf(kind, id) : null
}
