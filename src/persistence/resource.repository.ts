import type { Kind } from '../reconcile/kind.js'
import { isReconciledKind, reconciledKinds, workflowIdOf } from '../reconcile/kind.js'
import { canonicalJson } from '../reconcile/hash.js'
import { restoredPrefix } from '../reconcile/restored.js'
import type { Database, Transaction } from './database.js'
import { newResourceId } from './id.js'
import type { DueResource } from './pass-store.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import { auditIdle, claimKey, refuse, tell, transact, type WriteContext } from './write.js'

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
  createdAt: Date
  updatedAt: Date
}

/** Everything but the stored decision, which only passes read. */
const resourceColumns = {
  id: true,
  kind: true,
  projectId: true,
  name: true,
  spec: true,
  generation: true,
  observedGeneration: true,
  passNumber: true,
  lastPassAt: true,
  lastError: true,
  nextPassDueAt: true,
  paused: true,
  pausedReason: true,
  deletionRequestedAt: true,
  createdAt: true,
  updatedAt: true,
} as const

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
}

export type CreateResult =
  | { outcome: 'created'; resource: ResourceRow }
  | { outcome: 'repeated'; resource: ResourceRow }
  | { outcome: 'projectNotFound' }
  | { outcome: 'nameTaken'; holder: { id: string; kind: string } }
  | { outcome: 'keyReused'; operation: string }
  /** The key's first call made it, and it was deleted since. */
  | { outcome: 'goneSince'; id: string }

export type ChangeResult =
  | { outcome: 'changed'; resource: ResourceRow }
  | { outcome: 'unchanged'; resource: ResourceRow }
  | { outcome: 'notFound' }
  | { outcome: 'stale'; resource: ResourceRow }
  | { outcome: 'deleting'; resource: ResourceRow }

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
export type SpecChange<Refused> = { spec: object } | { refused: Refused }

/** Desired state of all kinds. Every write leaves revision, audit entry and event in the same transaction. */
export class ResourceRepository {
  constructor(private readonly db: Database) {}

  async get(id: string, kind?: Kind): Promise<ResourceRow | null> {
    return this.db.resource.findFirst({ where: { id, ...(kind ? { kind } : {}) }, select: resourceColumns })
  }

  async getMany(ids: readonly string[]): Promise<ResourceRow[]> {
    return this.db.resource.findMany({ where: { id: { in: [...ids] } }, select: resourceColumns })
  }

  /** Ascending by name, then id. */
  async list(
    filter: { kind: Kind; projectId?: string | undefined; name?: string | undefined },
    { first, after }: PageRequest<NameKey>,
  ): Promise<Page<ResourceRow>> {
    const { kind, projectId, name } = filter
    const rows = await this.db.resource.findMany({
      where: {
        kind,
        ...(projectId === undefined ? {} : { projectId }),
        ...(name === undefined ? {} : { name }),
        ...(after ? { OR: [{ name: { gt: after.name } }, { name: after.name, id: { gt: after.id } }] } : {}),
      },
      orderBy: [{ name: 'asc' }, { id: 'asc' }],
      take: first + 1,
      select: resourceColumns,
    })
    return pageOf(rows, first)
  }

  create(draft: ResourceDraft, context: WriteContext): Promise<CreateResult> {
    return transact<CreateResult>(this.db, (tx) => createResource(tx, draft, context))
  }

  /**
   * Changes a spec under the row's lock. An equal spec changes nothing and makes no generation; a given
   * `expectedGeneration` that is not the row's refuses.
   */
  patch<Refused>(
    { id, kind }: { id: string; kind: Kind },
    expectedGeneration: number | null,
    change: (spec: unknown, resource: ResourceRow) => SpecChange<Refused>,
    context: WriteContext,
  ): Promise<ChangeResult | { outcome: 'refused'; refused: Refused }> {
    return transact<ChangeResult | { outcome: 'refused'; refused: Refused }>(this.db, async (tx) => {
      const resource = await lock(tx, { id, kind })
      if (!resource) return { outcome: 'notFound' }
      if (expectedGeneration !== null && expectedGeneration !== resource.generation) return { outcome: 'stale', resource }
      if (resource.deletionRequestedAt) return { outcome: 'deleting', resource }
      const changed = change(resource.spec, resource)
      if ('refused' in changed) return { outcome: 'refused', refused: changed.refused }
      const { spec } = changed
      if (canonicalJson(spec) === canonicalJson(resource.spec)) return unchanged(tx, resource, context)
      const generation = resource.generation + 1
      const written = await tx.resource.update({
        where: { id },
        data: { spec, generation, updatedAt: context.now },
        select: resourceColumns,
      })
      await tx.revision.create({ data: { resourceId: id, generation, spec, actor: context.actor, createdAt: context.now } })
      await tell(tx, context, {
        ...toldOf(written),
        reason: 'DesiredChanged',
        message: `generation ${generation} was asked for`,
        before: resource.spec,
        after: spec,
      })
      return { outcome: 'changed', resource: written }
    })
  }

  /** A paused resource is observed no more and changed by nobody, until it is resumed. */
  setPaused(selector: ResourceSelector, paused: boolean, reason: string | null, context: WriteContext): Promise<ChangeResult> {
    return transact<ChangeResult>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      if (resource.paused === paused && resource.pausedReason === reason) return unchanged(tx, resource, context)
      const written = await tx.resource.update({
        where: { id: resource.id },
        data: { paused, pausedReason: paused ? reason : null, nextPassDueAt: context.now, updatedAt: context.now },
        select: resourceColumns,
      })
      await tell(tx, context, {
        ...toldOf(written),
        reason: paused ? 'Paused' : 'Resumed',
        message: paused ? `paused${reason ? `: ${reason}` : ''}` : 'resumed',
        before: { paused: resource.paused, reason: resource.pausedReason },
        after: { paused, reason: written.pausedReason },
      })
      return { outcome: 'changed', resource: written }
    })
  }

  /** Makes it a new generation, so that old failures and holds do not keep the teardown back. Asking twice changes nothing. */
  requestDeletion(
    selector: { id: string; kind: Kind },
    expectedGeneration: number | null,
    context: WriteContext,
  ): Promise<ChangeResult> {
    return transact<ChangeResult>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      if (resource.deletionRequestedAt) return unchanged(tx, resource, context)
      if (expectedGeneration !== null && expectedGeneration !== resource.generation) return { outcome: 'stale', resource }
      const generation = resource.generation + 1
      const written = await tx.resource.update({
        where: { id: resource.id },
        data: { deletionRequestedAt: context.now, generation, paused: false, pausedReason: null, updatedAt: context.now },
        select: resourceColumns,
      })
      await tx.revision.create({
        data: { resourceId: resource.id, generation, spec: resource.spec as object, actor: context.actor, createdAt: context.now },
      })
      await tell(tx, context, {
        ...toldOf(written),
        reason: 'DeletionRequested',
        message: 'its deletion was asked for',
        before: resource.spec,
        after: null,
      })
      return { outcome: 'changed', resource: written }
    })
  }

  /** Keeps an action from running until the generation changes, and so cancels it where it runs. */
  holdAction(selector: ResourceSelector, key: string, context: WriteContext): Promise<ChangeResult> {
    return transact<ChangeResult>(this.db, async (tx) => {
      const resource = await lock(tx, selector)
      if (!resource) return { outcome: 'notFound' }
      const { id: resourceId, generation } = resource
      const data = { generation, actor: context.actor, createdAt: context.now }
      await tx.actionHold.upsert({
        where: { resourceId_key: { resourceId, key } },
        create: { resourceId, key, ...data },
        update: data,
      })
      await tell(tx, context, {
        ...toldOf(resource),
        reason: 'ActionCancelled',
        message: `${key} was cancelled; it is not tried again before the next change`,
        before: null,
        after: { key },
      })
      return { outcome: 'changed', resource }
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
      WHERE p.id = r."projectId" AND NOT r.paused AND r.kind = ANY(${[...reconciledKinds]})
      RETURNING r.id, r.kind, p.name AS project, r.name`
  }

  /** What a nudge has to know of each resource that exists. */
  async addressesOf(ids: readonly string[]): Promise<DueResource[]> {
    if (ids.length === 0) return []
    return this.db.$queryRaw<DueResource[]>`
      SELECT r.id, r.kind, p.name AS project, r.name FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
      WHERE r.id = ANY(${[...ids]})`
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
    const rows = await this.db.$queryRaw<{ projectId: string }[]>`
      SELECT "projectId" FROM "Resource" WHERE id = ${id}
      UNION ALL SELECT "projectId" FROM "Tombstone" WHERE "resourceId" = ${id} LIMIT 1`
    return rows[0]?.projectId ?? null
  }

  /** Who asked for the spec that stands now. */
  async lastActor(id: string): Promise<string | null> {
    const revision = await this.db.revision.findFirst({ where: { resourceId: id }, orderBy: { generation: 'desc' }, select: { actor: true } })
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
export async function createResource(tx: Transaction, draft: ResourceDraft, context: WriteContext): Promise<CreateResult> {
  const { kind, projectId, name, spec } = draft
  const id = draft.id ?? newResourceId(kind)
  const claim = await claimKey(tx, context, id)
  if (claim.outcome === 'keyReused') return claim
  if (claim.outcome === 'repeated') {
    const resource = await tx.resource.findUnique({ where: { id: claim.resultId }, select: resourceColumns })
    if (!resource) return { outcome: 'goneSince', id: claim.resultId }
    await auditIdle(tx, context, { id: resource.id, workflowId: toldOf(resource).workflowId }, 'repeated')
    return { outcome: 'repeated', resource }
  }

  // The lock keeps the project from being deleted between this look and the insert.
  const [project] = await tx.$queryRaw<object[]>`SELECT id FROM "Project" WHERE id = ${projectId} FOR KEY SHARE`
  if (!project) refuse({ outcome: 'projectNotFound' } satisfies CreateResult)
  const { now } = context
  const [resource] = await tx.resource.createManyAndReturn({
    data: [
      {
        id,
        kind,
        projectId,
        name,
        spec,
        createdAt: now,
        updatedAt: now,
        // A kind without a loop has nothing to observe: it is never out of step.
        observedGeneration: isReconciledKind(kind) ? 0 : 1,
        paused: draft.paused !== undefined,
        pausedReason: draft.paused?.reason ?? null,
        deletionRequestedAt: draft.deleting ? now : null,
      },
    ],
    skipDuplicates: true,
    select: resourceColumns,
  })
  if (!resource) {
    const holder = await tx.resource.findFirst({ where: { OR: [{ projectId, name }, { id }] }, select: { id: true, kind: true } })
    refuse({ outcome: 'nameTaken', holder: holder ?? { id: '', kind: 'resource' } } satisfies CreateResult)
  }
  await tx.revision.create({ data: { resourceId: id, generation: 1, spec, actor: context.actor, createdAt: now } })
  await tell(tx, context, {
    ...toldOf(resource),
    reason: draft.deleting ? 'DeletionRequested' : 'Created',
    message: draft.deleting ? 'what is left of it is removed' : `${kind} ${name} was created`,
    before: null,
    after: spec,
  })
  return { outcome: 'created', resource }
}

async function unchanged(tx: Transaction, resource: ResourceRow, context: WriteContext): Promise<{ outcome: 'unchanged'; resource: ResourceRow }> {
  await auditIdle(tx, context, { id: resource.id, workflowId: toldOf(resource).workflowId }, 'unchanged')
  return { outcome: 'unchanged', resource }
}

async function lock(tx: Transaction, { id, kind }: ResourceSelector): Promise<ResourceRow | null> {
  const locked = await tx.$queryRaw<{ kind: string }[]>`SELECT kind FROM "Resource" WHERE id = ${id} FOR UPDATE`
  const found = locked[0]?.kind
  if (found === undefined || (kind === null ? !isReconciledKind(found) : found !== kind)) return null
  return tx.resource.findUnique({ where: { id }, select: resourceColumns })
}

function toldOf({ id, kind, projectId, generation }: ResourceRow) {
  return { resourceId: id, projectId, generation, workflowId: isReconciledKind(kind) ? workflowIdOf(kind, id) : null }
}
