import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'

const retentionMs = 7 * 24 * 3600 * 1000
/** gRPC's number for "there is no such thing". */
const notFound = 5

/** The server's numbers for the types of search attributes (temporal.api.enums.v1.IndexedValueType). */
const indexedValueType = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const

export type SearchAttributeType = keyof typeof indexedValueType
export type SearchAttributes = Readonly<Record<string, SearchAttributeType>>

/**
 * Brings a namespace to what the workflows need: there, with our retention, and with our search attributes. A server
 * answers before it can do all of this, so callers repeat it until it succeeds; workers may start only then.
 */
export async function ensureNamespace(address: string, namespace: string, wanted: SearchAttributes): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 })
  try {
    await connection.withDeadline(Date.now() + 10_000, async () => {
      await ensureRetention(connection, namespace)
      await addMissingSearchAttributes(connection, namespace, wanted)
    })
  } finally {
    await connection.close()
  }
}

async function ensureRetention({ workflowService }: Connection, namespace: string): Promise<void> {
  const retention = msToTs(retentionMs)
  try {
    await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: retention } })
  } catch (error) {
    if ((error as { code?: number }).code !== notFound) throw error
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention })
  }
}

/** Here and not by a flag of the dev server, which ignores it on an existing file. */
async function addMissingSearchAttributes({ operatorService }: Connection, namespace: string, wanted: SearchAttributes): Promise<void> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  const missing = Object.entries(wanted).filter(([name]) => !(name in (customAttributes ?? {})))
  if (missing.length === 0) return
  const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, indexedValueType[type]]))
  await operatorService.addSearchAttributes({ namespace, searchAttributes })
}
