import { heartbeatStaleMs } from '../../agent/protocol.js'
import type { NodeStatusRow } from '../../persistence/node.repository.js'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import type { ConditionStatus } from '../../reconcile/condition.js'

/** A node's condition, derived at the moment that it is asked for: a silent node cannot look healthy. */
export interface NodeCondition {
  type: string
  status: ConditionStatus
  reason: string
  message: string
  observedGeneration: number
  lastTransitionAt: Date
}

/** Reported conditions that a healthy node does not have: True is the bad state. */
const badWhenTrue = new Set(['DiskPressure', 'ClockSkew', 'DNSBlockedByFirewall'])

/**
 * What the agent told, beside what its silence tells. By the control plane's clock alone. What a silent agent told
 * before is history, so it is Unknown.
 */
export function nodeConditions(node: ResourceRow, status: NodeStatusRow | null, now: number): NodeCondition[] {
  const seenAt = status?.lastSeenAt ?? null
  const silentMs = seenAt === null ? null : now - seenAt.getTime()
  const alive = silentMs !== null && silentMs <= heartbeatStaleMs
  const at = (seenAt ?? node.createdAt) as Date
  const condition = (type: string, status: ConditionStatus, reason: string, message: string): NodeCondition => ({
    type,
    status,
    reason,
    message,
    observedGeneration: node.generation,
    lastTransitionAt: alive || seenAt === null ? at : new Date(at.getTime() + heartbeatStaleMs),
  })

  const heartbeat =
    silentMs === null
      ? condition('Heartbeat', 'Unknown', 'NeverSeen', 'its agent has not connected yet')
      : alive
        ? condition('Heartbeat', 'True', 'HeartbeatReceived', 'its agent sends heartbeats')
        : condition(
            'Heartbeat',
            'False',
            'HeartbeatMissed',
            `its agent has sent no heartbeat for ${Math.round(silentMs / 1000)} s; what runs there goes on running`,
          )
  const reported = (status?.reported ?? []).map((c) =>
    alive
      ? condition(c.type, c.status, c.reason, c.message)
      : condition(c.type, 'Unknown', 'HeartbeatMissed', `last told: ${c.reason}: ${c.message}`),
  )
  const bad = reported.find((c) => c.status === (badWhenTrue.has(c.type) ? 'True' : 'False'))
  const ready =
    heartbeat.status !== 'True'
      ? condition('Ready', heartbeat.status === 'Unknown' ? 'Unknown' : 'False', heartbeat.reason, heartbeat.message)
      : bad
        ? condition('Ready', 'False', bad.reason, bad.message)
        : condition('Ready', 'True', 'NodeReady', 'its agent is connected and reports no trouble')
  return [heartbeat, ready, ...reported].sort((a, b) => (a.type < b.type ? -1 : 1))
}
