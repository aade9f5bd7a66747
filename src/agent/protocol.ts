import { z } from 'zod'

/**
 * The agent's channel: one WebSocket that the agent opens to `<api>/agent` with `Authorization: Bearer <channel token>`.
 * Every frame is one JSON object. The API never dials an agent.
 */
export const protocolVersion = 1

const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
})

const resourceRef = z.object({ kind: z.string(), resource: z.string() })

/** A call in either direction: answered by `chunk`* and one `end`, or by `error`. */
const callFrames = [
  z.object({ type: z.literal('call'), id: z.string(), method: z.string(), params: z.unknown() }),
  z.object({ type: z.literal('cancel'), id: z.string() }),
  z.object({ type: z.literal('chunk'), id: z.string(), value: z.unknown() }),
  z.object({ type: z.literal('end'), id: z.string(), value: z.unknown().optional() }),
  z.object({ type: z.literal('error'), id: z.string(), reason: z.string(), message: z.string() }),
] as const

/** Methods that the agent serves. */
export const agentMethods = {
  /** Streams lines {stream, at, text} of one container. */
  logs: z.object({
    container: z.string(),
    follow: z.boolean(),
    tail: z.number().int().min(0).nullable(),
    sinceMs: z.number().nullable(),
  }),
} as const

/** Methods that the API serves. */
export const apiMethods = {
  /** → base64 of the artifact's bytes. */
  artifact: z.object({ sha256: z.string() }),
  /** → {values: string[]}, in the order of refs; of an application that this node runs, and of what its releases or its spec name. */
  secretValues: z.object({ resource: z.string(), refs: z.array(z.object({ secret: z.string(), version: z.number().int() })) }),
  /** → {host, username, password}: the log-in that the application's spec names. */
  registryCredential: z.object({ resource: z.string(), name: z.string() }),
  /** base64 of at most 64 KB → {sha256}. */
  putArtifact: z.object({ content: z.string() }),
} as const
export type ApiMethod = keyof typeof apiMethods
export type ApiParams<M extends ApiMethod> = z.infer<(typeof apiMethods)[M]>

export const agentFrameSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocolVersion: z.number().int(),
    agentVersion: z.string(),
    architecture: z.string(),
    engineVersion: z.string().nullable(),
    cpuCount: z.number().int(),
    memoryBytes: z.number(),
    /** CIDRs of the host's routes other than our own bridge, so that the node's network overlaps none of them. */
    hostRoutes: z.array(z.string()),
    /** The network that the node's bridge has already: kept when the database that gave it is lost. Absent = none, or not looked. */
    currentSubnet: z.string().nullable().optional(),
  }),
  z.object({
    type: z.literal('heartbeat'),
    /** The agent's clock; comes back in the answer, so that the agent measures its offset. */
    sentAt: z.number(),
    diskTotalBytes: z.number(),
    diskFreeBytes: z.number(),
    /** Last measured: control plane's clock minus the agent's; null before the first answer. */
    clockOffsetMs: z.number().nullable(),
    conditions: z.array(conditionSchema),
  }),
  /** Look at these resources again: an event, a probe's change, or drift. */
  z.object({ type: z.literal('nudges'), resources: z.array(resourceRef), why: z.string() }),
  /** All resources that have containers of this instance here; the API finds orphans in it. Sent after each sweep. */
  z.object({
    type: z.literal('inventory'),
    resources: z.array(resourceRef.extend({ containers: z.array(z.string()) })),
  }),
  ...callFrames,
])
export type AgentFrame = z.infer<typeof agentFrameSchema>

export const apiFrameSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    node: z.string(),
    /** The node's /20, allocated once and never renumbered. */
    subnet: z.string(),
    dnsTtlSeconds: z.number().int(),
    /** The control plane's clock. */
    now: z.number(),
    /** Image references that image clean-up keeps. */
    keepImages: z.array(z.string()),
  }),
  z.object({ type: z.literal('heartbeatAnswer'), sentAt: z.number(), now: z.number(), keepImages: z.array(z.string()) }),
  ...callFrames,
])
export type ApiFrame = z.infer<typeof apiFrameSchema>

/** How often the agent sends a heartbeat, and after how long a silent one makes its node away. */
export const heartbeatIntervalMs = 5_000
export const heartbeatStaleMs = 45_000
