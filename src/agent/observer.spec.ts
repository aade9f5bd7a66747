import { noIngress } from './testing/no-ingress.js'
import { noReadiness } from './testing/no-readiness.js'
import { describe, expect, it } from 'vitest'
import { EngineFailure, type Engine, type EngineContainer } from '../adapters/docker/engine.js'
import type { ConnectionCounter } from './connections.js'
import type { KnownResources } from './known-resources.js'
import { createObserver } from './observer.js'
import { ToldStates } from './told-states.js'

const request = { node: 'node_1', kind: 'application', resource: 'app_a', images: [], connectionsTo: [] }

describe('createObserver', () => {
  const observing = (list: () => Promise<EngineContainer[]>, known: KnownResources | null = null) => {
    const told = new ToldStates(known)
    const observe = createObserver({
      instance: 'i',
      node: 'node_1',
      engine: { list } as unknown as Engine,
      prober: noReadiness,
      publisher: { publish: async () => undefined, liveRevision: () => null, names: () => false },
      ...noIngress,
      connections: { count: async () => ({}) } as unknown as ConnectionCounter,
      resolver: { quickly: async () => null },
      told,
      span: { answered: () => undefined, missed: () => false },
      clock: { now: () => 0 },
      clockOffsetMs: () => 0,
    })
    return { told, look: () => observe(request) }
  }
  const away = new EngineFailure('DockerUnreachable', 'gone', true)

  it('the engine is away -> told as a value, and remembered who was told', async () => {
    const { told, look } = observing(async () => Promise.reject(away))
    expect(await look()).toEqual({ node: 'node_1', unreachable: 'DockerUnreachable', message: 'gone' })
    expect(told.takeUnanswered()).toEqual([{ kind: 'application', resource: 'app_a' }])
  })

  it('it answers the next time -> forgotten', async () => {
    let answers = false
    const { told, look } = observing(async () => (answers ? [] : Promise.reject(away)))
    await look()
    answers = true
    expect(await look()).toMatchObject({ unreachable: null })
    expect(told.takeUnanswered()).toEqual([])
  })

  it('containers that no event told of -> known from now on; none -> not', async () => {
    const known: string[] = []
    const add = { add: (ref: object) => known.push(JSON.stringify(ref)) } as unknown as KnownResources
    await observing(async () => [], add).look()
    expect(known).toEqual([])
    await observing(async () => [{ labels: {}, startedAt: null, exitCode: null } as unknown as EngineContainer], add).look()
    expect(known).toEqual(['{"kind":"application","resource":"app_a"}'])
  })

  it('it fails otherwise -> an error, and nobody was told that it is away', async () => {
    const { told, look } = observing(async () => Promise.reject(new EngineFailure('EngineError', 'odd', true)))
    await expect(look()).rejects.toThrow('odd')
    expect(told.takeUnanswered()).toEqual([])
  })
})
