import { describe, expect, it } from 'vitest'
import type { Action } from './action.js'
import { effect } from './effect.js'
import type { NodeObservation, Observation } from './observed.js'
import { addressOf, containerOf, endpointOf, epoch, exited, inputOf, nodeId, releaseOf, specOf } from './testing/application-world.js'
import { deepFreeze } from './testing/deep-freeze.js'
import { pullKey } from './pull-key.js'
import { actionOf, passOf } from './testing/pass.js'

const release = releaseOf(1, specOf())
const other: Observation = { node: 'node_2', unreachable: null, containers: [containerOf(release, 0)], images: {}, published: 'r0', connections: {} }
const base = { node: nodeId, queue: 'short', container: null, timeoutSeconds: 1, supersedable: false, summary: '' } as const
const ensure: Action = actionOf(passOf({ releases: [release], endpoints: [endpointOf(1, 0, 'starting')] }), 'ensure:1:0', 'ensureContainer')

function after(action: Action, containers = [containerOf(release, 0)], healthy = true): NodeObservation {
  const [node] = inputOf({ releases: [release], containers, published: 'r0' }).observed
  const world = deepFreeze([node as Observation, other])
  const [changed, untouched] = effect(world, action, epoch, healthy)
  expect(untouched).toBe(other)
  if (changed?.unreachable !== null) throw new Error('the node became unreachable')
  return changed
}

describe('effect', () => {
  it('unreachable node -> nothing happens', () => {
    const silent: Observation[] = [{ node: nodeId, unreachable: 'AgentSilent', message: '' }]
    expect(effect(silent, ensure, epoch)).toEqual(silent)
  })

  it('create -> runs with everything that the planner looks at', () => {
    const [made] = after(ensure, []).containers
    expect(made).toMatchObject({
      ...containerOf(release, 0, { restartPolicy: 'no', startedAt: epoch }),
      id: expect.stringContaining('ek-i1-app_web-1-0') as string,
    })
  })

  it.each([true, false])('create, healthy %s -> probe says so', (healthy) => {
    expect(after(ensure, [], healthy).containers[0]?.probe.ready).toBe(healthy)
  })

  it('exited container of the same spec -> started in place with its own id', () => {
    const old = containerOf(release, 0, { ...exited(1), id: 'kept', restartPolicy: 'unless-stopped' })
    expect(after(ensure, [old]).containers).toEqual([
      { ...old, state: 'running', exitCode: null, startedAt: epoch, probe: { ready: true, message: '' } },
    ])
  })

  it('running container of the same spec -> adopted as it is', () => {
    expect(after(ensure).containers).toEqual([containerOf(release, 0)])
  })

  it('the name belongs to another spec -> that one stays', () => {
    const foreign = containerOf(release, 0, { specHash: 'beef', state: 'exited' })
    expect(after(ensure, [foreign]).containers).toEqual([foreign])
  })

  it('retire -> that container is gone, the others stay', () => {
    const [a, b] = [containerOf(release, 0), containerOf(release, 1)]
    expect(after({ ...base, key: '', verb: 'retireContainer', args: { name: a.name, graceSeconds: 1 } }, [a, b]).containers).toEqual([b])
  })

  it('restart policy -> that container has it', () => {
    const set: Action = { ...base, key: '', verb: 'setRestartPolicy', args: { name: containerOf(release, 0).name, policy: 'no' } }
    expect(after(set).containers[0]?.restartPolicy).toBe('no')
  })

  it('publish -> the revision is shown', () => {
    const publication = { names: [], addresses: [addressOf(1, 0)], port: 1 }
    expect(after({ ...base, key: '', verb: 'publishEndpoints', args: { publication, revision: 'r1' } }).published).toBe('r1')
  })

  it('publish nothing -> nothing is shown', () => {
    expect(after({ ...base, key: '', verb: 'publishEndpoints', args: { publication: null, revision: 'none' } }).published).toBeNull()
  })

  it.each([
    { it: 'a tag', meant: 'web:2', image: 'web:2', images: ['web:2'] },
    { it: 'a digest', meant: 'web@sha256:ab', image: 'web@sha256:ab', images: ['web@sha256:ab'] },
    { it: 'an image id by its tag', meant: 'sha256:ab', image: 'web:2', images: ['web:2', 'sha256:ab'] },
  ])('pull of $it -> there afterwards', ({ meant, image, images }) => {
    const found = after({ ...base, key: pullKey(nodeId, meant), verb: 'pullImage', args: { image } }).images
    expect(images.map((i) => typeof found[i])).toEqual(images.map(() => 'string'))
  })

  it('resolve -> changes nothing on the node', () => {
    expect(after({ ...base, key: '', verb: 'resolveImage', args: { image: 'x', platform: null } }).containers).toEqual([containerOf(release, 0)])
  })

  it('volumes -> made with the container that mounts them, gone when they are removed, and unknown where nobody asked', () => {
    const { args } = ensure as Extract<Action, { verb: 'ensureContainer' }>
    const mounts = [{ kind: 'volume' as const, source: 'ek-data', target: '/data', readOnly: false }]
    const create: Action = { ...base, key: '', verb: 'ensureContainer', args: { container: { ...args.container, mounts } } }
    const remove: Action = { ...base, key: '', verb: 'removeVolume', args: { name: 'ek-data' } }
    const volumesAfter = (action: Action, volumes: string[] | undefined) => {
      const [changed] = effect(inputOf({ volumes }).observed, action, epoch)
      return changed?.unreachable === null ? changed.volumes : 'unreachable'
    }
    expect(volumesAfter(create, ['ek-old'])).toEqual(['ek-data', 'ek-old'])
    expect(volumesAfter(create, ['ek-data'])).toEqual(['ek-data'])
    expect(volumesAfter(remove, ['ek-data', 'ek-old'])).toEqual(['ek-old'])
    expect([volumesAfter(create, undefined), volumesAfter(remove, undefined)]).toEqual([undefined, undefined])
  })
})
