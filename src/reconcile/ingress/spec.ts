import { z } from 'zod'
import { imageSchema, nameSchema } from '../name.js'
import { domainSchema, tlsModes, type Domain } from './domain.js'

const port = z.number().int().min(1, 'must be between 1 and 65535').max(65535, 'must be between 1 and 65535')

/** Caddy refuses a whole configuration for roots that it cannot read. */
const certificatesOnly = /^\s*(-----BEGIN CERTIFICATE-----\s+MII[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/

/** Settings of one node's ingress. */
export const ingressSpecSchema = z
  .object({
    image: imageSchema.optional(),
    /** Absent: the node that joined first. */
    node: nameSchema.optional(),
    httpPort: port.optional(),
    httpsPort: port.optional(),
    /** What a domain gets that says nothing of TLS. */
    defaultTls: z.enum(tlsModes).exclude(['certificate']).optional(),
    acme: z
      .object({
        /** Absent: Let's Encrypt. */
        directory: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
        email: z.email('must be an e-mail address').optional(),
        /** PEM of the roots that the directory itself is trusted by; absent = the system's. */
        trustedRoots: z
          .string()
          .max(64 * 1024)
          .regex(certificatesOnly, 'must hold PEM blocks of certificates and nothing else')
          .optional(),
      })
      .optional(),
    /** Requests for hosts that nobody has are answered as if they were for this one. */
    defaultHost: domainSchema.shape.host.optional(),
    /** Proxies whose X-Forwarded-* are believed. */
    trustedProxies: z
      .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], 'must be an IP address or CIDR'))
      .max(256)
      .optional(),
    http3: z.boolean().optional(),
  })
  .strict()
  .superRefine(({ httpPort, httpsPort }, ctx) => {
    if ((httpPort ?? ingressDefaults.httpPort) === (httpsPort ?? ingressDefaults.httpsPort))
      ctx.addIssue({ code: 'custom', path: ['httpsPort'], message: 'must differ from httpPort' })
  })
export type IngressSpec = z.infer<typeof ingressSpecSchema>

export const ingressDefaults = {
  image: 'caddy:2.11',
  httpPort: 80,
  httpsPort: 443,
  defaultTls: 'internal',
  acmeDirectory: 'https://acme-v02.api.letsencrypt.org/directory',
} as const

/**
 * Caddy keeps so little in memory that Go would collect its garbage after every few requests. Four times what is kept,
 * instead of twice, is still little, and saves a tenth of its time.
 */
export const ingressRuntime: [string, string][] = [['GOGC', '300']]

/** What it listens on: every address of its node. HTTP/3 is UDP. */
export function ingressHostPorts({ httpPort, httpsPort, http3 }: IngressSpec) {
  const hostAddress = '0.0.0.0'
  const https = httpsPort ?? ingressDefaults.httpsPort
  return [
    { hostPort: httpPort ?? ingressDefaults.httpPort, hostAddress },
    { hostPort: https, hostAddress },
    ...(http3 === false ? [] : [{ hostPort: https, hostAddress, protocol: 'udp' as const }]),
  ]
}

/** Something that has domains, as its own row says it. */
export interface IngressTarget {
  /** Id of the application, and name of its endpoint files. */
  resource: string
  /** For messages: `shop/web`. */
  title: string
  domains: Domain[]
  /** The application's ports; the first is the one that a domain without `port` means. */
  ports: number[]
  /** Where it always is; null = in its endpoint files. */
  dial: string | null
  /** Newest version of each secret of its project, by name: `certificate` names one. */
  secretVersions: Record<string, number>
}

/** A domain that is not served, and why: told on its own application. */
export interface LeftOut {
  resource: string
  host: string
  path: string
  reason: 'InvalidRoute' | 'HostTaken' | 'CertificateMissing' | 'Refused'
  message: string
}

/** A secret that the agent puts where the configuration names it, before it loads it. */
export interface IngressSecret {
  /** Name of the file in the folder of secrets. */
  file: string
  resource: string
  secret: string
  version: number
}

/** A plain file that the agent puts into the folder of files before it loads the configuration. */
export interface IngressFile {
  /** Named by its content: another content is another configuration, which is then loaded. */
  file: string
  content: string
}

export interface Rendered {
  /** Caddy's own JSON. Holds no secret. */
  config: object
  secrets: IngressSecret[]
  files: IngressFile[]
  leftOut: LeftOut[]
  /** Hosts with a certificate of Caddy's making, or given: what there is to be told of. */
  certificates: { host: string; mode: TlsModeWithCertificate }[]
}
export type TlsModeWithCertificate = 'internal' | 'acme' | 'certificate'

/** Where things lie in Caddy's container. */
export const ingressPaths = {
  endpoints: '/endpoints',
  /** Admin socket, 503 responder's socket. Below 108 bytes, which is what a socket's path may have. */
  sockets: '/run/evenkeel',
  adminSocket: '/run/evenkeel/admin.sock',
  /** One file a secret, each readable by Caddy alone. */
  secrets: '/secrets',
  /** Plain files that the configuration names. */
  files: '/files',
  data: '/data',
  config: '/config',
} as const

/** What a slot without an endpoint dials: Caddy's own responder, which says 503. On a socket, so that no port is needed. */
export const unavailableDial = 'unix//run/evenkeel/unavailable.sock'

/** Name of the endpoint files of a target: the default port's are named by the resource alone. */
export function targetName(resource: string, port: number | undefined): string {
  return port === undefined ? resource : `${resource}-${port}`
}
