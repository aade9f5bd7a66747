import type { Database } from './database.js'
import type { EachPage } from './each-page.js'
import { pageOf, type Page } from './page.js'

export interface AuditRow {
  id: bigint
  actor: string
  ability: string
  operation: string
  resourceId: string | null
  workflowId: string | null
  before: unknown
  after: unknown
  outcome: string
  at: Date
}

/** An operation that was refused or changed no row, such as a command in a container. What changes a row is audited in the transaction of the change. */
export interface AuditDraft {
  actor: string
  ability: string
  operation: string
  resourceId: string | null
  workflowId: string | null
  outcome: string
  at: Date
  /** What it was about, in more than words. */
  after?: object
}

export class AuditRepository {
  constructor(private readonly db: Database) {}

  async record(entry: AuditDraft): Promise<void> {
    await this.db.auditEntry.create({ data: entry, select: { id: true } })
  }

  /** Newest first. */
  async list(
    filter: { resourceId?: string | undefined; actor?: string | undefined },
    { first, after }: EachPage,
  ): Promise<Page<AuditRow>> {
    const { resourceId, actor } = filter
    const rows = await this.db.auditEntry.findMany({
      where: {
        ...(resourceId === undefined ? {} : { resourceId }),
        ...(actor === undefined ? {} : { actor }),
        ...(after === null ? {} : { id: { lt: after } }),
      },
      orderBy: { id: 'desc' },
      take: first + 1,
    })
    return pageOf(rows, first)
  }
}
