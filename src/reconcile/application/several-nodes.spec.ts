import { describe, expect, it } from 'vitest'
import type { PlanInput } from '../controller.js'
import type { NodeObservation, Observation, UnreachableNode } from '../observed.js'
import { containerOf, endpointOf, epoch, inputOf, nodeId, releaseOf, specOf, type Setup } from '../testing/application-world.js'
import { passOf } from '../testing/pass.js'
import type { ApplicationDesired, Endpoint } from './desired.js'
import { revisionOf } from './publication.js'

const left = nodeId
const there = 'node_2'
const silent: UnreachableNode = { node: left, unreachable: 'AgentSilent', message: 'gone quiet' }

/** What readers show of the replicas with these addresses. */
const shown = (...addresses: string[]) => revisionOf({ names: ['web.shop.internal'], addresses: addresses.sort(), port: 8080 })

interface Moving {
  replicas: number
  /** Release 1 serves on the node that is left. */
  old?: Endpoint[]
  /** How many of release 2 are ready on the new node. */
  ready?: number
  /** What the new node shows; the default is what it should. */
  published?: string | null
  /** In place of the node that is left, which is silent otherwise. */
  leftNode?: Partial<NodeObservation>
  setup?: Setup
}

/** An application moves from node_1 to node_2: release 1 was there, release 2 is wanted here. */
function moving({ replicas, old, ready = 0, published, leftNode, setup }: Moving): PlanInput<ApplicationDesired> {
  const before = specOf({ replicas })
  const spec = { ...before, placement: { node: 'second' } }
  const r1 = releaseOf(1, before, { servingAt: epoch - 50_000 })
  const r2 = releaseOf(2, spec)
  const fromOld = old ?? Array.from({ length: replicas }, (_, i) => endpointOf(1, i, 'ready'))
  const fromNew = Array.from({ length: ready }, (_, i) => endpointOf(2, i, 'ready', { node: there }))
  const input = inputOf({ spec, releases: [r1, r2], endpoints: [...fromOld, ...fromNew], ...setup })
  const live = shown(...[...fromOld, ...fromNew].filter((e) => e.state === 'ready').map((e) => e.address))
  const seen: NodeObservation = {
    node: there,
    unreachable: null,
    containers: fromNew.map((e) => containerOf(r2, e.replica)),
    images: { 'shop/web:1': 'sha256:1', [r2.resolvedImage]: 'sha256:1' },
    published: published === undefined ? live : published,
    connections: {},
  }
  const answering = { ...seen, node: left, containers: fromOld.map((e) => containerOf(r1, e.replica)), ...leftNode }
  const observed: Observation[] = [leftNode ? answering : silent, seen]
  return { ...input, desired: { ...input.desired, node: there }, observed }
}

describe('moving away from a silent node', () => {
  it('fewer ready than are wanted -> what may serve on the silent node stays, and is shown', () => {
    const pass = passOf(moving({ replicas: 2, ready: 1 }))
    expect(pass.records).toEqual(['endpoint 2/1'])
    expect(pass.actions).not.toContain(`publish:${there}`)
  })

  it('as many ready as are wanted -> it leaves', () => {
    const pass = passOf(moving({ replicas: 2, ready: 2 }))
    expect(pass.records).toContain('draining 1/1')
    expect(pass.actions).toContain(`publish:${there}`)
  })

  it('was not ready when it was last heard -> leaves as soon as something new serves', () => {
    const old = [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'starting', { readyAt: epoch - 60_000 })]
    expect(passOf(moving({ replicas: 2, ready: 1, old })).records).toContain('draining 1/1')
  })

  it('what is on the silent node takes no place -> the new release becomes complete without it', () => {
    expect(passOf(moving({ replicas: 4 })).records).toEqual(['endpoint 2/0', 'endpoint 2/1', 'endpoint 2/2', 'endpoint 2/3'])
  })

  it('the node answers again while it is full of what served -> one more at most', () => {
    expect(passOf(moving({ replicas: 4, leftNode: { published: 'before' } })).records).toEqual(['endpoint 2/0'])
  })

  it('the silent node is not left -> its replicas keep their places', () => {
    const input = moving({ replicas: 4 })
    const { records } = passOf({ ...input, desired: { ...input.desired, node: left } })
    expect(records).toEqual(['endpoint 2/0'])
  })
})

