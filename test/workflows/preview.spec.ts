import { describe, expect, it } from 'vitest'
import { previewOf, readSubject } from '../../activities/preview.js'
import type { PassStore } from '../../src/persistence/pass-store.js'
import { volumeName } from '../../src/reconcile/labels.js'
import type { NodeObservation } from '../../src/reconcile/observed.js'
import { inputOf, instance, nodeId, resourceId, settledSetup, specOf } from '../../src/reconcile/testing/application-world.js'

describe('the preview of a move', () => {
  const spec = specOf({ volumes: [{ name: 'data', path: '/data' }] })
  const input = inputOf({ ...settledSetup(spec), volumesOn: [nodeId] })
  const nodes = [
    { id: nodeId, name: 'first', lastSeenAt: null },
    { id: 'node_2', name: 'second', lastSeenAt: null },
  ]
  const { resource, desired, observed, now } = input
  const store = { peek: async () => ({ pass: 1, resource, desired, nodes }) } as unknown as PassStore
  const subject = { resourceId, projectId: 'proj_1', name: 'web', spec: { ...spec, placement: { node: 'second' } } }

  it('-> new replicas on the new node, and a note that the data does not follow', async () => {
    const read = await readSubject(store, subject)
    if (!read) throw new Error('there is no subject')
    const there: NodeObservation = {
      node: 'node_2',
      unreachable: null,
      containers: [],
      images: {},
      published: null,
      connections: {},
    }
    const { steps, notes } = previewOf(instance, read, [...observed, there], now)
    expect(steps.filter((s) => s.verb === 'ensureContainer').map((s) => s.node)).toEqual(['node_2'])
    expect(notes).toContainEqual(
      expect.stringContaining(`what is in data stays on node ${nodeId} and does not follow it to node node_2`),
    )
    expect(notes.join()).toContain(volumeName(instance, resourceId, 'data'))
  })

  it('nothing is changed -> no step and no note of volumes', async () => {
    const read = await readSubject(store, { ...subject, spec })
    expect(read && previewOf(instance, read, observed, now)).toMatchObject({
      steps: [],
      notes: [expect.stringContaining('volume data')],
    })
  })
})
