import { describe, expect, it } from 'vitest'
import { applicationController } from './application/controller.js'
import { nginxdemoController } from './nginxdemo/plan.js'
import { preview } from './preview.js'
import { epoch, exited, failureOf, inputOf, nodeId, settledSetup, specOf, containerOf, endpointOf, releaseOf, type Setup } from './testing/application-world.js'
import { deepFreeze } from './testing/deep-freeze.js'

const v1 = specOf()
const v2 = specOf({ image: 'shop/web:2' })
const previewOf = (setup: Setup) => preview(applicationController, deepFreeze(inputOf(setup)))
const keysOf = (setup: Setup) => previewOf(setup).steps.map((s) => s.key)
const publish = `publish:${nodeId}`
const retire = (release: number, replica: number) => `retire:ek-i1-app_web-${release}-${replica}`

describe('preview', () => {
  it.each<{ it: string; setup: Setup; keys: string[]; complete?: boolean }>([
    { it: 'first deploy -> every step to Ready', setup: {}, keys: [`resolve:${nodeId}:shop/web:1`, 'ensure:1:0', publish, 'policy:1:0'] },
    {
      it: 'first deploy, image not there -> with its pull',
      setup: { missingImages: ['shop/web:1'] },
      keys: [`resolve:${nodeId}:shop/web:1`, `pull:${nodeId}:shop/web:1`, 'ensure:1:0', publish, 'policy:1:0'],
    },
    { it: 'converged -> nothing', setup: settledSetup({ ...v1, replicas: 3 }), keys: [] },
    {
      it: 'new image -> new, published, old drained and stopped',
      setup: { ...settledSetup(v1), spec: v2, generation: 2 },
      keys: [`resolve:${nodeId}:shop/web:2`, 'ensure:2:0', publish, 'policy:2:0', retire(1, 0)],
    },
    {
      it: 'scale down -> unpublished, then stopped',
      setup: { ...settledSetup({ ...v1, replicas: 2 }), spec: v1, generation: 2 },
      keys: [publish, retire(1, 1)],
    },
    {
      it: 'delete -> unpublished, then stopped',
      setup: { ...settledSetup(v1), deleting: true },
      keys: [publish, retire(1, 0)],
    },
    {
      it: 'crashed -> unpublished and started, then published again',
      setup: { ...settledSetup(v1), containers: [containerOf(releaseOf(1, v1), 0, exited(1))] },
      keys: [publish, 'ensure:1:0', publish],
    },
    {
      it: 'in the middle of a rolling change -> the rest of it, not a verdict on what still starts',
      setup: {
        ...settledSetup(v1),
        spec: v2,
        releases: [...settledSetup(v1).releases, releaseOf(2, v2)],
        endpoints: [...settledSetup(v1).endpoints, endpointOf(2, 0, 'starting')],
        containers: [...settledSetup(v1).containers, containerOf(releaseOf(2, v2), 0, { restartPolicy: 'no', startedAt: epoch - 59_000, probe: { ready: false, message: '' } })],
      },
      keys: [publish, 'policy:2:0', retire(1, 0)],
    },
    {
      it: 'an open connection -> taken to end',
      setup: {
        ...settledSetup(v2, 2),
        releases: [releaseOf(1, v1), ...settledSetup(v2, 2).releases],
        endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 7_000 }), endpointOf(2, 0, 'ready')],
        containers: [containerOf(releaseOf(1, v1), 0), containerOf(releaseOf(2, v2), 0)],
        connections: { '10.90.1.10': 3 },
      },
      keys: [retire(1, 0)],
    },
    { it: 'a person holds the first step -> nothing follows', setup: { holds: [`resolve:${nodeId}:shop/web:1`] }, keys: [] },
    { it: 'failed for good -> nothing follows', setup: { failures: [failureOf(`resolve:${nodeId}:shop/web:1`, { retryable: false })] }, keys: [] },
    { it: 'failed for now -> tried again after its wait', setup: { failures: [failureOf(`resolve:${nodeId}:shop/web:1`)] }, keys: [`resolve:${nodeId}:shop/web:1`, 'ensure:1:0', publish, 'policy:1:0'] },
    {
      it: 'node silent -> no steps, and told to be incomplete',
      setup: { ...settledSetup(v1), spec: v2, observed: [{ node: nodeId, unreachable: 'NodeAway', message: '' }] },
      keys: [],
      complete: false,
    },
  ])('$it', ({ setup, keys, complete = true }) => {
    expect(keysOf(setup)).toEqual(keys)
    expect(previewOf(setup).complete).toBe(complete)
  })

  it('steps -> say themselves in one line, with the time until they start', () => {
    expect(previewOf({ ...settledSetup(v1), spec: v2, generation: 2 }).steps.map(({ summary, pass, afterMs }) => ({ summary, pass, afterMs }))).toEqual([
      { summary: 'resolve shop/web:2', pass: 0, afterMs: 0 },
      { summary: 'create replica 0 of release 2', pass: 1, afterMs: 10 },
      { summary: 'publish 1 endpoints', pass: 2, afterMs: 20 },
      { summary: 'let Docker restart replica 0 of release 2', pass: 2, afterMs: 20 },
      // The DNS answers' time to live, and a second.
      { summary: 'stop replica 0 of release 1', pass: 4, afterMs: 6_030 },
    ])
  })

  it('what is in flight -> starts over', () => {
    expect(keysOf({ inFlight: [{ key: `resolve:${nodeId}:shop/web:1`, verb: 'resolveImage', container: null, supersedable: true, generation: 1 }] })[0]).toBe(`resolve:${nodeId}:shop/web:1`)
  })

  it('a hundred replicas -> all their steps, within seconds', () => {
    const setup = settledSetup({ ...v1, replicas: 100 })
    const before = performance.now()
    const { steps, complete } = previewOf({ ...setup, spec: { ...v2, replicas: 100 }, generation: 2 })
    expect(complete).toBe(true)
    expect(steps.filter((s) => s.verb === 'retireContainer')).toHaveLength(100)
    expect(performance.now() - before).toBeLessThan(5_000)
  })

  it('another kind -> the same way', () => {
    const base = inputOf()
    const image = 'nginx:1.28-alpine'
    const observed = [{ node: nodeId, unreachable: null, containers: [], images: { [image]: null }, published: null, connections: {} }]
    const input = { ...base, resource: { ...base.resource, kind: 'nginxdemo' }, desired: { spec: { hostPort: 8090 }, node: nodeId }, observed }
    expect(preview(nginxdemoController, input).steps.map((s) => s.summary)).toEqual([`pull ${image}`, `start ${image}`])
  })
})
