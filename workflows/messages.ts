import { defineSearchAttributeKey } from '@temporalio/common'
import { defineQuery, defineSignal } from '@temporalio/workflow'

/** Messages that cross a workflow's border. Names are stable once released. */

/** «Look again.» Carries no state: truth is read anew in each pass. */
export const nudgeSignal = defineSignal('nudge')

/** Named as in the re-implemented system: conditions, last error and last pass of the resource. */
export const lastResultQuery = defineQuery<LastResult>('LastResult')

export interface LastResult {
  generation: number
  pass: number
  /** Empty before the first pass. */
  conditions: string[]
  /** null = the last pass had no error. */
  error: string | null
}

export interface ReconcileInput {
  kind: string
  resource: string
  project: string
  name: string
  /** Failed passes in a row, carried over a continue-as-new so that back-off goes on. */
  failures?: number
}

/** Search attributes of every reconcile workflow; registered when the server starts. */
export const searchAttribute = {
  kind: defineSearchAttributeKey('kind', 'KEYWORD'),
  project: defineSearchAttributeKey('project', 'KEYWORD'),
  name: defineSearchAttributeKey('resource', 'KEYWORD'),
  node: defineSearchAttributeKey('node', 'KEYWORD'),
  ready: defineSearchAttributeKey('ready', 'KEYWORD'),
  reason: defineSearchAttributeKey('reason', 'KEYWORD'),
  generation: defineSearchAttributeKey('generation', 'INT'),
} as const

/** Name and type as `temporal server start-dev --search-attribute` and the operator service take them. */
export const searchAttributeTypes: Record<string, 'Keyword' | 'Int'> = {
  kind: 'Keyword',
  project: 'Keyword',
  resource: 'Keyword',
  node: 'Keyword',
  ready: 'Keyword',
  reason: 'Keyword',
  generation: 'Int',
}
