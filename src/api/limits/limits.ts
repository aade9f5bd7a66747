/** What one caller may ask for. Generous for people and programs, too little to hurt the control plane. */
export interface Limits {
  /** Bytes of one request's body. */
  bodyBytes: number
  /** Nesting of one operation; introspection has its own. */
  depth: number
  introspectionDepth: number
  /** Fields that an operation may make the server resolve, lists counted with what they may hold. */
  complexity: number
  /** Fields at the top of one operation: aliases of one mutation count each. */
  rootFields: number
  /** Sustained operations a second and token, and how many may come at once. */
  operationsPerSecond: number
  operationsBurst: number
  /** Failed authentications a second and address, and how many at once. */
  refusalsPerSecond: number
  refusalsBurst: number
  /** Subscriptions that one WebSocket may hold. */
  subscriptionsPerConnection: number
  /** Commands in containers that one token may have open or waiting. */
  execsPerToken: number
  /** How long a command waits for its client, may be silent both ways, and may run. */
  execAttachMs: number
  execIdleMs: number
  execTotalMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  depth: 12,
  introspectionDepth: 20,
  complexity: 50_000,
  rootFields: 50,
  operationsPerSecond: 500,
  operationsBurst: 5_000,
  refusalsPerSecond: 5,
  refusalsBurst: 50,
  subscriptionsPerConnection: 100,
  execsPerToken: 10,
  execAttachMs: 60_000,
  execIdleMs: 15 * 60_000,
  execTotalMs: 4 * 3_600_000,
}
