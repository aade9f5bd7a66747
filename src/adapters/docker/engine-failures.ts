import { EngineFailure, type EngineFailureReason } from './engine.js'

/** What was asked of the engine: the same words mean different things in an answer to a pull and to a start. */
export type EngineCall = 'read' | 'create' | 'start' | 'change' | 'registry'

/** An error as dockerode throws it: of the socket with a `code`, or of the engine with a `statusCode`. */
interface ClientError extends Error {
  code?: string
  statusCode?: number
  json?: { message?: string } | null
}

interface Rule {
  when: RegExp
  calls: EngineCall[]
  reason: EngineFailureReason
  retryable: boolean
}

const socketCodes = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'EPIPE',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EACCES',
  'ERR_STREAM_PREMATURE_CLOSE',
])

/** The engine's answers have no machine-readable reasons, so its words decide. First match wins. */
const rules: Rule[] = [
  {
    when: /no space left on device|disk quota exceeded/i,
    calls: ['create', 'start', 'change', 'registry', 'read'],
    reason: 'DiskFull',
    retryable: true,
  },
  { when: /toomanyrequests|too many requests|rate limit/i, calls: ['registry'], reason: 'ImagePullRateLimited', retryable: true },
  {
    when: /no matching manifest|does not match the (specified|detected) .*platform/i,
    calls: ['registry'],
    reason: 'ImagePlatformMismatch',
    retryable: false,
  },
  {
    when: /manifest unknown|name unknown|manifest for .* not found|repository .* not found/i,
    calls: ['registry'],
    reason: 'ImageNotFound',
    retryable: false,
  },
  { when: /invalid reference format/i, calls: ['registry'], reason: 'ImageNotFound', retryable: false },
  { when: /connect: permission denied/i, calls: ['registry'], reason: 'RegistryUnreachable', retryable: true },
  {
    when: /unauthorized|denied|authentication required|no basic auth credentials/i,
    calls: ['registry'],
    reason: 'ImagePullUnauthorized',
    retryable: false,
  },
  {
    when: /dial |lookup |no such host|i\/o timeout|timed? ?out|deadline exceeded|connection (refused|reset)|\bEOF\b|tls|x509|unexpected HTTP status|request canceled|server misbehaving/i,
    calls: ['registry'],
    reason: 'RegistryUnreachable',
    retryable: true,
  },
  { when: /volume is in use/i, calls: ['change'], reason: 'VolumeInUse', retryable: true },
  { when: /name .* is already in use/i, calls: ['create'], reason: 'NameTaken', retryable: true },
  { when: /no such image/i, calls: ['create'], reason: 'ImageMissing', retryable: true },
  {
    when: /port is already allocated|bind: address already in use|ports are not available/i,
    calls: ['start'],
    reason: 'PortTaken',
    retryable: true,
  },
  { when: /address already in use/i, calls: ['create', 'start'], reason: 'AddressInUse', retryable: true },
  { when: /network \S+ not found/i, calls: ['create', 'start'], reason: 'NetworkMissing', retryable: true },
  {
    when: /bind source path does not exist|error mounting "/i,
    calls: ['create', 'start'],
    reason: 'BindSourceMissing',
    retryable: true,
  },
  { when: /gathering device information/i, calls: ['create', 'start'], reason: 'DeviceMissing', retryable: true },
  { when: /unable to find (user|group) /i, calls: ['start'], reason: 'UserNotFound', retryable: false },
  {
    when: /range of CPUs is from|minimum memory limit allowed/i,
    calls: ['create', 'change'],
    reason: 'ResourcesNotApplied',
    retryable: false,
  },
  {
    when: /executable file not found|no such file or directory|exec: .*permission denied|exec format error/i,
    calls: ['start'],
    reason: 'CommandNotFound',
    retryable: false,
  },
]

/** Translates whatever a call threw into the engine's refusal in our own words. */
export function toEngineFailure(error: unknown, call: EngineCall): EngineFailure {
  if (error instanceof EngineFailure) return error
  const { code, statusCode, json, message } = asClientError(error)
  if (statusCode === undefined && code !== undefined && socketCodes.has(code)) {
    return new EngineFailure('DockerUnreachable', `the Docker engine cannot be reached: ${message}`, true)
  }
  const said = (json?.message ?? message.replace(/^\(HTTP code \d+\) [^-]*- /, '')).trim()
  const rule = rules.find((r) => r.calls.includes(call) && r.when.test(said))
  if (rule) return new EngineFailure(rule.reason, said, rule.retryable)
  if (statusCode === 404) return new EngineFailure('NotFound', said, true)
  return new EngineFailure('EngineError', said, statusCode !== 400)
}

/** The HTTP status behind an error, when the engine answered at all. */
export function statusOf(error: unknown): number | undefined {
  return asClientError(error).statusCode
}

function asClientError(error: unknown): ClientError {
  return error instanceof Error ? error : new Error(String(error))
}
