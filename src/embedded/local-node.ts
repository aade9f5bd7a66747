import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Database } from '../persistence/database.js'
import type { SetupLog } from './setup-log.js'

const HEARTBEAT_TIMEOUT_MS = 60_000

const reportedSchema = z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() }))

/**
 * Waits for the first heartbeat of the local node since `since`, which comes after the agent has tried its engine.
 * What the agent found wrong with this machine is told here, where a person sees it.
 */
export async function waitForNode(db: Database, nodeId: string, since: Date, log: SetupLog): Promise<void> {
  const deadline = Date.now() + HEARTBEAT_TIMEOUT_MS
  for (;;) {
    const status = await db.nodeStatus.findUnique({ where: { resourceId: nodeId } })
    if (status?.lastSeenAt && status.lastSeenAt >= since) {
      const reported = reportedSchema.safeParse(status.reported)
      const wrong = (reported.data ?? []).filter((condition) => condition.status === 'False')
      for (const { type, reason, message } of wrong) log(`${type}: ${reason}: ${message}`)
      return
    }
    if (Date.now() > deadline)
      throw new Error(`the agent of this machine did not report to the API within ${HEARTBEAT_TIMEOUT_MS / 1000} s`)
    await sleep(100)
  }
}
