import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { EngineFailure, type Engine } from '../adapters/docker/engine.js'
import { ImageResolver } from './image-resolver.js'

const digest = 'shop/web@sha256:1'

describe('ImageResolver', () => {
  let now: number
  let asked: number
  /** What the node has of it. */
  let here: string | null
  let answer: (signal: AbortSignal) => Promise<string>
  let resolver: ImageResolver
  /** Lets the time run out that a look waits. */
  let timeUp: () => void

  beforeEach(() => {
    now = 0
    asked = 0
    here = null
    answer = () => Promise.resolve(digest)
    const engine = {
      remoteDigest: (_image: string, signal: AbortSignal) => {
        asked++
        return answer(signal)
      },
      repoDigest: () => Promise.resolve(here),
      imageId: () => Promise.resolve(null),
    }
    const late = new Promise<void>((resolve) => {
      timeUp = resolve
    })
    resolver = new ImageResolver(engine as unknown as Engine, { now: () => now, sleep: () => late })
  })

  it('an answer at hand -> the same as resolve', async () => {
    expect(await resolver.quickly('shop/web:1')).toEqual({ resolved: digest, from: 'registry', note: '' })
  })

  it('a slow registry -> nothing, its question is ended, and it is not asked again for 30 s', async () => {
    let ended = false
    answer = (signal) => {
      signal.addEventListener('abort', () => void (ended = true))
      return new Promise(() => undefined)
    }
    const looked = resolver.quickly('shop/web:1')
    await sleep(0)
    timeUp()
    expect({ looked: await looked, ended }).toEqual({ looked: null, ended: true })
    now = 29_999
    expect([await resolver.quickly('shop/web:1'), asked]).toEqual([null, 1])
    now = 30_000
    void resolver.quickly('shop/web:1')
    expect(asked).toBe(2)
  })

  it('a failure -> nothing: the action that follows reports it', async () => {
    answer = () => Promise.reject(new EngineFailure('ImageNotFound', 'no such tag', false))
    expect(await resolver.quickly('shop/web:1')).toBeNull()
    await expect(resolver.resolve('shop/web:1', new AbortController().signal)).rejects.toMatchObject({ reason: 'ImageNotFound' })
  })

  it.each([
    { policy: 'missing' as const, asks: 1, answer: { resolved: 'shop/web@sha256:here', from: 'repo-digest' } },
    { policy: 'never' as const, asks: 0, answer: { resolved: 'shop/web@sha256:here', from: 'repo-digest' } },
    { policy: 'always' as const, asks: 1, answer: 'RegistryUnreachable' },
  ])('the registry is away and the node has the image, policy $policy -> $answer', async ({ policy, asks, answer: expected }) => {
    here = 'shop/web@sha256:here'
    answer = () => Promise.reject(new EngineFailure('RegistryUnreachable', 'away', true))
    const resolved = resolver
      .resolve('shop/web:1', new AbortController().signal, { policy })
      .catch((e: EngineFailure) => e.reason)
    expect(await resolved).toEqual(typeof expected === 'string' ? expected : expect.objectContaining(expected))
    expect(asked).toBe(asks)
  })

  it('policy never and the node lacks the image -> says so', async () => {
    await expect(resolver.resolve('shop/web:1', new AbortController().signal, { policy: 'never' })).rejects.toMatchObject({
      reason: 'ImageMissing',
    })
  })

  it('another image is not held back by a slow one', async () => {
    answer = () => Promise.reject(new EngineFailure('RegistryUnreachable', 'away', true))
    await resolver.quickly('shop/web:1')
    answer = () => Promise.resolve(digest)
    expect(await resolver.quickly('shop/api:1')).toMatchObject({ resolved: digest })
  })
})
