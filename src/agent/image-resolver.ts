import { EngineFailure, type Engine, type EngineFailureReason, type RegistryAuth } from '../adapters/docker/engine.js'
import { registryHostOf } from '../adapters/docker/reference.js'
import type { PullPolicy, ResultOf } from '../reconcile/action.js'
import type { Clock } from './ports.js'

type Resolved = ResultOf['resolveImage']

/** A registry has this long to name a digest. */
const askMs = 5_000
/** A registry that did not answer is not asked again for this long, when the image is here anyway. */
const silentForMs = 30_000

/** Whoever only looks does not wait longer than this for a registry, */
const quickMs = 500
/** and does not ask again for this long after it had no answer. */
const slowForMs = 30_000

const denials = new Set<EngineFailureReason>(['ImageNotFound', 'ImagePullUnauthorized', 'ImagePlatformMismatch'])

export interface ResolveOptions {
  auth?: RegistryAuth | null
  policy?: PullPolicy
}

/**
 * What a tag means now. The registry's digest if it can be asked; else what this node has, because a registry that is
 * away, or was never meant to know a locally built image, must not stop a release.
 */
export class ImageResolver {
  private readonly silentSince = new Map<string, { at: number; failure: EngineFailure }>()
  private readonly slowSince = new Map<string, number>()

  constructor(
    private readonly engine: Engine,
    private readonly clock: Clock,
  ) {}

  async resolve(image: string, signal: AbortSignal, { auth = null, policy = 'missing' }: ResolveOptions = {}): Promise<Resolved> {
    if (image.includes('@')) return { resolved: image, from: 'registry', note: 'named by its digest' }
    if (policy === 'never') return this.fromNode(image, notAsked(image))
    const asked = await this.ask(image, signal, auth)
    if (typeof asked === 'string') return { resolved: asked, from: 'registry', note: '' }
    if (policy === 'always') throw asked
    return this.fromNode(image, asked)
  }

  /** The same if the answer is at hand; null when it is slow, or a failure that an action has to report. */
  async quickly(image: string): Promise<Resolved | null> {
    const now = this.clock.now()
    if (now - (this.slowSince.get(image) ?? -Infinity) < slowForMs) return null
    const tooLate = new AbortController()
    const late = this.clock.sleep(quickMs, tooLate.signal).then(
      () => null,
      () => null,
    )
    const resolved = await Promise.race([this.resolve(image, tooLate.signal).catch(() => null), late])
    tooLate.abort()
    if (resolved === null) {
      this.forgetSlow(now)
      this.slowSince.set(image, now)
    }
    return resolved
  }

  private forgetSlow(now: number): void {
    for (const [image, at] of this.slowSince) if (now - at >= slowForMs) this.slowSince.delete(image)
  }

  /** The registry's digest, or why there is none. */
  private async ask(image: string, signal: AbortSignal, auth: RegistryAuth | null): Promise<string | EngineFailure> {
    const host = registryHostOf(image)
    const silent = this.silentSince.get(host)
    const local = silent ? await this.engine.imageId(image) : null
    if (silent && local !== null && this.clock.now() - silent.at < silentForMs) return silent.failure
    try {
      const digest = await this.engine.remoteDigest(image, AbortSignal.any([signal, AbortSignal.timeout(askMs)]), auth)
      this.silentSince.delete(host)
      return digest
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure = asRegistryFailure(error, host)
      if (failure.reason === 'RegistryUnreachable') this.silentSince.set(host, { at: this.clock.now(), failure })
      return failure
    }
  }

  private async fromNode(image: string, failure: EngineFailure): Promise<Resolved> {
    if (failure.reason === 'DockerUnreachable') throw failure
    const digest = await this.engine.repoDigest(image)
    if (digest !== null) {
      // The registry knew this image once; if it denies it now, that is an answer and no outage.
      if (denials.has(failure.reason)) throw failure
      return { resolved: digest, from: 'repo-digest', note: `the node's copy is used: ${failure.message}` }
    }
    const id = await this.engine.imageId(image)
    if (id === null) throw failure
    return { resolved: id, from: 'image-id', note: `an image that only this node has is used: ${failure.message}` }
  }
}

function notAsked(image: string): EngineFailure {
  return new EngineFailure('ImageMissing', `the node does not have ${image}, and its pull policy says never to pull it`, true)
}

function asRegistryFailure(error: unknown, host: string): EngineFailure {
  if (error instanceof EngineFailure) return error
  // The time-out's own error: the engine was still trying to reach the registry.
  return new EngineFailure('RegistryUnreachable', `${host} did not answer within ${askMs / 1000} s`, true)
}
