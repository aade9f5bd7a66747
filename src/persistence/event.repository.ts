import type { Database } from './database.js'
import { groupPages, type EachPage } from './each-page.js'
import { pageOf, type Page } from './page.js'

export interface EventRow {
  id: bigint
  resourceId: string
  projectId: string
  severity: string
  reason: string
  message: string
  generation: number
  at: Date
}

export interface EventFilter {
  resourceId?: string | undefined
  projectId?: string | undefined
}

export class EventRepository {
  constructor(private readonly db: Database) {}

  async get(id: bigint): Promise<EventRow | null> {
    return this.db.event.findUnique({ where: { id } })
  }

  /** Newest first. */
  async list(filter: EventFilter, { first, after }: EachPage): Promise<Page<EventRow>> {
    const rows = await this.db.event.findMany({
      where: { ...whereOf(filter), ...(after === null ? {} : { id: { lt: after } }) },
      orderBy: { id: 'desc' },
      take: first + 1,
    })
    return pageOf(rows, first)
  }

  async ofEach(ids: readonly string[], { first, after }: EachPage): Promise<Map<string, Page<EventRow>>> {
    const rows = await this.db.$queryRaw<EventRow[]>`
      SELECT e.* FROM unnest(${[...ids]}::text[]) AS r(id) CROSS JOIN LATERAL (
        SELECT * FROM "Event" WHERE "resourceId" = r.id AND (${after}::bigint IS NULL OR id < ${after}::bigint)
        ORDER BY id DESC LIMIT ${first + 1}) e`
    return groupPages(ids, rows, first)
  }

  /** The newest id; 0 when there is none. */
  async newestId(): Promise<bigint> {
    const row = await this.db.event.findFirst({ orderBy: { id: 'desc' }, select: { id: true } })
    return row?.id ?? 0n
  }

  /** Oldest first, at most ten thousand: for those who follow and missed something. */
  async after(filter: EventFilter, after: bigint): Promise<EventRow[]> {
    return this.db.event.findMany({
      where: { ...whereOf(filter), id: { gt: after } },
      orderBy: { id: 'asc' },
      take: followedMost,
    })
  }

  /** Oldest first, of each resource behind its own mark. */
  async afterEach(marks: readonly { resourceId: string; after: bigint }[], projectId: string | undefined): Promise<EventRow[]> {
    const ids = marks.map((m) => m.resourceId)
    const afters = marks.map((m) => m.after)
    return this.db.$queryRaw<EventRow[]>`
      SELECT e.* FROM unnest(${ids}::text[], ${afters}::bigint[]) AS m(id, after)
      JOIN "Event" e ON e."resourceId" = m.id AND e.id > m.after
      WHERE (${projectId ?? null}::text IS NULL OR e."projectId" = ${projectId ?? null})
      ORDER BY e.id LIMIT ${followedMost}`
  }
}

const followedMost = 10_000

function whereOf({ resourceId, projectId }: EventFilter) {
  return { ...(resourceId === undefined ? {} : { resourceId }), ...(projectId === undefined ? {} : { projectId }) }
}
