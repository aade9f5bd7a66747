import { describe, expect, it } from 'vitest'
import { EngineFailure } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import type { ActionContext } from './executor.js'
import { restartContainer } from './restart-container.js'

describe('restartContainer', () => {
  it('it cannot be stopped -> it is not started either, and the reason is told', async () => {
    const owner = { instance: 'i', kind: 'application', resource: 'app_a' }
    const labels = { [label.instance]: owner.instance, [label.kind]: owner.kind, [label.resource]: owner.resource }
    const calls: string[] = []
    const engine = {
      inspect: async () => ({ id: 'c1', labels, state: 'running' }),
      stop: async () => {
        calls.push('stop')
        throw new EngineFailure('EngineError', 'it does not end', true)
      },
      start: async () => void calls.push('start'),
    }
    const context = { engine, owner, prober: {}, signal: new AbortController().signal } as unknown as ActionContext
    await expect(restartContainer({ name: 'n', graceSeconds: 1 }, context)).rejects.toThrow('it does not end')
    expect(calls).toEqual(['stop'])
  })
})
