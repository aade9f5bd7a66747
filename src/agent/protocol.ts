import { z } from 'zod'
import { toPlainText } from '../reconcile/name.js'

/**
 * The agent's channel: one WebSocket that the agent opens to `<api>/agent` with `Authorization: Bearer <channel token>`.
 * Every frame is one JSON object. The API never dials an agent.
 */
export const protocolVersion = 1

/** Words of an engine or of a container's label: what no database takes of them must not stop the rest. */
const words = z.string().transform(toPlainText)

const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: words,
})

const resourceRef = z.object({ kind: words, resource: words })

/** A call in either direction: answered by `chunk`* and one `end`, or by `error`. While it runs its caller may send `input`. */
const callFrames = [
  z.object({ type: z.literal('call'), id: z.string(), method: z.string(), params: z.unknown() }),
  z.object({ type: z.literal('input'), id: z.string(), value: z.unknown() }),
  z.object({ type: z.literal('cancel'), id: z.string() }),
  z.object({ type: z.literal('chunk'), id: z.string(), value: z.unknown() }),
  z.object({ type: z.literal('end'), id: z.string(), value: z.unknown().optional() }),
  z.object({ type: z.literal('error'), id: z.string(), reason: z.string(), message: z.string() }),
] as const

/** One container of an application, as people name it. The agent knows its name and checks its labels. */
const replicaRef = z.object({
  resource: z.string(),
  release: z.number().int().nonnegative(),
  replica: z.number().int().nonnegative(),
})

/** How many chunks may be on their way at first; the caller's input `{more}` allows as many again. Else the agent waits. */
const windowSchema = z.number().int().min(1).max(256)

/** Methods that the agent serves. */
export const agentMethods = {
  /** Streams lines of one replica's container: chunks are LogChunks. Ends with the container, or with what is there now. */
  logs: replicaRef.extend({
    follow: z.boolean(),
    tail: z.number().int().min(0).nullable(),
    /** Seconds and nanoseconds since the epoch, as Docker takes it; null = from the beginning. */
    since: z
      .string()
      .regex(/^\d{1,12}\.\d{9}$/)
      .nullable(),
    streams: z.array(z.enum(['stdout', 'stderr'])).min(1),
    window: windowSchema,
  }),
  /** Runs a command in one replica's container: chunks are ExecOutputs, inputs are ExecInputs, its end is an ExecEnd. */
  exec: replicaRef.extend({
    command: z.array(z.string()).min(1),
    tty: z.boolean(),
    user: z.string().nullable(),
    workingDir: z.string().nullable(),
    window: windowSchema,
  }),
} as const

/** The caller has read as many chunks: as many more may be sent. */
export const moreSchema = z.object({ more: z.number().int().min(1).max(256) })

export const logStreams = ['stdout', 'stderr'] as const
export type LogStreamName = (typeof logStreams)[number]

/** Lines of one container, in their order: index in `logStreams`, RFC 3339 with nine digits and Z, text. */
export const logChunkSchema = z.array(z.tuple([z.union([z.literal(0), z.literal(1)]), z.string(), z.string()]))
export type LogChunk = z.infer<typeof logChunkSchema>
/** A chunk is sent when it has this many lines or bytes, or after this long. */
export const logChunkMost = { lines: 256, bytes: 64 * 1024, ms: 20 } as const

const size = z.number().int().min(1).max(1_000)
/** Bytes are base64. `end`: nothing more comes to its standard input. */
export const execInputSchema = z.union([
  z.object({ stdin: z.string() }),
  z.object({ end: z.literal(true) }),
  z.object({ columns: size, rows: size }),
  moreSchema,
])
export type ExecInput = z.infer<typeof execInputSchema>
/** `taken`: as many bytes of the input were handed to the process, so that its writer may go on. */
export const execOutputSchema = z.union([
  z.object({ stdout: z.string() }),
  z.object({ stderr: z.string() }),
  z.object({ taken: z.number().int() }),
])
export type ExecOutput = z.infer<typeof execOutputSchema>
/** null: it was ended before it had an exit code. */
export const execEndSchema = z.object({ exitCode: z.number().int().nullable() })

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
    /** What is known so far: nothing of a process that just began, so that what the last one told counts no longer. */
    conditions: z.array(conditionSchema).optional(),
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
    resources: z.array(resourceRef.extend({ containers: z.array(words) })),
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
