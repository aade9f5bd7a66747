import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow'
import type { NodeActivities } from '../../activities/node.activities.js'
import type { SignedAction } from '../../src/reconcile/loop.js'

/** What somebody could do who reaches Temporal's port: hand an action to a node. Answers how the agent refused it. */
export async function forge(taskQueue: string, action: SignedAction): Promise<string> {
  const node = proxyActivities<NodeActivities>({ taskQueue, scheduleToCloseTimeout: '20s', heartbeatTimeout: '5s', retry: { maximumAttempts: 1 } })
  try {
    await node.act(action, null)
    return 'it was done'
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : error
    return cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : String(cause)
  }
}
