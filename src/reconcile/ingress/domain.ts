import { z } from 'zod'
import { isPlainText, nameSchema, plainTextRule } from '../name.js'
import { canonicalHost, HostError } from './host.js'

const text = z.string().refine(isPlainText, plainTextRule)

/** Unreserved characters, which mean the same with and without an escape; and what servers take for a slash or an end. */
const plainlyEscaped = /%(4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A]|3[0-9]|2[DEF]|5[CF]|7E|00)/
/** Without the tab: what no header's value may hold. */
// oxlint-disable-next-line no-control-regex
const control = /[\x00-\x08\x0a-\x1f\x7f]/

/** Stored in its canonical form, however it was written: claims compare hosts as text. */
const hostSchema = z.string().transform((given, ctx) => {
  try {
    return canonicalHost(given)
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    ctx.addIssue({ code: 'custom', message: error.message })
    return z.NEVER
  }
})

/**
 * `/` is the whole host; else no slash at the end. What could be written in two ways is refused in one of them, so that
 * equal prefixes are equal texts, letters' case aside: Caddy compares paths without it.
 */
const pathSchema = z
  .string()
  .max(1024)
  .startsWith('/', 'must start with /')
  .regex(
    /^([A-Za-z0-9._~!$&'()+,;=:@/-]|%[0-9A-F]{2})*$/,
    "is a prefix of letters, digits and . _ ~ ! $ & ' ( ) + , ; = : @ - /: write other characters as %XX in capitals",
  )
  .refine((p) => !plainlyEscaped.test(p), 'must not escape what needs no escape, nor a slash')
  .refine((p) => !p.split('/').some((part) => part === '.' || part === '..'), 'must not contain . or .. as a part')
  .refine((p) => !p.includes('//'), 'must not contain //')
  .refine((p) => p === '/' || !p.endsWith('/'), 'must not end with /: a prefix covers what is below it')

/** RFC 9110: a field's name is a token (without the *, which Caddy takes for a pattern), and its value one line. */
const headerSchema = z.object({
  name: z
    .string()
    .max(256)
    .regex(/^[A-Za-z0-9!#$%&'+.^_`|~-]+$/, 'is no header name'),
  /** Absent: the header is removed. Taken as it is: nothing in it is expanded. Several of one name are joined by commas. */
  value: text
    .max(4096)
    .refine((v) => !control.test(v), 'must not contain a line break or another control character')
    .optional(),
})

export const tlsModes = ['internal', 'acme', 'certificate', 'off'] as const
export type TlsMode = (typeof tlsModes)[number]

export const balancingPolicies = ['round-robin', 'least-connections', 'random', 'ip-hash', 'cookie'] as const

const seconds = z.number().min(0.1, 'must be at least 0.1').max(86_400, 'must be at most 86400')

const cidrSchema = z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], 'must be an IP address or CIDR, e.g. 192.0.2.0/24')

export const domainSchema = z
  .object({
    /** `shop.example.com`, or `*.example.com` for every name one level below. */
    host: hostSchema,
    /** Only requests at or below this path; absent = all. */
    path: pathSchema.optional(),
    /** Takes the path prefix away before the application sees the request. */
    stripPath: z.boolean().optional(),
    /** One of the application's ports; absent = its first. */
    port: z.number().int().min(1).max(65535).optional(),
    /** Absent: what the ingress takes by default. */
    tls: z.enum(tlsModes).optional(),
    /** With `tls: certificate`: name of the project's secret that holds the chain and its key as PEM. */
    certificate: nameSchema.optional(),
    /** Answers with a redirect and asks the application nothing. */
    redirect: z
      .object({
        /** `https://shop.example.com`, with or without a slash: keeps the request's path and query. With more: goes there. */
        to: text.max(2048),
        permanent: z.boolean().optional(),
      })
      .optional(),
    /** Any of these may enter. Passwords are kept as bcrypt hashes only. */
    basicAuth: z
      .array(
        z.object({
          username: text
            .min(1)
            .max(255)
            .regex(/^[^:\r\n]+$/, 'must not contain a colon or a line break'),
          passwordHash: z
            .string()
            .regex(/^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash with a cost of 4 to 15'),
        }),
      )
      .min(1, 'must name somebody')
      .max(64)
      .optional(),
    requestHeaders: z.array(headerSchema).max(64).optional(),
    responseHeaders: z.array(headerSchema).max(64).optional(),
    /** Everybody else gets 403. */
    allowedAddresses: z.array(cidrSchema).min(1, 'must name somebody').max(256).optional(),
    bodyLimitBytes: z
      .number()
      .int()
      .min(1)
      .max(2 ** 40)
      .optional(),
    compression: z.boolean().optional(),
    timeouts: z
      .object({
        /** Until the application's first byte of an answer. */
        responseHeaderSeconds: seconds.optional(),
        /** Between two reads from the application. */
        readSeconds: seconds.optional(),
        writeSeconds: seconds.optional(),
      })
      .optional(),
    balancing: z
      .object({
        policy: z.enum(balancingPolicies),
        cookie: z
          .string()
          .regex(/^[A-Za-z0-9_-]{1,64}$/)
          .optional(),
      })
      .optional(),
  })
  .strict()

export type Domain = z.infer<typeof domainSchema>

/** What no two domains of an instance share. Caddy compares paths without the case of letters. */
export function domainKey({ host, path }: Pick<Domain, 'host' | 'path'>): string {
  return `${host}${(path ?? '/').toLowerCase()}`
}

export { domainIssues } from './domain-issues.js'
