import { describe, expect, it } from 'vitest'
import { containerOf, digestOf, endpointOf, epoch, inputOf, nodeId, releaseOf, resourceId, specOf, type Setup } from '../testing/application-world.js'
import { applicationController } from './controller.js'

const specs = Array.from({ length: 30 }, (_, i) => specOf({ image: `shop/web:${i}` }))
const release = (number: number, change = {}) => releaseOf(number, specs[number] ?? specOf(), change)
const image = (number: number) => digestOf(`shop/web:${number}`)
const failed = { verdict: { reason: 'ContainerExited', message: '' } }

function requests(setup: Setup) {
  const { resource, desired } = inputOf(setup)
  return applicationController.observeRequests(resource, desired)
}

describe('applicationController.observeRequests', () => {
  it('nothing resolved yet -> the node and the tag, and what that means', () => {
    expect(requests({ spec: specOf({ image: 'nginx' }) })).toEqual([
      { node: nodeId, kind: 'application', resource: resourceId, images: ['nginx:latest'], connectionsTo: [], resolve: 'nginx:latest' },
    ])
  })

  it.each([
    { it: 'a release stands for the spec', setup: { spec: specs[1], releases: [release(1)] } },
    { it: 'being deleted', setup: { spec: specs[1], deleting: true } },
  ])('$it -> no meaning of a tag is asked', ({ setup }) => {
    expect(requests(setup)[0]).not.toHaveProperty('resolve')
  })

  it('a new image while old replicas are elsewhere -> only the node that will run it is asked what it means', () => {
    const asked = requests({ spec: specs[2], releases: [release(1)], endpoints: [endpointOf(1, 0, 'ready', { node: 'node_2' })] })
    expect(asked.map(({ node, resolve }) => ({ node, resolve }))).toEqual([
      { node: nodeId, resolve: 'shop/web:2' },
      { node: 'node_2', resolve: undefined },
    ])
  })

  it('five failed releases after the serving one -> still the serving one, which a roll-back would start', () => {
    const releases = [release(1, { servingAt: epoch }), ...[2, 3, 4, 5, 6].map((n) => release(n, failed))]
    expect(requests({ spec: specs[6], releases })[0]?.images).toEqual(['shop/web:6', image(1), image(6)].sort())
  })

  it('replicas of several releases -> the images of all of them', () => {
    const releases = [release(1), release(2), release(3)]
    expect(requests({ spec: specs[3], releases, endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')] })[0]?.images).toEqual(
      ['shop/web:3', image(1), image(2), image(3)].sort(),
    )
  })

  it('an image known only by its id -> its tag too, which tells whether a pull can help', () => {
    const releases = [release(1, { resolvedImage: 'sha256:abc', servingAt: epoch })]
    expect(requests({ spec: specs[2], releases })[0]?.images).toEqual(['sha256:abc', 'shop/web:1', 'shop/web:2'])
  })

  it('replicas on two nodes -> both are asked, both for connections to everything that drains', () => {
    const endpoints = [endpointOf(1, 0, 'draining', { address: '10.0.0.1' }), endpointOf(1, 1, 'draining', { address: '10.0.1.1', node: 'node_2' }), endpointOf(1, 2, 'ready')]
    expect(requests({ releases: [release(1)], endpoints }).map(({ node, connectionsTo }) => ({ node, connectionsTo }))).toEqual([
      { node: nodeId, connectionsTo: ['10.0.0.1', '10.0.1.1'] },
      { node: 'node_2', connectionsTo: ['10.0.0.1', '10.0.1.1'] },
    ])
  })

  it('a node with nothing left but what may be published -> is asked', () => {
    const asked = requests({ releases: [release(1)], publishedOn: ['node_7', nodeId] })
    expect(asked.map((r) => r.node)).toEqual([nodeId, 'node_7'])
  })
})

describe('applicationController.applyRecord', () => {
  const { desired } = inputOf({ releases: [release(1)], endpoints: [endpointOf(1, 0, 'ready', { readyAt: 5, unroutedAt: 7 }), endpointOf(1, 1, 'starting')], containers: [containerOf(release(1), 0)] })
  const apply = (record: Parameters<typeof applicationController.applyRecord>[1], address: string | null = '10.0.0.9') =>
    applicationController.applyRecord(desired, record, { address, now: 99 })

  it('ready for the first time -> readyAt is now', () => {
    expect(apply({ type: 'endpointState', release: 1, replica: 1, state: 'ready' }).endpoints[1]).toMatchObject({ state: 'ready', stateAt: 99, readyAt: 99 })
  })
  it('ready again -> readyAt stays the first, and it is routed again', () => {
    expect(apply({ type: 'endpointState', release: 1, replica: 0, state: 'ready' }).endpoints[0]).toMatchObject({ readyAt: 5, unroutedAt: null })
  })
  it('draining -> was ready stays known', () => {
    expect(apply({ type: 'endpointState', release: 1, replica: 0, state: 'draining' }).endpoints[0]).toMatchObject({ state: 'draining', readyAt: 5 })
  })
  it('a state that it was in already -> since when stays, and it is looked at anew who names it', () => {
    expect(apply({ type: 'endpointState', release: 1, replica: 0, state: 'ready' }).endpoints[0]).toMatchObject({ stateAt: epoch - 60_000, unroutedAt: null })
  })
  it('endpoint with an address -> starting, never ready', () => {
    expect(apply({ type: 'endpoint', release: 1, replica: 2, node: nodeId }).endpoints[2]).toEqual({
      release: 1, replica: 2, node: nodeId, address: '10.0.0.9', state: 'starting', stateAt: 99, readyAt: null, unroutedAt: null,
    })
  })
  it('endpoint without an address -> none, and the network counts as exhausted', () => {
    const after = apply({ type: 'endpoint', release: 1, replica: 2, node: nodeId }, null)
    expect({ count: after.endpoints.length, exhausted: after.addressesExhausted }).toEqual({ count: 2, exhausted: true })
  })
  it('published, unpublished -> each node once, in order', () => {
    const there = apply({ type: 'published', node: 'node_0' })
    expect(there.publishedOn).toEqual(['node_0', nodeId])
    expect(applicationController.applyRecord(there, { type: 'unpublished', node: nodeId }, { address: null, now: 99 }).publishedOn).toEqual(['node_0'])
  })
  it('gone -> only that endpoint', () => {
    expect(apply({ type: 'endpointGone', release: 1, replica: 0 }).endpoints.map((e) => e.replica)).toEqual([1])
  })
  it('verdict and serving -> on their release', () => {
    expect(apply({ type: 'verdict', release: 1, reason: 'OOMKilled', message: 'm' }).releases[0]?.verdict).toEqual({ reason: 'OOMKilled', message: 'm' })
    expect(apply({ type: 'serving', release: 1 }).releases[0]?.servingAt).toBe(99)
  })
})
