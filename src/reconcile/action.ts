import { z } from 'zod'

/**
 * Actions are what a plan consists of. The agent parses exactly these shapes, and only from bytes whose signature it
 * has verified, so a shape here is a wire format: add fields with defaults, never change a meaning.
 */

const probeTiming = {
  intervalMs: z.number().int().min(100).default(2_000),
  timeoutMs: z.number().int().min(100).default(2_000),
  /** Failures in a row after which a ready replica counts as unready, or a living one as hanging. */
  failureThreshold: z.number().int().min(1).default(3),
}

/** Asked from the node. HTTP probes count 2xx and 3xx as success; TCP probes a completed connect. */
const networkProbeSchema = z.object({
  kind: z.enum(['http', 'tcp']),
  port: z.number().int().min(1).max(65535),
  path: z.string().default('/'),
  ...probeTiming,
})
export type NetworkProbe = z.infer<typeof networkProbeSchema>

/** Run in the container, with the image's own tools; exit code 0 is success. */
const execProbeSchema = z.object({ kind: z.literal('exec'), command: z.array(z.string()).min(1), ...probeTiming })
export type ExecProbe = z.infer<typeof execProbeSchema>

export const probeSchema = z.discriminatedUnion('kind', [networkProbeSchema, execProbeSchema])
export type Probe = z.infer<typeof probeSchema>

export const publishedPortSchema = z.object({
  containerPort: z.number().int().min(1).max(65535),
  hostPort: z.number().int().min(1).max(65535),
  hostAddress: z.string(),
  protocol: z.enum(['tcp', 'udp']).default('tcp'),
})
export type PublishedPort = z.infer<typeof publishedPortSchema>

export const restartPolicySchema = z.enum(['no', 'unless-stopped'])
export type RestartPolicy = z.infer<typeof restartPolicySchema>

/** A secret is travelling by name and version only. */
export const secretRefSchema = z.object({ secret: z.string(), version: z.number().int() })
export type SecretRef = z.infer<typeof secretRefSchema>

/** How a secret's value is found among others. */
export function secretKey({ secret, version }: SecretRef): string {
  return `${secret}@${version}`
}

/**
 * `volume`: `source` is the engine's volume name, made with our labels when it is missing. `bind`: a path of the host.
 * `state`: a folder below the agent's own state folder, made when it is missing; only kinds of the platform have it.
 */
export const mountSchema = z.object({
  kind: z.enum(['volume', 'bind', 'state']),
  source: z.string(),
  target: z.string(),
  readOnly: z.boolean(),
})
export type Mount = z.infer<typeof mountSchema>

/** null = no limit. */
export const resourceLimitsSchema = z.object({ memoryBytes: z.number().int().nullable(), nanoCpus: z.number().int().nullable() })
export type ResourceLimits = z.infer<typeof resourceLimitsSchema>

/** Everything that is needed to create one container. `image` is an id or digest, never a moving tag. */
export const containerSpecSchema = z.object({
  name: z.string(),
  image: z.string(),
  labels: z.record(z.string(), z.string()),
  /** In order, as given, byte for byte: never parsed, expanded or quoted. */
  env: z.array(z.tuple([z.string(), z.string()])),
  entrypoint: z.array(z.string()).nullable().default(null),
  command: z.array(z.string()).nullable().default(null),
  hostname: z.string().nullable().default(null),
  /** Fixed address in the node's network; null takes one from the network's dynamic range. */
  address: z.string().nullable(),
  publishedPorts: z.array(publishedPortSchema).default([]),
  restartPolicy: restartPolicySchema,
  stopGraceSeconds: z.number().int().min(0),
  /** Search domains for short names, e.g. `shop.internal`. */
  dnsSearch: z.array(z.string()).default([]),
  user: z.string().nullable().default(null),
  /** Values that the agent fetches over its channel when it creates the container; they win over `env`. */
  secretEnv: z.array(z.object({ name: z.string(), secret: secretRefSchema })).default([]),
  /** Written into the container before it starts. */
  files: z
    .array(z.object({ path: z.string(), mode: z.number().int(), content: z.union([z.string(), secretRefSchema]) }))
    .default([]),
  mounts: z.array(mountSchema).default([]),
  tmpfs: z.array(z.object({ target: z.string(), sizeBytes: z.number().int().nullable() })).default([]),
  shmBytes: z.number().int().nullable().default(null),
  devices: z.array(z.object({ source: z.string(), target: z.string(), permissions: z.string() })).default([]),
  resources: resourceLimitsSchema.default({ memoryBytes: null, nanoCpus: null }),
  /** `host`: the host's own network, with no address, published port or search domain of its own. */
  network: z.enum(['node', 'host']).default('node'),
  /** The only capabilities that it has; null = Docker's own choice. */
  capabilities: z.array(z.string()).nullable().default(null),
})
export type ContainerSpec = z.infer<typeof containerSpecSchema>
/** As a planner gives it: what has a default may be left out. */
export type ContainerSpecGiven = z.input<typeof containerSpecSchema>

/** The endpoints of one resource as its readers (DNS, ingress) see them. */
export const publicationSchema = z.object({
  /** DNS names, each answering with all addresses. */
  names: z.array(z.string()),
  addresses: z.array(z.string()),
  /** Port that ingress dials; null when the resource has none. */
  port: z.number().int().nullable(),
  /** By address, where it differs from `port`: a change of the port rolls like any other. */
  otherPorts: z.record(z.string(), z.number().int()).optional(),
  /** Further ports that domains ask for by number, with those that have them. */
  morePorts: z.array(z.object({ port: z.number().int(), addresses: z.array(z.string()) })).optional(),
})
export type Publication = z.infer<typeof publicationSchema>

/** `always`: only a registry's word counts. `never`: only what the node has counts, and no registry is asked. */
export const pullPolicySchema = z.enum(['missing', 'always', 'never'])
export type PullPolicy = z.infer<typeof pullPolicySchema>

/** Name of the project's registry credential; the agent fetches it over its channel. null = none. */
const credentialRefSchema = z.string().nullable().default(null)

const ingressFileName = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,127}$/)

/** What each verb takes. */
export const argsSchemas = {
  resolveImage: z.object({
    image: z.string(),
    platform: z.string().nullable().default(null),
    credential: credentialRefSchema,
    policy: pullPolicySchema.default('missing'),
  }),
  pullImage: z.object({ image: z.string(), credential: credentialRefSchema }),
  ensureContainer: z.object({
    container: containerSpecSchema,
    /** Time that the action waits after the start for the first successful probe, to save a pass. */
    awaitReadyMs: z.number().int().min(0).default(0),
  }),
  /** Runs a container to its end and leaves it there: who asks again finds what became of it. */
  runToEnd: z.object({ container: containerSpecSchema }),
  /** Changes limits of a living container; a limit cannot be taken away like this. */
  setResources: z.object({ name: z.string(), resources: resourceLimitsSchema }),
  /** Stops and starts the same container, for one that hangs. */
  restartContainer: z.object({ name: z.string(), graceSeconds: z.number().int().min(0) }),
  /** Keeps the end of a container's log as an artifact. */
  keepLog: z.object({ name: z.string(), lines: z.number().int().min(1) }),
  setRestartPolicy: z.object({ name: z.string(), policy: restartPolicySchema }),
  retireContainer: z.object({ name: z.string(), graceSeconds: z.number().int().min(0) }),
  /** Loads a configuration (the artifact's SHA-256) into the ingress of the node, and reads it back. */
  loadIngressConfig: z.object({
    config: z.string().regex(/^[0-9a-f]{64}$/),
    /** Put where the configuration names them before it is loaded; `resource` is whose they are. */
    secrets: z.array(z.object({ file: ingressFileName, resource: z.string(), secret: z.string(), version: z.number().int() })).default([]),
    files: z.array(z.object({ file: ingressFileName, content: z.string() })).default([]),
  }),
  /** Removes a volume of the resource's own, with what it holds. */
  removeVolume: z.object({ name: z.string() }),
  publishEndpoints: z.object({ publication: publicationSchema.nullable(), revision: z.string() }),
} as const

export type Verb = keyof typeof argsSchemas
export type ArgsOf<V extends Verb> = z.infer<(typeof argsSchemas)[V]>
export type ArgsGiven<V extends Verb> = z.input<(typeof argsSchemas)[V]>

/** What each verb answers. Small: it goes through a workflow history. */
export interface ResultOf {
  resolveImage: { resolved: string; from: 'registry' | 'repo-digest' | 'image-id'; note: string }
  pullImage: { imageId: string }
  ensureContainer: { containerId: string; created: boolean; ready: boolean }
  runToEnd: { exitCode: number }
  setResources: Record<string, never>
  restartContainer: Record<string, never>
  /** null: there was no line. */
  keepLog: { sha256: string | null }
  setRestartPolicy: Record<string, never>
  retireContainer: { removed: boolean }
  removeVolume: { removed: boolean }
  publishEndpoints: { revision: string }
  /** SHA-256 of the configuration as it was read back; null: it was not loaded, because of the hosts that are named. */
  loadIngressConfig: { loaded: string | null; refused?: { host: string; message: string; part: string }[] }
}

interface ActionOf<V extends Verb> {
  /** Unique among the resource's actions in flight; the back-off and the agent's fence count per key. */
  key: string
  verb: V
  args: ArgsGiven<V>
  node: string
  queue: 'short' | 'long'
  /** Name of the container that the action changes: two actions on one container exclude each other. */
  container: string | null
  timeoutSeconds: number
  /** May be cancelled when a newer generation arrives: it changes nothing that serves. */
  supersedable: boolean
  /** One line for the operator, shown in the Temporal UI and in events. Never holds a secret. */
  summary: string
}
export type Action = { [V in Verb]: ActionOf<V> }[Verb]

/** How an action ended. */
export type Outcome =
  | { key: string; verb: Verb; ok: true; result: ResultOf[Verb] }
  | { key: string; verb: Verb; ok: false; reason: string; message: string; retryable: boolean; cancelled: boolean }

/** An action's end as the loop reports it to the next `decide`, with the generation that had started it. */
export type Settled = Outcome & { generation: number }

/** The result of a settled action of `verb`, when it succeeded. */
export function resultOf<V extends Verb>(settled: Settled[], key: string, verb: V): ResultOf[V] | undefined {
  const found = settled.find((s) => s.key === key && s.verb === verb && s.ok)
  return found?.ok ? (found.result as ResultOf[V]) : undefined
}
