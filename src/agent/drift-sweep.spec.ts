import { beforeEach, describe, expect, it } from 'vitest'
import { EngineFailure, type EngineContainer, type EngineEvent } from '../adapters/docker/engine.js'
import type { ContainerSummary } from '../adapters/docker/node-engine.js'
import { label } from '../reconcile/labels.js'
import { DriftSweep, type InventoryEntry } from './drift-sweep.js'
import { ToldStates } from './told-states.js'
import { noLog } from './testing/no-log.js'

describe('DriftSweep', () => {
  let now: number
  let list: ContainerSummary[]
  let nudged: string[]
  let inventories: InventoryEntry[][]
  let inspected: number
  let listed: number
  let told: ToldStates
  let sweep: DriftSweep
  let known: Set<string>
  let published: string[]
  let away: boolean

  beforeEach(() => {
    now = 1_000_000
    list = []
    nudged = []
    inventories = []
    inspected = 0
    listed = 0
    known = new Set()
    published = []
    away = false
    told = new ToldStates()
    sweep = new DriftSweep({
      instance: 'i',
      engine: {
        summaries: async () => {
          listed++
          if (away) throw new EngineFailure('DockerUnreachable', 'gone', true)
          return list
        },
        inspect: async (id) => (inspected++, { id } as EngineContainer),
      },
      clock: { now: () => now, sleep: async () => undefined },
      prober: { track: ({ id }) => known.add(id), knows: (id) => known.has(id), keepOnly: () => undefined },
      told,
      nudges: { nudge: ({ resource }) => nudged.push(resource) },
      log: noLog,
      published: () => published,
      sendInventory: (inventory) => inventories.push(inventory),
    })
  })

  const container = (resource: string, change: Partial<ContainerSummary> = {}): ContainerSummary => ({
    id: `id-${resource}`,
    name: `ek-${resource}`,
    labels: { [label.kind]: 'application', [label.resource]: resource, [label.probe]: '{}' },
    state: 'running',
    upSeconds: null,
    ...change,
  })
  const event = (action: string, resource: string): EngineEvent => ({
    action,
    containerId: `id-${resource}`,
    containerName: `ek-${resource}`,
    labels: { [label.kind]: 'application', [label.resource]: resource },
    timeNano: '0',
  })
  const run = async () => {
    nudged = []
    await sweep.run()
    now += 30_000
    return nudged
  }

  it('the engine stays away -> each resource is told once; a short break tells nobody', async () => {
    list = [container('app_a'), container('app_b')]
    await run()
    away = true
    expect(await run()).toEqual([])
    away = false
    expect(await run()).toEqual([])
    away = true
    await run()
    expect(await run()).toEqual(['app_a', 'app_b'])
    expect(await run()).toEqual([])
  })

  it('the engine answers again -> who was told that it does not is told once, with or without containers', async () => {
    list = [container('app_a'), container('app_b')]
    await run()
    told.asked({ kind: 'application', resource: 'app_a' }, null)
    told.asked({ kind: 'application', resource: 'app_new' }, null)
    away = true
    expect(await run()).toEqual([])
    away = false
    expect(await run()).toEqual(['app_a', 'app_new'])
    expect(await run()).toEqual([])
  })

  it('the first look -> everything once; then nothing while nothing changes', async () => {
    list = [container('app_a'), container('app_b')]
    expect(await run()).toEqual(['app_a', 'app_b'])
    expect(await run()).toEqual([])
  })

  it('two hundred settled containers -> one call to the engine a look', async () => {
    list = Array.from({ length: 200 }, (_, i) => container(`app_${i}`))
    await run()
    inspected = listed = 0
    await run()
    expect({ inspected, listed }).toEqual({ inspected: 0, listed: 1 })
  })

  it('gone, new or in another state without an event -> nudged', async () => {
    list = [container('app_a'), container('app_b')]
    await run()
    list = [container('app_b', { state: 'exited' }), container('app_c')]
    expect((await run()).sort()).toEqual(['app_a', 'app_b', 'app_c'])
  })

  it('what events told already -> not told again', async () => {
    list = [container('app_a'), container('app_b')]
    await run()
    told.byEvent(event('die', 'app_a'), now - 1)
    told.byEvent(event('destroy', 'app_b'), now - 1)
    list = [container('app_a', { state: 'exited' })]
    expect(await run()).toEqual([])
  })

  it('up for less long than we have known it to run -> an unseen restart is nudged, once, and probed anew', async () => {
    list = [container('app_a', { upSeconds: 5 })]
    await run()
    list = [container('app_a', { upSeconds: 35 })]
    expect(await run()).toEqual([])
    list = [container('app_a', { upSeconds: 3 })]
    expect(await run()).toEqual(['app_a'])
    list = [container('app_a', { upSeconds: 33 })]
    expect(await run()).toEqual([])
  })

  it('an event that came after the list was asked for -> knows better than the list', async () => {
    list = [container('app_a')]
    await run()
    told.byEvent(event('die', 'app_a'), now + 5)
    told.byEvent(event('create', 'app_new'), now + 5)
    expect(await run()).toEqual([])
  })

  it('the inventory -> names by resource, without what the agent keeps for its node', async () => {
    list = [
      container('app_a', { id: '1', name: 'ek-1' }),
      container('app_a', { id: '2', name: 'ek-2' }),
      container('dns', { labels: { [label.kind]: 'system', [label.resource]: 'dns' } }),
    ]
    await run()
    expect(inventories).toEqual([[{ kind: 'application', resource: 'app_a', containers: ['ek-1', 'ek-2'] }]])
  })

  it('called while it looks -> looks once more, not in parallel', async () => {
    await Promise.all([sweep.run(), sweep.run(), sweep.run()])
    expect(listed).toBe(2)
  })

  it('endpoints shown for a resource without containers here -> in the inventory all the same', async () => {
    list = [container('app_a')]
    published = ['app_a', 'app_b']
    await sweep.run()
    expect(inventories[0]).toEqual([
      expect.objectContaining({ resource: 'app_a' }),
      { kind: 'application', resource: 'app_b', containers: [] },
    ])
  })

  it('the engine away -> no error, and no inventory that would make everything look lost', async () => {
    const failing = new DriftSweep({
      ...(sweep as unknown as { ports: ConstructorParameters<typeof DriftSweep>[0] }).ports,
      engine: { summaries: async () => Promise.reject(new Error('away')), inspect: async () => null },
    })
    await expect(failing.run()).resolves.toBeUndefined()
    expect(inventories).toEqual([])
  })
})
