import { describe, expect, it } from 'vitest'
import type { EngineContainer } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import type { ActionContext } from './executor.js'
import { retireContainer } from './retire-container.js'

const owner = { instance: 'i', kind: 'application', resource: 'app_a' }
const container: EngineContainer = {
  id: 'c1',
  name: 'ek-1',
  labels: { [label.instance]: 'i', [label.kind]: 'application', [label.resource]: 'app_a' },
  imageId: 'x',
  state: 'running',
  exitCode: null,
  oomKilled: false,
  startedAt: 1,
  finishedAt: null,
  restartCount: 0,
  restartPolicy: 'unless-stopped',
  address: '10.0.0.9',
  limits: { memoryBytes: null, nanoCpus: null },
}

describe('retireContainer', () => {
  /** An engine with one container, which is routed again after `routedAfter` calls. */
  const retire = async (routedAfter: number, change: Partial<EngineContainer> = {}) => {
    const calls: string[] = []
    let there = true
    const noted =
      <T>(name: string, result: T) =>
      async () => (calls.push(name), result)
    const context = {
      owner,
      signal: new AbortController().signal,
      clock: { now: () => 0, sleep: async () => undefined },
      publisher: {
        names: (resource: string, address: string) =>
          resource === 'app_a' && address === '10.0.0.9' && calls.length >= routedAfter,
      },
      engine: {
        inspect: async () => (there ? { ...container, ...change } : null),
        setRestartPolicy: noted('policy', undefined),
        stop: noted('stop', undefined),
        remove: async () => (calls.push('remove'), void (there = false)),
      },
    } as unknown as ActionContext
    const answer = await retireContainer({ name: 'ek-1', graceSeconds: 5 }, context).catch(
      (error: Error & { reason?: string }) => error.reason,
    )
    return { calls, answer }
  }

  it('nobody sends requests to it -> restart policy first, then stopped and removed', async () => {
    expect(await retire(Infinity)).toEqual({ calls: ['policy', 'stop', 'remove'], answer: { removed: true } })
  })

  it('requests are sent to it -> nothing is done', async () =>
    expect(await retire(0)).toEqual({ calls: [], answer: 'StillPublished' }))

  it('it is routed again while the action hung -> not stopped', async () =>
    expect(await retire(1)).toEqual({ calls: ['policy'], answer: 'StillPublished' }))

  it('routed, but it does not run -> removed', async () =>
    expect(await retire(0, { state: 'exited', restartPolicy: 'no' })).toEqual({ calls: ['remove'], answer: { removed: true } }))
})
