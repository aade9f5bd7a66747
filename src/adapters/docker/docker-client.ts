import { Agent } from 'node:http'
import { inspect } from 'node:util'
import Docker from 'dockerode'
import { EngineFailure } from './engine.js'
import { toEngineFailure, type EngineCall } from './engine-failures.js'

/** We are written against this API; a newer engine is asked to speak it, an older one its own newest. */
const newestApiVersion = '1.44'

/**
 * An engine that stops takes no new connections, and then stops its containers; but on connections that it has it goes on
 * answering, with failures that make no sense. Whoever acts must not take those ends and those answers for the containers' own.
 */
const connectionPerCall = new Agent({ keepAlive: false })

/** What `GET /version` tells, as far as it matters. */
export interface EngineVersion {
  Version: string
  ApiVersion: string
  MinAPIVersion?: string
  Arch: string
  Platform?: { Name: string }
  Components?: { Name: string }[]
}

/**
 * A connection to one engine. Speaks an API version that the engine knows (20.10 ends at 1.41, 29 begins at 1.44),
 * asks for it again after the engine was away, since it may have been upgraded, and bounds every call: when an engine
 * dies in the middle of an answer, dockerode's promise never settles.
 */
export class DockerClient {
  private negotiated: Promise<Docker> | null = null

  constructor(private readonly socket: string | null) {}

  /** Runs one call; fails with EngineFailure only. `signal` is the caller's, the time-out is added to it. */
  async call<T>(
    what: EngineCall,
    timeoutMs: number,
    run: (docker: Docker, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    try {
      return await bounded(timeoutMs, signal, async (bound) => run(await this.docker(), bound))
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      const failure = toEngineFailure(error, what)
      if (failure.reason === 'DockerUnreachable') this.negotiated = null
      throw failure
    }
  }

  async version(): Promise<EngineVersion> {
    return this.call('read', 5_000, async () => readVersion(this.open()))
  }

  private docker(): Promise<Docker> {
    this.negotiated ??= this.negotiate().catch((error: unknown) => {
      this.negotiated = null
      throw error
    })
    return this.negotiated
  }

  private async negotiate(): Promise<Docker> {
    const { ApiVersion, MinAPIVersion } = await readVersion(this.open())
    const version = compareVersions(ApiVersion, newestApiVersion) < 0 ? ApiVersion : newestApiVersion
    if (MinAPIVersion !== undefined && compareVersions(version, MinAPIVersion) < 0) {
      throw new EngineFailure(
        'EngineError',
        `the Docker engine refuses API versions below ${MinAPIVersion}, Evenkeel speaks ${newestApiVersion}`,
        false,
      )
    }
    return this.open(`v${version}`)
  }

  private open(version?: string): Docker {
    const docker = new Docker({ ...(this.socket ? { socketPath: this.socket } : {}), ...(version ? { version } : {}) })
    const modem = docker.modem as unknown as Modem
    if (modem.protocol !== 'https') modem.agent = connectionPerCall
    describeNoRequests(modem)
    return docker
  }
}

/** What docker-modem has beyond its types. */
interface Modem {
  protocol: string
  agent?: Agent
  buildRequest(options: object, ...rest: unknown[]): void
}

/**
 * docker-modem 5 writes out each request in full for its debug log, also when that is off: with every socket of its agent, so
 * that a call costs the more the more others are open. Fifty at once keep a core busy and time out.
 */
function describeNoRequests(modem: Modem): void {
  const build = modem.buildRequest.bind(modem)
  modem.buildRequest = (options, ...rest) => build(Object.assign(options, { [inspect.custom]: () => 'a request' }), ...rest)
}

async function readVersion(docker: Docker): Promise<EngineVersion> {
  return (await docker.version()) as unknown as EngineVersion
}

/** Below 0 when `a` is older than `b`. */
export function compareVersions(a: string, b: string): number {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number)
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number)
  return aMajor - bMajor || aMinor - bMinor
}

async function bounded<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const onAbort = () => controller.abort(signal?.reason)
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(
    () =>
      controller.abort(
        new EngineFailure('DockerUnreachable', `the Docker engine did not answer within ${timeoutMs / 1000} s`, true),
      ),
    timeoutMs,
  )
  const aborted = new Promise<never>((_, reject) => {
    const reject_ = () => reject(controller.signal.reason as Error)
    if (controller.signal.aborted) reject_()
    controller.signal.addEventListener('abort', reject_, { once: true })
  })
  aborted.catch(() => undefined)
  try {
    const result = run(controller.signal)
    result.catch(() => undefined)
    return await Promise.race([result, aborted])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}
