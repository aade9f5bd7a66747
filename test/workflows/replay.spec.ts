import { join } from 'node:path'
import { Worker } from '@temporalio/worker'
import { describe, expect, it } from 'vitest'
import { storedHistories } from './stored-histories.js'

const workflowsPath = join(import.meta.dirname, '../../workflows/index.ts')

describe('stored histories', () => {
  const stored = storedHistories()

  it('at least one of each kind of run is stored', () => {
    expect(stored.map((s) => s.name)).toEqual(expect.arrayContaining(['deletion', 'first-deploy', 'superseded-pull']))
  })

  it('today’s workflow code -> replays every one of them', async () => {
    const histories = stored.map(({ name, history }) => ({ workflowId: name, history }))
    const results = []
    for await (const result of Worker.runReplayHistories({ workflowsPath }, histories)) results.push(result)
    expect(results.filter((r) => r.error).map((r) => `${r.workflowId}: ${r.error?.message}`)).toEqual([])
    expect(results).toHaveLength(stored.length)
  })
})
