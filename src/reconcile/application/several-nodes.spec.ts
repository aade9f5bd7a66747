import { describe, expect, it } from 'vitest'
import type { Settled } from '../action.js'
import type { PlanInput } from '../controller.js'
import { reachable, type NodeObservation, type Observation, type UnreachableNode } from '../observed.js'
import {
  addressOf,
  containerOf,
  endpointOf,
  epoch,
  inFlightOf,
  inputOf,
  nodeId,
  releaseOf,
  specOf,
  type Setup,
} from '../testing/application-world.js'
import { passOf, type Pass } from '../testing/pass.js'
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
  const r2 = releaseOf(2, spec, { servingAt: ready >= replicas ? epoch - 9_000 : null })
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
  return { ...input, desired: { ...input.desired, node: there, publishedOn: [left, there] }, observed }
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

describe('a node that does not answer and may still name what drains', () => {
  const since = (agoMs: number, change: Partial<Endpoint> = {}) => [
    endpointOf(1, 0, 'draining', { stateAt: epoch - agoMs, ...change }),
  ]
  const minutes = (n: number) => n * 60_000
  /** Release 1 drains on the node that answers, while a second node is silent. */
  const draining = (old: Endpoint[], change: { published?: string | null; inFlight?: Setup['inFlight'] } = {}) => {
    const input = moving({ replicas: 1, ready: 1, old, leftNode: {}, setup: { inFlight: change.inFlight ?? [] } })
    const here = reachable(input.observed).find((n) => n.node === left)
    if (!here) throw new Error('no node')
    const r2 = input.desired.releases[1] ?? releaseOf(2, specOf())
    const live = shown(addressOf(2, 0))
    const mine = {
      ...here,
      containers: [...here.containers, containerOf(r2, 0)],
      published: change.published === undefined ? live : change.published,
    }
    const endpoints = input.desired.endpoints.map((e) => ({ ...e, node: left }))
    return {
      ...input,
      desired: {
        ...input.desired,
        node: left,
        endpoints: [...endpoints, endpointOf(1, 1, 'draining', { node: there, readyAt: null })],
      },
      observed: [mine, { node: there, unreachable: 'NodeAway' as const, message: 'no heartbeat' }],
    }
  }

  it('for less than ten minutes -> holds it, says so, and is looked at when they are over', () => {
    const pass = passOf(draining(since(minutes(9))))
    expect(pass.records).toEqual([])
    expect(pass.conditions['Draining']).toBe('True WaitingForNode')
    expect(pass.messages['Draining']).toBe(
      'release 1 replica 0: node node_2 does not answer and may still send requests there; ' +
        `waited for since ${new Date(epoch - minutes(9)).toISOString()}, until ${new Date(epoch + minutes(1)).toISOString()} at the latest`,
    )
    expect(pass.requeueAfterMs).toBe(10_000)
    const soon = passOf(draining(since(minutes(10) - 3_000)))
    expect(soon.requeueAfterMs).toBe(3_000)
  })

  it('for ten minutes -> the nodes that answer decide', () => {
    expect(passOf(draining(since(minutes(10)))).records).toEqual(['unrouted 1/0'])
  })

  it('a node that answers does not show yet what it should -> holds it however long', () => {
    expect(passOf(draining(since(minutes(60)), { published: 'before' })).records).toEqual([])
  })

  it('a publication is on its way -> holds it however long', () => {
    const inFlight = [inFlightOf(`publish:${left}`, { verb: 'publishEndpoints' })]
    expect(passOf(draining(since(minutes(60)), { inFlight })).records).toEqual([])
  })

  it('waited for long enough, and answers again with what it showed -> named again, and nothing is stopped', () => {
    const old = since(minutes(11), { unroutedAt: epoch - minutes(1) })
    const pass = passOf(moving({ replicas: 1, ready: 1, old, leftNode: { published: 'before' } }))
    expect(pass.records).toEqual(['draining 1/0'])
    expect(pass.input.desired.endpoints[0]).toMatchObject({ stateAt: epoch - minutes(11), unroutedAt: null })
    expect(pass.actions).toEqual([`publish:${left}`])
  })

  it('the same when its container is gone -> keeps its address until nobody names it', () => {
    const old = since(minutes(11), { unroutedAt: epoch - minutes(1) })
    const pass = passOf(moving({ replicas: 1, ready: 1, old, leftNode: { published: 'before', containers: [] } }))
    expect(pass.records).toEqual(['draining 1/0'])
  })

  it('unrouted before anybody was silent for long -> what is published later changes nothing', () => {
    const old = since(minutes(11), { unroutedAt: epoch - minutes(10) })
    const pass = passOf(moving({ replicas: 1, ready: 1, old, leftNode: { published: 'before' } }))
    expect(pass.records).toEqual([])
  })

  it('only its own node is silent -> nothing is stopped, and that is told', () => {
    const pass = passOf(moving({ replicas: 1, ready: 1, old: since(minutes(11), { unroutedAt: epoch - minutes(1) }) }))
    expect({ records: pass.records, actions: pass.actions }).toEqual({ records: [], actions: [] })
    expect(pass.conditions['Draining']).toBe('True NodeUnreachable')
    expect(pass.messages['Draining']).toBe('release 1 replica 0: stopped when node node_1 answers again')
  })

  it('somebody renamed a replica -> its address is held as long, and no longer', () => {
    const stray = (agoMs: number) => {
      const input = draining(since(agoMs))
      const renamed = (o: Observation): Observation =>
        o.unreachable === null
          ? { ...o, containers: o.containers.map((c) => (c.release === 1 ? { ...c, name: 'renamed' } : c)) }
          : o
      return passOf({ ...input, observed: input.observed.map(renamed) }).actions.includes('retire:renamed')
    }
    expect([stray(minutes(9)), stray(minutes(10))]).toEqual([false, true])
  })
})

describe('a node on which something may be published', () => {
  const removed: Settled = {
    key: `publish:${left}`,
    verb: 'publishEndpoints',
    ok: true,
    result: { revision: 'none' },
    generation: 2,
  }
  /** Everything has moved; the node that was left shows `published`. */
  const moved = (published: string | null, setup: Setup = {}) =>
    passOf(moving({ replicas: 1, ready: 1, old: [], leftNode: { published, containers: [] }, setup }))
  const removal = ({ plan }: Pass) => plan.actions.filter((a) => a.verb === 'publishEndpoints').map((a) => [a.node, a.args])

  it('is left and shows something -> removed', () => {
    expect(removal(moved('late'))).toEqual([[left, { publication: null, revision: 'none' }]])
  })

  it('shows nothing, and no removal has ended there -> one is made, for something may still come', () => {
    const pass = moved(null)
    expect(removal(pass)).toEqual([[left, { publication: null, revision: 'none' }]])
    expect({ records: pass.records, ready: pass.conditions['Ready'] }).toEqual({ records: [], ready: 'True Running' })
  })

  it('shows nothing after a removal has ended -> is not looked at any more', () => {
    const pass = moved(null, { settled: [removed] })
    expect({ records: pass.records, actions: pass.actions }).toEqual({ records: [`unpublished on ${left}`], actions: [] })
  })

  it('a pre-deploy container is still there -> it is removed first, and the node looked at until then', () => {
    const gone = {
      ...containerOf(releaseOf(1, specOf()), 0),
      name: 'ek-i1-app_web-1-pre-deploy',
      purpose: 'pre-deploy' as const,
      state: 'exited' as const,
    }
    const pass = (settled: Settled[]) =>
      passOf(moving({ replicas: 1, ready: 1, old: [], leftNode: { published: null, containers: [gone] }, setup: { settled } }))
    for (const settled of [[], [removed]])
      expect({ records: pass(settled).records, actions: pass(settled).actions }).toEqual({
        records: [],
        actions: [`retire:${gone.name}`],
      })
  })

  it.each<[string, string | null, Settled]>([
    ['it failed', null, { ...removed, ok: false, reason: 'ActionTimeout', message: '', retryable: true, cancelled: false }],
    ['it was a publication', null, { ...removed, result: { revision: 'before' } }],
    ['something is shown all the same', 'late', removed],
  ])('a removal has ended, but %s -> once more', (_, published, settled) => {
    const pass = moved(published, { settled: [settled] })
    expect(pass.records).toEqual([])
    expect(removal(pass)).toHaveLength(1)
  })

  it('moved with no replica -> the empty publication goes when the new node has it', () => {
    const none = (published: string | null) =>
      removal(passOf(moving({ replicas: 0, old: [], published, leftNode: { published: shown(), containers: [] } })))
    const empty = { publication: { names: ['web.shop.internal'], addresses: [], port: 8080 }, revision: shown() }
    expect(none(null)).toEqual([[there, empty]])
    expect(none(shown())).toEqual([[left, { publication: null, revision: 'none' }]])
  })

  it('the first publication on a node -> written down before', () => {
    const input = moving({ replicas: 1, ready: 1, published: null })
    const pass = passOf({ ...input, desired: { ...input.desired, publishedOn: [left] } })
    expect(pass.records).toContain(`published on ${there}`)
    expect(pass.actions).toEqual([`publish:${there}`])
  })

  it('deleted -> finalized only when a removal has ended', () => {
    const gone = (settled: Settled[]) => passOf(inputOf({ deleting: true, publishedOn: [left], settled }))
    expect([gone([]).actions, gone([]).finalize]).toEqual([[`publish:${left}`], false])
    expect([gone([removed]).actions, gone([removed]).finalize]).toEqual([[], true])
  })
})

describe('placed elsewhere while a pass looks', () => {
  it('the new node was not asked -> looked again at once, for nobody else may tell', () => {
    const spec = specOf({ placement: { node: 'second' } })
    const input = inputOf({ spec, generation: 2 })
    const pass = passOf({ ...input, desired: { ...input.desired, node: there, publishedOn: [] } })
    expect({ actions: pass.actions, requeueAfterMs: pass.requeueAfterMs }).toEqual({ actions: [], requeueAfterMs: 50 })
  })
})
