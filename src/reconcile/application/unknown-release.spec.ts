import { describe, expect, it } from 'vitest'
import type { Settled } from '../action.js'
import { heldMessage } from '../address-in-use.js'
import { containerOf, endpointOf, epoch, failureOf, nodeId, releaseOf, resourceId, instance, settledSetup, specOf, addressOf } from '../testing/application-world.js'
import { containerName } from '../labels.js'
import { passOf } from '../testing/pass.js'

const v1 = specOf()
const old = settledSetup(v1)
/** Made by a database that is lost: nobody has a record of it. */
const unknown = (release: number, replica: number, changes: object = {}) =>
  containerOf(releaseOf(release, specOf({ image: 'shop/web:9' })), replica, { address: addressOf(release, replica), ...changes })
const retire = (release: number, replica: number) => `retire:${containerName(instance, resourceId, release, replica)}`
const keys = (setup: Parameters<typeof passOf>[0]) => passOf(setup).plan.actions.map((a) => a.key)

describe('containers of a release that no record knows', () => {
  it('nothing else serves -> kept and left shown, while the wanted one is made', () => {
    const setup = { ...old, endpoints: [endpointOf(1, 0, 'ready')], containers: [unknown(2, 0)], published: 'what was shown' }
    const actions = keys(setup)
    expect(actions).toContain('ensure:1:0')
    expect(actions).not.toContain(retire(2, 0))
    expect(actions).not.toContain(`publish:${nodeId}`)
  })

  it('the wanted one serves and is shown -> leaves', () => {
    expect(keys({ ...old, containers: [...(old.containers ?? []), unknown(2, 0)] })).toEqual([retire(2, 0)])
  })

  it('does not run -> leaves at once', () => {
    expect(keys({ ...old, containers: [unknown(2, 0, { state: 'exited' })] })).toContain(retire(2, 0))
  })

  it('scaled to zero -> leaves', () => {
    expect(keys({ spec: { ...v1, replicas: 0 }, releases: old.releases, endpoints: [], containers: [unknown(2, 0)] })).toContain(retire(2, 0))
  })

  it('beside it a replica that somebody renamed -> stays while readers may name it, leaves when they were seen not to', () => {
    const renamed = containerOf(releaseOf(1, v1), 1, { name: 'mine' })
    const retired = (unroutedAt: number | null) =>
      keys({ ...old, endpoints: [endpointOf(1, 0, 'starting'), endpointOf(1, 1, 'draining', { readyAt: epoch, unroutedAt })], containers: [unknown(2, 0), renamed], published: 'what was shown' })
    expect(retired(null)).not.toContain('retire:mine')
    expect(retired(epoch)).toContain('retire:mine')
  })

  it('first release of an adopted orphan -> numbered above what runs', () => {
    const result = { resolved: 'shop/web@sha256:1', from: 'registry' as const, note: '' }
    const resolved: Settled = { key: `resolve:${nodeId}:shop/web:1`, verb: 'resolveImage', ok: true, result, generation: 1 }
    const { records } = passOf({ spec: v1, containers: [unknown(4, 0)], settled: [resolved] })
    expect(records[0]).toBe('release 5')
  })
})

it('a replica was cut off from the network -> leaves, and is made anew at its address', () => {
  const [cut] = old.containers ?? []
  expect(cut).toBeDefined()
  expect(keys({ ...old, containers: cut ? [{ ...cut, address: null }] : [] })).toContain(retire(1, 0))
})

describe('an address that somebody else holds', () => {
  const starting = { ...old, endpoints: [endpointOf(1, 0, 'starting', { readyAt: null })], containers: [] }
  const held = (address: string) => [failureOf('ensure:1:0', { reason: 'AddressInUse', message: heldMessage(address, null, 5) })]
  const own = starting.endpoints[0]?.address ?? ''

  it('a replica that never served -> gets another one', () => {
    expect(passOf({ ...starting, failures: held(own) }).records).toEqual(['gone 1/0', 'endpoint 1/0'])
  })

  it('the failure was about another address -> keeps its own', () => {
    expect(passOf({ ...starting, failures: held('10.0.0.1') }).records).toEqual([])
  })

  it('a replica that served -> waits for its own', () => {
    const { records } = passOf({ ...starting, endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch })], failures: held(own) })
    expect(records).not.toContain('gone 1/0')
  })

  it('an unknown container of its own has it -> gets another one, and that one is left alone', () => {
    const { records, plan } = passOf({ ...starting, containers: [unknown(2, 0, { address: own })] })
    expect(records).toEqual(['gone 1/0', 'endpoint 1/0'])
    expect(plan.actions.map((a) => a.key)).not.toContain(retire(2, 0))
  })
})
