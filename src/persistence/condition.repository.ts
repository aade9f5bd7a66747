import type { ConditionStatus } from '../reconcile/condition.js'
import type { Database } from './database.js'
import { groupPages, type EachPage } from './each-page.js'
import type { Page } from './page.js'

export interface ConditionRow {
  resourceId: string
  type: string
  status: ConditionStatus
  reason: string
  message: string
  observedGeneration: number
  lastTransitionAt: Date
}

export interface TransitionRow {
  id: bigint
  resourceId: string
  type: string
  status: ConditionStatus
  reason: string
  message: string
  observedGeneration: number
  at: Date
}

export class ConditionRepository {
  constructor(private readonly db: Database) {}

  /** Of all these resources, ascending by type. */
  async ofMany(ids: readonly string[]): Promise<ConditionRow[]> {
    return this.db.$queryRaw`SELECT * FROM "Condition" WHERE "resourceId" = ANY(${[...ids]}::text[]) ORDER BY type`
  }

  /** The newest transitions of each resource, one statement for all. */
  async transitionsOfEach(ids: readonly string[], { first, after }: EachPage): Promise<Map<string, Page<TransitionRow>>> {
    const rows = await this.db.$queryRaw<TransitionRow[]>`
      SELECT t.* FROM unnest(${[...ids]}::text[]) AS r(id) CROSS JOIN LATERAL (
        SELECT * FROM "ConditionTransition" WHERE "resourceId" = r.id AND (${after}::bigint IS NULL OR id < ${after}::bigint)
        ORDER BY id DESC LIMIT ${first + 1}) t`
    return groupPages(ids, rows, first)
  }
}
