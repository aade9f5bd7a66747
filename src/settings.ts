import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

/**
 * Everything that is configured from outside, read once from the environment. A wrong value names its variable.
 * People's run-time settings live in the database, not here.
 */
const port = (fallback: number) => z.coerce.number().int().min(1).max(65535).default(fallback)

const optionalPort = z.coerce.number().int().min(1).max(65535).optional()

const schema = z.object({
  EVENKEEL_HOME: z.string().default(join(homedir(), '.evenkeel')),
  /** Address that API and demo listen on. */
  EVENKEEL_LISTEN: z.string().default('127.0.0.1'),
  EVENKEEL_API_PORT: port(4000),
  EVENKEEL_TEMPORAL_PORT: port(7233),
  EVENKEEL_TEMPORAL_UI_PORT: port(8233),
  EVENKEEL_POSTGRES_PORT: port(5433),
  EVENKEEL_DEMO_PORT: port(8088),
  /** Ports of this machine's ingress. Absent: 80 and 443 where they are free when it is made, else 8080 and 8443. */
  EVENKEEL_HTTP_PORT: optionalPort,
  EVENKEEL_HTTPS_PORT: optionalPort,
  EVENKEEL_WORKER_METRICS_PORT: port(9464),
  /** Address that the worker's metrics listen on: they ask nobody for a token. */
  EVENKEEL_METRICS_LISTEN: z.string().default('127.0.0.1'),
  EVENKEEL_DATABASE_URL: z.string().optional(),
  EVENKEEL_TEMPORAL_ADDRESS: z.string().optional(),
  EVENKEEL_TEMPORAL_NAMESPACE: z.string().default('default'),
  EVENKEEL_TEMPORAL_UI_URL: z.string().optional(),
  /** Pool that every node's /20 is cut from. Overlapping host routes are left out, never renumbered. */
  EVENKEEL_NETWORK_POOL: z.string().default('10.192.0.0/12'),
  EVENKEEL_DNS_TTL_SECONDS: z.coerce.number().int().min(1).max(300).default(5),
  EVENKEEL_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
})

export interface Settings {
  home: string
  listen: string
  apiPort: number
  temporalPort: number
  temporalUiPort: number
  postgresPort: number
  demoPort: number
  httpPort: number | undefined
  httpsPort: number | undefined
  workerMetricsPort: number
  metricsListen: string
  /** Set when PostgreSQL is somebody else's; else the embedded one's, which `up` passes on. */
  databaseUrl: string | undefined
  temporalAddress: string
  temporalNamespace: string
  temporalUiUrl: string
  networkPool: string
  dnsTtlSeconds: number
  logLevel: string
}

export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const parsed = schema.safeParse(env)
  if (!parsed.success) {
    const lines = parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`)
    throw new Error(`wrong settings in the environment: ${lines.join('; ')}`)
  }
  const e = parsed.data
  return {
    home: e.EVENKEEL_HOME,
    listen: e.EVENKEEL_LISTEN,
    apiPort: e.EVENKEEL_API_PORT,
    temporalPort: e.EVENKEEL_TEMPORAL_PORT,
    temporalUiPort: e.EVENKEEL_TEMPORAL_UI_PORT,
    postgresPort: e.EVENKEEL_POSTGRES_PORT,
    demoPort: e.EVENKEEL_DEMO_PORT,
    httpPort: e.EVENKEEL_HTTP_PORT,
    httpsPort: e.EVENKEEL_HTTPS_PORT,
    workerMetricsPort: e.EVENKEEL_WORKER_METRICS_PORT,
    metricsListen: e.EVENKEEL_METRICS_LISTEN,
    databaseUrl: databaseUrlOf(env),
    temporalAddress: e.EVENKEEL_TEMPORAL_ADDRESS ?? `127.0.0.1:${e.EVENKEEL_TEMPORAL_PORT}`,
    temporalNamespace: e.EVENKEEL_TEMPORAL_NAMESPACE,
    temporalUiUrl: e.EVENKEEL_TEMPORAL_UI_URL ?? `http://127.0.0.1:${e.EVENKEEL_TEMPORAL_UI_PORT}`,
    networkPool: e.EVENKEEL_NETWORK_POOL,
    dnsTtlSeconds: e.EVENKEEL_DNS_TTL_SECONDS,
    logLevel: e.EVENKEEL_LOG_LEVEL,
  }
}

/**
 * EVENKEEL_DATABASE_URL, with the password of EVENKEEL_DATABASE_PASSWORD_FILE put in when there is one: an environment is
 * shown by `docker inspect`, a mounted file is not.
 */
export function databaseUrlOf(env: NodeJS.ProcessEnv): string | undefined {
  const { EVENKEEL_DATABASE_URL: url, EVENKEEL_DATABASE_PASSWORD_FILE: file } = env
  if (!url || !file) return url || undefined
  let withPassword: URL
  try {
    withPassword = new URL(url)
  } catch {
    throw new Error('EVENKEEL_DATABASE_URL is no URL: it looks like postgresql://user@host:5432/database')
  }
  try {
    withPassword.password = encodeURIComponent(readFileSync(file, 'utf8').trim())
  } catch (error) {
    throw new Error(`EVENKEEL_DATABASE_PASSWORD_FILE: ${(error as Error).message}`)
  }
  return withPassword.href
}

/** Where things lie below the state directory. Files in `secrets` are 0600. */
export const homePaths = (home: string) => ({
  instance: join(home, 'instance'),
  secrets: join(home, 'secrets'),
  signingKey: join(home, 'secrets', 'signing-key.pem'),
  masterKey: join(home, 'secrets', 'master.key'),
  ownerToken: join(home, 'secrets', 'owner-token'),
  agentConfig: join(home, 'agent', 'config.json'),
  agentState: join(home, 'agent'),
})
