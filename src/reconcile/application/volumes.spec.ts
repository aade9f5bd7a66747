import { describe, expect, it } from 'vitest'
import { applicationController } from './controller.js'
import { volumeName } from '../labels.js'
import type { NodeObservation, UnreachableNode } from '../observed.js'
import { preview } from '../preview.js'
import {
  containerOf,
  digestOf,
  endpointOf,
  epoch,
  failureOf,
  inFlightOf,
  inputOf,
  instance,
  nodeId,
  releaseOf,
  resourceId,
  settledSetup,
  specOf,
  type Setup,
} from '../testing/application-world.js'
import { actionOf, passOf } from '../testing/pass.js'

const spec = specOf({ volumes: [{ name: 'data', path: '/data' }] })
const release = releaseOf(1, spec, { servingAt: epoch })
const data = volumeName(instance, resourceId, 'data')
const old = volumeName(instance, resourceId, 'old')
const key = (name: string, node = nodeId) => `volume:${node}:${name}`
const elsewhere = 'node_2'

const empty = (node: string, change: Partial<NodeObservation> = {}): NodeObservation => ({
  node,
  unreachable: null,
  containers: [],
  images: {},
  published: null,
  connections: {},
  volumes: [],
  ...change,
})
const away: UnreachableNode = { node: elsewhere, unreachable: 'NodeAway', message: 'gone quiet' }

/** Nothing of it is left but its volumes. */
const torn = (change: Setup = {}): Setup => ({
  spec,
  releases: [release],
  deleting: true,
  volumesOn: [nodeId],
  removesVolumes: true,
  volumes: [data],
  ...change,
})

describe('volumes of an application that is being deleted', () => {
  interface Row {
    it: string
    setup: Setup
    actions?: string[]
    finalize?: boolean
    ready?: string
    message?: string | RegExp
  }

  it.each<Row>([
    {
      it: 'they are to go, and its containers are gone -> each is removed, also one that the spec names no more',
      setup: torn({ volumes: [data, old] }),
      actions: [key(data), key(old)],
      message: '0 containers are still to be removed; then its volumes: data, old',
    },
    {
      it: 'they are to go, and a container is there -> first the container',
      setup: torn({ containers: [containerOf(release, 0)] }),
      actions: [`retire:${containerOf(release, 0).name}`],
      message: '1 containers are still to be removed; then its volumes: data',
    },
    {
      it: 'they are to go, and somebody still works on a container -> waits for that',
      setup: torn({ inFlight: [inFlightOf('ensure:1:0', { container: 'ek-x' })] }),
    },
    { it: 'they were to go, and are gone -> finalized', setup: torn({ volumes: [] }), finalize: true },
    {
      it: 'they are to go, and the agent does not tell of volumes -> not finalized, and told what to do',
      setup: torn({ volumes: undefined }),
      message:
        /the agent of node node_1 is too old to remove volumes: upgrade it, or keep them by applicationDelete\(removeVolumes: false\)/,
    },
    {
      it: 'they are to go, and a node that has some is away -> the others first, and not finalized',
      setup: torn({ volumesOn: [nodeId, elsewhere], observed: [empty(nodeId, { volumes: [data] }), away] }),
      actions: [key(data)],
      ready: 'Unknown NodeUnreachable',
      message: /gone quiet/,
    },
    {
      it: 'they are to go, and the node is back -> its own go',
      setup: torn({ volumesOn: [nodeId, elsewhere], observed: [empty(nodeId), empty(elsewhere, { volumes: [data] })] }),
      actions: [key(data, elsewhere)],
    },
    {
      it: 'a removal is refused -> told with the reason and the next try, and wanted still',
      setup: torn({ failures: [failureOf(key(data), { reason: 'VolumeInUse', message: 'somebody has it' })] }),
      actions: [key(data)],
      ready: 'False VolumeInUse',
      message: /^somebody has it; failed 1 times, next try at /,
    },
    {
      it: 'that they are to go was said after the nodes were asked -> not finalized before all that may have some were',
      setup: torn({ volumesOn: [nodeId, elsewhere], volumes: [] }),
    },
    { it: 'nothing was said -> they stay, and it is finalized', setup: torn({ removesVolumes: false }), finalize: true },
    {
      it: 'nothing was said, and a container is there -> told which stay, and where',
      setup: torn({ removesVolumes: false, containers: [containerOf(release, 0)] }),
      actions: [`retire:${containerOf(release, 0).name}`],
      message: `1 containers are still to be removed; its volumes stay: ${data} on node ${nodeId}`,
    },
    {
      it: 'nothing was said, and some are on a node that it left -> that one is told, and not waited for',
      setup: torn({ removesVolumes: false, volumesOn: [nodeId, elsewhere], volumes: [] }),
      finalize: true,
      message: `0 containers are still to be removed; its volumes stay: what it has on node ${elsewhere}`,
    },
  ])('$it', ({ setup, actions = [], finalize = false, ready = 'False Deleting', message }) => {
    const pass = passOf({ ...setup, publishedOn: [] })
    expect({ actions: pass.actions, finalize: pass.finalize, ready: pass.conditions['Ready'] }).toEqual({
      actions,
      finalize,
      ready,
    })
    if (message !== undefined)
      expect(pass.messages['Ready']).toEqual(typeof message === 'string' ? message : expect.stringMatching(message))
  })

  it('its action -> names the volume in the words of its owner, and may be cancelled when people change their minds', () => {
    expect(actionOf(passOf({ ...torn(), publishedOn: [] }), key(data), 'removeVolume')).toMatchObject({
      args: { name: data },
      node: nodeId,
      supersedable: true,
      summary: 'remove volume data and what it holds',
    })
  })

  it('its preview -> the step after the containers', () => {
    const served = settledSetup(spec)
    const { steps, complete } = preview(applicationController, inputOf({ ...torn(), ...served, volumes: [data] }))
    expect(complete).toBe(true)
    expect(steps.map((s) => s.verb)).toEqual(['publishEndpoints', 'retireContainer', 'removeVolume'])
  })

  it('not deleted -> never removed, whatever is wanted of them', () => {
    expect(passOf({ ...settledSetup(spec), volumesOn: [nodeId], volumes: [data, old], removesVolumes: true }).actions).toEqual([])
  })

  it('who is asked -> every node that may have some when they are to go, else only those that it still lives on', () => {
    const requests = (setup: Setup) => {
      const { resource, desired } = inputOf({ publishedOn: [], volumesOn: [elsewhere], deleting: true, ...setup })
      return applicationController.observeRequests(resource, desired).map(({ node, volumes }) => ({ node, volumes }))
    }
    const here = { node: nodeId, volumes: true }
    expect(requests({ removesVolumes: true })).toEqual([here, { node: elsewhere, volumes: true }])
    expect(requests({})).toEqual([here])
  })
})

describe('where volumes are', () => {
  it.each<[string, Setup, string[]]>([
    [
      'a release that mounts some gets its replica -> written with it',
      { spec, releases: [releaseOf(1, spec)] },
      ['endpoint 1/0', `volumesMade on ${nodeId}`],
    ],
    ['a release without -> nothing', { spec: specOf(), releases: [releaseOf(1, specOf())] }, ['endpoint 1/0']],
    [
      'a pre-deploy command mounts them before there is a replica -> written',
      { spec: { ...spec, preDeploy: { command: ['m'] } }, releases: [releaseOf(1, { ...spec, preDeploy: { command: ['m'] } })] },
      [`volumesMade on ${nodeId}`],
    ],
    ['written already -> not again', { ...settledSetup(spec), volumesOn: [nodeId] }, []],
    [
      'an older version wrote nothing, and it is being deleted -> written all the same',
      { ...settledSetup(spec), deleting: true },
      ['draining 1/0', `volumesMade on ${nodeId}`],
    ],
  ])('%s', (_what, setup, records) => {
    expect(passOf(setup).records).toEqual(records)
  })
})

describe('an application that is placed away from its volumes', () => {
  const moved = { ...spec, placement: { node: 'second' } }
  const behind = (change: Partial<Setup> = {}, node: NodeObservation | UnreachableNode = empty(nodeId, { volumes: [data] })) => {
    const settled = settledSetup(moved)
    const input = inputOf({ ...settled, volumesOn: [nodeId, elsewhere], publishedOn: [elsewhere], ...change })
    const there = { ...(input.observed[0] as NodeObservation), node: elsewhere }
    const endpoints = input.desired.endpoints.map((e) => ({ ...e, node: elsewhere }))
    return { ...input, desired: { ...input.desired, node: elsewhere, endpoints }, observed: [node, there] }
  }
  const sentence =
    `what is in data stays on node ${nodeId} and does not follow it to node ${elsewhere}, which has volumes of its own: ` +
    `suspend it, copy from ${data} there to the ones here, resume it and remove the old ones; or place it on node ${nodeId} again`

  it('before the move -> told in the first pass, while it still serves where the data is', () => {
    const settled = settledSetup(spec)
    const input = inputOf({ ...settled, spec: moved, volumesOn: [nodeId], generation: 2 })
    const pass = passOf({
      ...input,
      desired: { ...input.desired, node: elsewhere },
      observed: [...input.observed, empty(elsewhere)],
    })
    expect(pass.conditions['VolumesInPlace']).toBe('False LeftBehind')
    expect(pass.messages['VolumesInPlace']).toBe(sentence)
  })

  it('after it -> told as long as something is there; Ready is not kept back by it', () => {
    const pass = passOf(behind())
    expect(pass.conditions).toMatchObject({ Ready: 'True Running', VolumesInPlace: 'False LeftBehind' })
    expect(pass.actions).toEqual([])
  })

  it('the node that was left is away -> the same, and nobody waits for it', () => {
    expect(passOf(behind({}, { ...away, node: nodeId }))).toMatchObject({
      conditions: { Ready: 'True Running', Available: 'True ReplicasReady', VolumesInPlace: 'False LeftBehind' },
      requeueAfterMs: null,
    })
  })

  it('a person removed what was left -> written down, and no more word of it', () => {
    const pass = passOf(behind({}, empty(nodeId)))
    expect(pass.records).toEqual([`volumesGone on ${nodeId}`])
    expect(pass.conditions).not.toHaveProperty('VolumesInPlace')
  })

  it('an agent does not tell of volumes -> nothing is known, so it is told still', () => {
    const { volumes: _, ...mute } = empty(nodeId)
    expect(passOf(behind({}, mute)).conditions).toHaveProperty('VolumesInPlace')
  })

  it('never moved, moved back, or without volumes now -> no word of it', () => {
    for (const setup of [
      { ...settledSetup(spec), volumesOn: [nodeId] },
      { ...settledSetup(specOf()), volumesOn: [elsewhere] },
    ])
      expect(passOf(setup).conditions).not.toHaveProperty('VolumesInPlace')
  })

  it('who is asked -> the node that was left, in time of rest only', () => {
    const asked = ({ resource, desired }: ReturnType<typeof behind>) =>
      applicationController.observeRequests(resource, desired).map(({ node, volumes }) => ({ node, volumes }))
    expect(asked(behind())).toEqual([
      { node: nodeId, volumes: true },
      { node: elsewhere, volumes: undefined },
    ])
    expect(asked(behind({ endpoints: [endpointOf(1, 0, 'starting')] }))).toEqual([{ node: elsewhere, volumes: undefined }])
  })

  it('the preview of the move -> its last conditions tell it', () => {
    const settled = settledSetup(spec)
    const input = inputOf({ ...settled, spec: moved, volumesOn: [nodeId], generation: 2 })
    const image = digestOf('shop/web:1')
    const { complete, plan } = preview(applicationController, {
      ...input,
      desired: { ...input.desired, node: elsewhere },
      observed: [...input.observed, empty(elsewhere, { images: { [image]: 'sha256:1' } })],
    })
    expect(complete).toBe(true)
    expect(plan.conditions.find((c) => c.type === 'VolumesInPlace')?.message).toBe(sentence)
  })
})
