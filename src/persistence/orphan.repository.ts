import type { Kind } from '../reconcile/kind.js'
import type { Database, Transaction } from './database.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import { platformProject } from './project.repository.js'
import { createResource, type CreateCheck, type CreateResult, type Refused, type ResourceDraft } from './resource.repository.js'
import { refuse, transact, type WriteContext } from './write.js'

/** Containers of this instance whose resource this database never knew. */
export interface OrphanRow {
  node: string
  resourceId: string
  kind: string
  containers: string[]
  seenAt: Date
}

export interface OrphanKey {
  node: string
  resourceId: string
}

/** A deleted resource of which containers or published endpoints appeared late: its teardown has to run once more. */
export interface LateResource {
  id: string
  kind: string
}

/** What a node's inventory tells beyond orphans. */
export interface InventoryNews {
  late: LateResource[]
  /** Ids of applications that have something there and did not look there: from now on they do, and are due. */
  found: string[]
}

export interface InventoryEntry {
  kind: string
  resource: string
  /** Empty: only its endpoints are shown there. */
  containers: readonly string[]
}

export type OrphanResult = Exclude<CreateResult, { outcome: 'repeated' }> | { outcome: 'orphanNotFound' }

export class OrphanRepository {
  constructor(private readonly db: Database) {}

  /** Ascending by node, then resource. */
  async list({ first, after }: PageRequest<OrphanKey>): Promise<Page<OrphanRow>> {
    const rows = await this.db.orphan.findMany({
      where: after ? { OR: [{ node: { gt: after.node } }, { node: after.node, resourceId: { gt: after.resourceId } }] } : {},
      orderBy: [{ node: 'asc' }, { resourceId: 'asc' }],
      take: first + 1,
    })
    return pageOf(rows.map(toOrphan), first)
  }

  async get({ node, resourceId }: OrphanKey): Promise<OrphanRow | null> {
    const row = await this.db.orphan.findUnique({ where: { node_resourceId: { node, resourceId } } })
    return row ? toOrphan(row) : null
  }

  /** Makes the node's orphans what its inventory says. */
  record(node: string, inventory: readonly InventoryEntry[], now: Date): Promise<InventoryNews> {
    return transact(this.db, async (tx) => {
      const ids = inventory.map((i) => i.resource)
      const known = await tx.$queryRaw<{ id: string; tombstone: boolean }[]>`
        SELECT id, false AS tombstone FROM "Resource" WHERE id = ANY(${ids})
        UNION ALL SELECT "resourceId", true FROM "Tombstone" WHERE "resourceId" = ANY(${ids})`
      const living = new Set(known.filter((k) => !k.tombstone).map((k) => k.id))
      const dead = new Set(known.filter((k) => k.tombstone).map((k) => k.id))
      const orphans = inventory.filter((i) => !living.has(i.resource) && !dead.has(i.resource) && i.containers.length > 0)
      for (const { resource: resourceId, kind, containers } of orphans) {
        const data = { kind, containers: [...containers], seenAt: now }
        await tx.orphan.upsert({
          where: { node_resourceId: { node, resourceId } },
          create: { node, resourceId, ...data },
          update: data,
        })
      }
      await tx.orphan.deleteMany({ where: { node, resourceId: { notIn: orphans.map((o) => o.resource) } } })
      const late = inventory
        .filter((i) => dead.has(i.resource) && !living.has(i.resource))
        .map((i) => ({ id: i.resource, kind: i.kind }))
      const applications = inventory.filter((i) => living.has(i.resource) && i.kind === 'application')
      return {
        late,
        found: await lookThere(
          tx,
          node,
          applications.map((i) => i.resource),
          now,
        ),
      }
    })
  }

  /** Takes an orphan's id into the database: as a paused resource, or as one that is being deleted. */
  take<Reason>(
    key: OrphanKey,
    draft: ResourceDraft,
    context: WriteContext,
    check: CreateCheck<Reason> | null = null,
  ): Promise<OrphanResult | Refused<Reason>> {
    return transact<OrphanResult | Refused<Reason>>(this.db, async (tx) => {
      const { count } = await tx.orphan.deleteMany({ where: { node: key.node, resourceId: key.resourceId } })
      if (count === 0) refuse({ outcome: 'orphanNotFound' } satisfies OrphanResult)
      const made = await createResource(tx, { ...draft, id: key.resourceId }, context, check)
      if (made.outcome === 'repeated') throw new Error('an orphan takes no idempotency key')
      return made
    })
  }

  /**
   * Brings a deleted resource back as one that is being deleted, so that its usual teardown removes what appeared
   * late. Its tombstone goes, because the teardown will leave a new one. Null when somebody else was faster.
   */
  revive(late: LateResource & { kind: Kind }, spec: object, now: Date): Promise<{ id: string; kind: Kind } | null> {
    return transact(this.db, async (tx) => {
      const [tombstone] = await tx.$queryRaw<{ projectId: string; name: string; removesVolumes: boolean }[]>`
        DELETE FROM "Tombstone" WHERE "resourceId" = ${late.id} RETURNING "projectId", name, "removesVolumes"`
      if (!tombstone) return null
      const [project] = await tx.$queryRaw<object[]>`SELECT id FROM "Project" WHERE id = ${tombstone.projectId}`
      const projectId = project ? tombstone.projectId : platformProject.id
      const taken = await tx.resource.findFirst({ where: { projectId, name: tombstone.name }, select: { id: true } })
      const suffix = `-late-${late.id.slice(-6).replace(/[^a-z0-9]/g, 'x')}`
      const name = taken ? `${tombstone.name.slice(0, 63 - suffix.length)}${suffix}` : tombstone.name
      const context = { actor: 'inventory', ability: 'admin', operation: 'lateCleanUp', now }
      const { removesVolumes } = tombstone
      const made = await createResource(
        tx,
        { id: late.id, kind: late.kind, projectId, name, spec, deleting: true, removesVolumes },
        context,
      )
      return made.outcome === 'created' ? { id: late.id, kind: late.kind } : null
    })
  }
}

/**
 * An action that nobody waits for any more may have come late on a node that its application had left before. Those whose
 * row is just held are passed over: the next inventory is soon, and nobody waits in a circle.
 */
export async function lookThere(tx: Transaction, node: string, ids: string[], now: Date): Promise<string[]> {
  if (ids.length === 0) return []
  const found = await tx.$queryRaw<{ id: string }[]>`
    UPDATE "Resource" r SET "publishedOn" = array_append("publishedOn", ${node}), "nextPassDueAt" = ${now}
    WHERE id IN (
      SELECT id FROM "Resource" s
      WHERE id = ANY(${ids}) AND kind = 'application' AND NOT ${node} = ANY("publishedOn")
        AND NOT EXISTS (SELECT 1 FROM "Endpoint" e WHERE e."resourceId" = s.id AND e.node = ${node})
      ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING id`
  return found.map(({ id }) => id)
}

function toOrphan(row: { node: string; resourceId: string; kind: string; containers: unknown; seenAt: Date }): OrphanRow {
  return { ...row, containers: Array.isArray(row.containers) ? row.containers.map(String) : [] }
}
