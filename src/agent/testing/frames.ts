import type { AgentFrame } from '../protocol.js'

type FrameOf<T extends AgentFrame['type']> = Extract<AgentFrame, { type: T }>

/** What an agent of a small machine says first. */
export const hello = (more: object = {}): FrameOf<'hello'> => ({
  type: 'hello',
  protocolVersion: 1,
  agentVersion: '0.1.0',
  architecture: 'x86_64',
  engineVersion: '29.0.0',
  cpuCount: 2,
  memoryBytes: 24 * 2 ** 30,
  hostRoutes: [],
  ...more,
})

/** And then every few seconds. */
export const heartbeat = (more: object = {}): FrameOf<'heartbeat'> => ({
  type: 'heartbeat',
  sentAt: 1,
  diskTotalBytes: 2 ** 40,
  diskFreeBytes: 2 ** 39,
  clockOffsetMs: 3,
  conditions: [],
  ...more,
})
