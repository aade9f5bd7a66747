import { z } from 'zod'
import type { Probe, ResourceLimits } from '../action.js'
import { shortHash } from '../hash.js'
import { domainIssues, domainSchema } from '../ingress/domain.js'
import { reservedLabelPrefix } from '../labels.js'
import { imageSchema, nameSchema } from '../name.js'
import { pathIssues } from './paths.js'

/** Text that PostgreSQL, JSON and a process's environment all can hold. */
const text = z
  .string()
  .refine((t) => !t.includes('\0'), 'must not contain NUL')
  .refine((t) => t.isWellFormed(), 'must be valid Unicode')

const envSchema = z.object({
  name: text
    .min(1, 'must not be empty')
    .max(255)
    .refine((n) => !n.includes('='), 'must not contain ='),
  value: text.max(32 * 1024, 'must have at most 32768 characters'),
})

const labelSchema = z.object({
  key: text
    .min(1)
    .max(255)
    .refine((k) => !k.startsWith(reservedLabelPrefix), `must not start with ${reservedLabelPrefix}, which Evenkeel keeps for itself`),
  value: text.max(4096),
})

const port = z.number().int().min(1, 'must be between 1 and 65535').max(65535, 'must be between 1 and 65535')
const absolutePath = text
  .min(2, 'must name a place below /')
  .max(4096)
  .startsWith('/', 'must be absolute: begin with /')
  .refine((p) => !p.split('/').includes('..'), 'must not contain ..')
const secretName = nameSchema

const secretEnvSchema = z.object({
  name: envSchema.shape.name,
  /** Name of a secret of the project. */
  secret: secretName,
  /** Absent: the newest one, so that a rotation rolls out. */
  version: z.number().int().min(1).optional(),
})

/** A text or a secret that stands at a path when the container starts. */
const fileSchema = z
  .object({
    path: absolutePath,
    content: text.max(32 * 1024, 'must have at most 32768 characters').optional(),
    secret: secretName.optional(),
    /** Absent: the newest one. */
    version: z.number().int().min(1).optional(),
    /** Octal text, e.g. `0644`. */
    mode: z.string().regex(/^0?[0-7]{3}$/, 'must be octal, e.g. 0644').optional(),
  })
  .refine((f) => (f.content === undefined) !== (f.secret === undefined), 'must have either content or secret')

const volumeSchema = z.object({ name: nameSchema, path: absolutePath, readOnly: z.boolean().optional() })
const bindMountSchema = z.object({ source: absolutePath, path: absolutePath, readOnly: z.boolean().optional() })
const tmpfsSchema = z.object({
  path: absolutePath,
  sizeBytes: z.number().int().min(4096, 'must be at least 4096').max(2 ** 40, 'is more than any machine has').optional(),
})
const deviceSchema = z.object({
  source: absolutePath,
  path: absolutePath.optional(),
  permissions: z.string().regex(/^(?=.)r?w?m?$/, 'must be made of r, w and m').optional(),
})

const publishedPortSchema = z.object({
  port,
  hostPort: port,
  /** Absent: 127.0.0.1. */
  hostAddress: z.ipv4('must be an IPv4 address').optional(),
  protocol: z.enum(['tcp', 'udp']).optional(),
})

/** Where a published port listens; two that overlap cannot both be had on one node. */
export interface HostPort {
  hostPort: number
  hostAddress?: string | undefined
  protocol?: 'tcp' | 'udp' | undefined
}

export const everyAddress = '0.0.0.0'

export function hostPortText({ hostPort, hostAddress, protocol }: HostPort): string {
  return `${hostAddress ?? applicationDefaults.hostAddress}:${hostPort}/${protocol ?? 'tcp'}`
}

export function hostPortsOverlap(a: HostPort, b: HostPort): boolean {
  const [left, right] = [a, b].map((p) => p.hostAddress ?? applicationDefaults.hostAddress)
  return (
    a.hostPort === b.hostPort &&
    (a.protocol ?? 'tcp') === (b.protocol ?? 'tcp') &&
    (left === right || left === everyAddress || right === everyAddress)
  )
}

/** Docker refuses less memory than this (docs.docker.com, resource constraints: 6m). */
export const memoryBytesLeast = 6 * 1024 * 1024
const resourcesSchema = z.object({
  memoryBytes: z
    .number()
    .int()
    .min(memoryBytesLeast, `must be at least ${memoryBytesLeast} (6 MiB), Docker's minimum`)
    .max(2 ** 50, 'is more than any machine has')
    .optional(),
  /** Cores; fractions are fine. */
  cpus: z.number().min(0.01, 'must be at least 0.01').max(1024, 'is more than any machine has').optional(),
})

const probeTiming = {
  intervalSeconds: z.number().min(0.1, 'must be at least 0.1').max(3600).optional(),
  timeoutSeconds: z.number().min(0.1, 'must be at least 0.1').max(300).optional(),
  failureThreshold: z.number().int().min(1).max(100).optional(),
}

const preDeploySchema = z.object({
  command: z.array(text.max(32 * 1024)).min(1, 'must not be empty').max(128),
  timeoutSeconds: z.number().int().min(1).max(86_400).optional(),
})

const readinessSchema = z.object({
  /** Both absent: HTTP when `path` is given, else TCP. */
  path: z
    .string()
    .startsWith('/', 'must start with /')
    .regex(/^[\x21-\x7e]*$/, 'must hold printable ASCII only: write other characters as %XX')
    .max(2048)
    .optional(),
  /** Absent: the application's first port. */
  port: port.optional(),
  /** Run in the container instead; only what people ask for is run there, because many images have no tools. */
  command: z.array(text.max(4096)).min(1).max(32).optional(),
  ...probeTiming,
})

const argument = text.max(32 * 1024)

function unique<T>(keyOf: (item: T) => unknown, what: string) {
  return (items: T[] | undefined, ctx: z.RefinementCtx) => {
    const seen = new Set<unknown>()
    items?.forEach((item, index) => {
      if (seen.has(keyOf(item))) ctx.addIssue({ code: 'custom', path: [index], message: `${what} is given twice` })
      seen.add(keyOf(item))
    })
  }
}

/** Bytes of a container's settings on the wire that leave an action's payload below 64 KB. */
export const settingsBytesMost = 40 * 1024

/** A signed action travels as JSON text within JSON, so quotes and control characters cost more than they seem to. */
function wireBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(JSON.stringify(value)))
}

/**
 * What people ask for. Stored exactly as they said it, without defaults: a default that changes with an upgrade
 * must neither restart a fleet nor look like somebody's wish.
 */
export const applicationSpecSchema = z
  .object({
    image: imageSchema,
    entrypoint: z.array(argument).min(1).max(128).optional(),
    command: z.array(argument).max(128).optional(),
    env: z.array(envSchema).superRefine(unique((e) => e.name, 'this name')).optional(),
    labels: z.array(labelSchema).max(32).superRefine(unique((l) => l.key, 'this key')).optional(),
    /** Container ports; the first is the one that ingress and the default probe use. */
    ports: z.array(port).max(32).superRefine(unique((p) => p, 'this port')).optional(),
    replicas: z.number().int().min(0, 'must be between 0 and 100').max(100, 'must be between 0 and 100').optional(),
    readiness: readinessSchema.optional(),
    /** A replica that fails this is restarted; absent = only an exit counts. */
    liveness: readinessSchema.optional(),
    secretEnv: z.array(secretEnvSchema).max(256).superRefine(unique((e) => e.name, 'this name')).optional(),
    files: z.array(fileSchema).max(64).optional(),
    /** `user`, `uid`, `user:group` or `uid:gid`. */
    user: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/, 'must be user, uid, user:group or uid:gid').optional(),
    publishedPorts: z
      .array(publishedPortSchema)
      .max(32)
      .superRefine((ports, ctx) =>
        ports.forEach((port, index) => {
          const earlier = ports.slice(0, index).find((other) => hostPortsOverlap(other, port))
          if (earlier) ctx.addIssue({ code: 'custom', path: [index, 'hostPort'], message: `overlaps ${hostPortText(earlier)} of the same list` })
        }),
      )
      .optional(),
    /** Survive the application's containers; named by the application, so two applications never share one. */
    volumes: z.array(volumeSchema).max(32).superRefine(unique((v) => v.name, 'this name')).optional(),
    bindMounts: z.array(bindMountSchema).max(32).optional(),
    tmpfs: z.array(tmpfsSchema).max(16).optional(),
    shmBytes: z.number().int().min(65_536, 'must be at least 65536').max(2 ** 40, 'is more than any machine has').optional(),
    devices: z.array(deviceSchema).max(16).optional(),
    resources: resourcesSchema.optional(),
    strategy: z.enum(['rolling', 'recreate', 'blue-green']).optional(),
    /** Runs once for each release, with its image and settings, before anything is switched to it. */
    preDeploy: preDeploySchema.optional(),
    /** Names of applications of the same project that have to be Ready before a new release starts. */
    dependsOn: z.array(nameSchema).max(32).superRefine(unique((n) => n, 'this name')).optional(),
    pullPolicy: z.enum(['missing', 'always', 'never']).optional(),
    /** Name of the project's registry credential. */
    registryCredential: nameSchema.optional(),
    /** Any change of it makes a new release of the same settings. */
    restartNonce: z.number().int().min(0).optional(),
    /** Runs nothing, keeps everything else. */
    suspended: z.boolean().optional(),
    /** Seconds that a new replica has to become ready. */
    startupBudgetSeconds: z.number().int().min(1).max(3600).optional(),
    stopGraceSeconds: z.number().int().min(0).max(3600).optional(),
    drainSeconds: z.number().int().min(0).max(3600).optional(),
    /** Hosts that its ingress serves it under. */
    domains: z.array(domainSchema).max(64).optional(),
    /** Where its replicas live; absent = the node that joined first. */
    placement: z.object({ node: nameSchema }).optional(),
  })
  .strict()
  .superRefine((spec, ctx) => {
    const sizes = (['env', 'secretEnv', 'files', 'command', 'entrypoint', 'labels', 'preDeploy'] as const).map((field) => ({ field, bytes: wireBytes(spec[field]) }))
    const bytes = sizes.reduce((sum, s) => sum + s.bytes, 0)
    const largest = sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a))
    if (bytes > settingsBytesMost)
      ctx.addIssue({
        code: 'custom',
        path: [largest.field],
        message: `is too big: env, files, commands and labels take ${bytes} bytes on the wire, more than ${settingsBytesMost}`,
      })
    for (const field of ['readiness', 'liveness'] as const) {
      const probe = spec[field]
      if (probe?.command && probe.path !== undefined)
        ctx.addIssue({ code: 'custom', path: [field, 'command'], message: 'cannot be given beside path: a probe is either a command or an HTTP request' })
      if (!probe || probe.command) continue
      if (probe.port === undefined && !spec.ports?.length)
        ctx.addIssue({ code: 'custom', path: [field, 'port'], message: 'is needed, because the application has no ports' })
      else if (probe.port !== undefined && spec.ports && !spec.ports.includes(probe.port))
        ctx.addIssue({ code: 'custom', path: [field, 'port'], message: `must be one of the application's ports: ${spec.ports.join(', ')}` })
    }
    // All replicas live on one node, so a second one could never bind.
    if (spec.publishedPorts?.length && (spec.replicas ?? applicationDefaults.replicas) > 1)
      ctx.addIssue({ code: 'custom', path: ['replicas'], message: 'must be 0 or 1 while host ports are published: each replica would need them' })
    domainIssues(spec.domains ?? [], spec.ports).forEach(({ path, message }) => ctx.addIssue({ code: 'custom', path: ['domains', ...path], message }))
    pathIssues(spec).forEach((issue) => ctx.addIssue({ code: 'custom', ...issue }))
  })

export type ApplicationSpec = z.infer<typeof applicationSpecSchema>

export const applicationDefaults = {
  replicas: 1,
  startupBudgetSeconds: 60,
  stopGraceSeconds: 10,
  drainSeconds: 30,
  probeIntervalSeconds: 2,
  probeTimeoutSeconds: 2,
  probeFailureThreshold: 3,
  preDeployTimeoutSeconds: 600,
  strategy: 'rolling',
  pullPolicy: 'missing',
  hostAddress: '127.0.0.1',
} as const

/** The part of a spec that cannot change in a living container; a release freezes it. */
export const templateFields = [
  'image',
  'entrypoint',
  'command',
  'env',
  'labels',
  'ports',
  'readiness',
  'placement',
  'liveness',
  'secretEnv',
  'files',
  'user',
  'publishedPorts',
  'volumes',
  'bindMounts',
  'tmpfs',
  'shmBytes',
  'devices',
  'preDeploy',
  'restartNonce',
] as const satisfies (keyof ApplicationSpec)[]

export type ReleaseTemplate = Pick<ApplicationSpec, (typeof templateFields)[number]>

/** What an application's template takes from beyond its own spec. */
export interface TemplateContext {
  /** Env of the project: what the application itself names wins. */
  projectEnv: { name: string; value: string }[]
  /** Newest version of each of the project's secrets, by name. */
  secretVersions: Record<string, number>
}

export const emptyContext: TemplateContext = { projectEnv: [], secretVersions: {} }

/** Secrets by version and env by its precedence: project < literal < secret. */
export function templateOf(spec: ApplicationSpec, { projectEnv, secretVersions }: TemplateContext = emptyContext): ReleaseTemplate {
  const own = Object.fromEntries(templateFields.map((field) => [field, spec[field]])) as ReleaseTemplate
  const pinned = <T extends { secret?: string; version?: number }>(item: T): T =>
    item.secret === undefined || item.version !== undefined ? item : { ...item, version: secretVersions[item.secret] }
  return {
    ...own,
    env: mergedEnv(projectEnv, spec),
    ...(spec.secretEnv ? { secretEnv: spec.secretEnv.map(pinned) } : {}),
    ...(spec.files ? { files: spec.files.map(pinned) } : {}),
  }
}

function mergedEnv(projectEnv: TemplateContext['projectEnv'], { env, secretEnv }: ApplicationSpec): ApplicationSpec['env'] {
  if (projectEnv.length === 0 && !secretEnv) return env
  const bySecret = new Set((secretEnv ?? []).map((e) => e.name))
  const byName = new Map([...projectEnv, ...(env ?? [])].map((e) => [e.name, e]))
  return [...byName.values()].filter((e) => !bySecret.has(e.name))
}

/** Compared as text with the stored one to see whether a spec needs a new release. */
export function templateHash(template: ReleaseTemplate): string {
  return shortHash(template)
}

/** The readiness probe of a release: as asked, else a TCP connect to its first port, else none. */
export function probeOf(template: ReleaseTemplate): Probe | null {
  return probeFrom(template.readiness ?? {}, template.ports)
}

/** The liveness probe of a release; null when nobody asked for one. */
export function livenessOf(template: ReleaseTemplate): Probe | null {
  return template.liveness ? probeFrom(template.liveness, template.ports) : null
}

function probeFrom(asked: NonNullable<ApplicationSpec['readiness']>, ports: number[] | undefined): Probe | null {
  const timing = {
    intervalMs: Math.round((asked.intervalSeconds ?? applicationDefaults.probeIntervalSeconds) * 1000),
    timeoutMs: Math.round((asked.timeoutSeconds ?? applicationDefaults.probeTimeoutSeconds) * 1000),
    failureThreshold: asked.failureThreshold ?? applicationDefaults.probeFailureThreshold,
  }
  if (asked.command) return { kind: 'exec', command: asked.command, ...timing }
  const port = asked.port ?? ports?.[0]
  if (port === undefined) return null
  return { kind: asked.path === undefined ? 'tcp' : 'http', port, path: asked.path ?? '/', ...timing }
}

/** What `docker inspect` should say of a container's limits. */
export function limitsOf({ resources }: ApplicationSpec): ResourceLimits {
  const { memoryBytes, cpus } = resources ?? {}
  return { memoryBytes: memoryBytes ?? null, nanoCpus: cpus === undefined ? null : Math.round(cpus * 1e9) }
}

/** How long a new replica has to become ready, in milliseconds. */
export function startupBudgetMsOf({ startupBudgetSeconds }: ApplicationSpec): number {
  return (startupBudgetSeconds ?? applicationDefaults.startupBudgetSeconds) * 1_000
}

export function stopGraceSecondsOf({ stopGraceSeconds }: ApplicationSpec): number {
  return stopGraceSeconds ?? applicationDefaults.stopGraceSeconds
}
