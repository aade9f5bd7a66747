import { describe, expect, it } from 'vitest'
import { heartbeatStaleMs } from '../../agent/protocol.js'
import type { NodeStatusRow } from '../../persistence/node.repository.js'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import { nodeConditions } from './node-conditions.js'

const now = 1_000_000
const node = { generation: 1, createdAt: new Date(0) } as ResourceRow
const status = (lastSeenMsAgo: number | null, reported: NodeStatusRow['reported'] = []) =>
  ({ lastSeenAt: lastSeenMsAgo === null ? null : new Date(now - lastSeenMsAgo), reported }) as NodeStatusRow
const told = (type: string, status: 'True' | 'False' | 'Unknown') => ({ type, status, reason: 'R', message: 'm' })
const states = (s: NodeStatusRow | null) =>
  Object.fromEntries(nodeConditions(node, s, now).map((c) => [c.type, `${c.status} ${c.reason}`]))

describe('nodeConditions', () => {
  it.each<[string, NodeStatusRow | null, Record<string, string>]>([
    ['no record', null, { Heartbeat: 'Unknown NeverSeen', Ready: 'Unknown NeverSeen' }],
    ['never seen', status(null), { Heartbeat: 'Unknown NeverSeen', Ready: 'Unknown NeverSeen' }],
    ['just seen', status(0), { Heartbeat: 'True HeartbeatReceived', Ready: 'True NodeReady' }],
    ['seen at the limit', status(heartbeatStaleMs), { Heartbeat: 'True HeartbeatReceived', Ready: 'True NodeReady' }],
    [
      'silent a moment longer',
      status(heartbeatStaleMs + 1),
      { Heartbeat: 'False HeartbeatMissed', Ready: 'False HeartbeatMissed' },
    ],
    [
      'a bad report',
      status(0, [told('EngineSupported', 'False')]),
      { EngineSupported: 'False R', Heartbeat: 'True HeartbeatReceived', Ready: 'False R' },
    ],
    [
      'a report that is bad when True',
      status(0, [told('DiskPressure', 'True')]),
      { DiskPressure: 'True R', Heartbeat: 'True HeartbeatReceived', Ready: 'False R' },
    ],
    [
      'a report that is good when False',
      status(0, [told('DiskPressure', 'False')]),
      { DiskPressure: 'False R', Heartbeat: 'True HeartbeatReceived', Ready: 'True NodeReady' },
    ],
    [
      'not known yet',
      status(0, [told('DNSReachable', 'Unknown')]),
      { DNSReachable: 'Unknown R', Heartbeat: 'True HeartbeatReceived', Ready: 'True NodeReady' },
    ],
    [
      'silent with an old good report',
      status(heartbeatStaleMs * 2, [told('EngineSupported', 'True')]),
      { EngineSupported: 'Unknown HeartbeatMissed', Heartbeat: 'False HeartbeatMissed', Ready: 'False HeartbeatMissed' },
    ],
  ])('%s', (_what, s, expected) => expect(states(s)).toEqual(expected))
})
