import * as wf from '@temporalio/workflow'
import type { NodeActivities } from '../activities/node.activities.js'
import { nodeQueue } from '../src/reconcile/kind.js'
import type { Observation, ObserveRequest } from '../src/reconcile/observed.js'

/** Asks a node what is there. No answer within 10 s is an answer too: the node is silent. */
export async function observe(request: ObserveRequest): Promise<Observation> {
  const node = wf.proxyActivities<NodeActivities>({
    taskQueue: nodeQueue(request.node, 'short'),
    startToCloseTimeout: '4s',
    scheduleToCloseTimeout: '10s',
    retry: { initialInterval: '200ms', maximumInterval: '1s' },
    summary: 'look what is there',
  })
  try {
    return await node.observe(request)
  } catch (error) {
    const message = `node ${request.node} did not answer within 10 s (${rootMessage(error)})`
    return { node: request.node, unreachable: 'AgentSilent', message }
  }
}

export function rootMessage(error: unknown): string {
  return wf.rootCause(error) ?? String(error)
}
