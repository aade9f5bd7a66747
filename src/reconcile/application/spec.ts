import { z } from 'zod'
import type { Probe } from '../action.js'
import { shortHash } from '../hash.js'
import { reservedLabelPrefix } from '../labels.js'
import { imageSchema, nameSchema } from '../name.js'

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

const readinessSchema = z.object({
  /** Both absent: HTTP when `path` is given, else TCP. */
  path: z
    .string()
    .startsWith('/', 'must start with /')
    .regex(/^[\x21-\x7e]*$/, 'must hold printable ASCII only: write other characters as %XX')
    .max(2048)
    .optional(),
  /** Absent: the application's first port. */
  port: z.number().int().min(1).max(65535).optional(),
  intervalSeconds: z.number().min(0.1, 'must be at least 0.1').max(3600).optional(),
  timeoutSeconds: z.number().min(0.1, 'must be at least 0.1').max(300).optional(),
  failureThreshold: z.number().int().min(1).max(100).optional(),
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
    ports: z.array(z.number().int().min(1).max(65535)).max(32).superRefine(unique((p) => p, 'this port')).optional(),
    replicas: z.number().int().min(0, 'must be between 0 and 100').max(100, 'must be between 0 and 100').optional(),
    readiness: readinessSchema.optional(),
    /** Seconds that a new replica has to become ready. */
    startupBudgetSeconds: z.number().int().min(1).max(3600).optional(),
    stopGraceSeconds: z.number().int().min(0).max(3600).optional(),
    drainSeconds: z.number().int().min(0).max(3600).optional(),
    /** Where its replicas live; absent = the node that joined first. */
    placement: z.object({ node: nameSchema }).optional(),
  })
  .strict()
  .superRefine((spec, ctx) => {
    const sizes = (['env', 'command', 'entrypoint', 'labels'] as const).map((field) => ({ field, bytes: wireBytes(spec[field]) }))
    const bytes = sizes.reduce((sum, s) => sum + s.bytes, 0)
    const largest = sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a))
    if (bytes > settingsBytesMost)
      ctx.addIssue({
        code: 'custom',
        path: [largest.field],
        message: `is too big: env, command, entrypoint and labels take ${bytes} bytes on the wire, more than ${settingsBytesMost}`,
      })
    if (spec.readiness && spec.readiness.port === undefined && !spec.ports?.length)
      ctx.addIssue({ code: 'custom', path: ['readiness', 'port'], message: 'is needed, because the application has no ports' })
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
} as const

/** The part of a spec that cannot change in a living container; a release freezes it. */
export type ReleaseTemplate = Pick<
  ApplicationSpec,
  'image' | 'entrypoint' | 'command' | 'env' | 'labels' | 'ports' | 'readiness' | 'placement'
>

export function templateOf(spec: ApplicationSpec): ReleaseTemplate {
  const { image, entrypoint, command, env, labels, ports, readiness, placement } = spec
  return { image, entrypoint, command, env, labels, ports, readiness, placement }
}

/** Compared as text with the stored one to see whether a spec needs a new release. */
export function templateHash(template: ReleaseTemplate): string {
  return shortHash(template)
}

/** The probe of a release: as asked, else a TCP connect to its first port, else none. */
export function probeOf(template: ReleaseTemplate): Probe | null {
  const { readiness, ports } = template
  const port = readiness?.port ?? ports?.[0]
  if (port === undefined) return null
  return {
    kind: readiness?.path === undefined ? 'tcp' : 'http',
    port,
    path: readiness?.path ?? '/',
    intervalMs: Math.round((readiness?.intervalSeconds ?? applicationDefaults.probeIntervalSeconds) * 1000),
    timeoutMs: Math.round((readiness?.timeoutSeconds ?? applicationDefaults.probeTimeoutSeconds) * 1000),
    failureThreshold: readiness?.failureThreshold ?? applicationDefaults.probeFailureThreshold,
  }
}
