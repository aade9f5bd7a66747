import { describe, expect, it } from 'vitest'
import {
  addressOf,
  containerOf,
  endpointOf,
  epoch,
  inputOf,
  releaseOf,
  settledSetup,
  specOf,
} from '../testing/application-world.js'
import { publicationOf, revisionOf } from './publication.js'
import type { ApplicationSpec } from './spec.js'
import { worldOf } from './world.js'

const two = [8080, 9090]
const admin = { host: 'admin.test', port: 9090 }
const web = { host: 'web.test' }

/** A release that serves beside one that is being started, each with a ready replica. */
function halfway(before: Partial<ApplicationSpec>, after: Partial<ApplicationSpec>) {
  const [old, next] = [specOf(before), specOf({ image: 'shop/web:2', ...after })]
  const releases = [releaseOf(1, old, { servingAt: epoch - 50_000 }), releaseOf(2, next)]
  return inputOf({
    spec: next,
    releases,
    endpoints: [endpointOf(1, 0, 'ready'), endpointOf(2, 0, 'ready')],
    containers: releases.map((r) => containerOf(r, 0)),
  })
}

const settled = (spec: Partial<ApplicationSpec>) => inputOf(settledSetup(specOf(spec)))
/** By port, who is shown for it. */
const morePorts = (input: Parameters<typeof worldOf>[0]) =>
  Object.fromEntries((publicationOf(worldOf(input))?.morePorts ?? []).map((p) => [p.port, p.addresses]))
const [first, second] = [addressOf(1, 0), addressOf(2, 0)]

describe('publicationOf, further ports', () => {
  it('one port, and no domain asks for another -> none: files and revision of an application without domains', () => {
    const [plain, withDomain] = [{}, { domains: [web] }].map((more) => publicationOf(worldOf(settled(more))))
    expect(plain?.morePorts).toBeUndefined()
    expect(revisionOf(withDomain ?? null)).toBe(revisionOf(plain ?? null))
  })

  it('several ports -> each, whether or not a domain asks for it by now: ingress takes it at once when one does', () => {
    const addresses = [addressOf(1, 0), addressOf(1, 1)].sort()
    const [before, after] = [{}, { domains: [web, admin] }].map((more) => settled({ ports: two, replicas: 2, ...more }))
    for (const input of [before, after]) expect(morePorts(input!)).toEqual({ 8080: addresses, 9090: addresses })
    expect(revisionOf(publicationOf(worldOf(after!)))).toBe(revisionOf(publicationOf(worldOf(before!))))
  })

  it('the only port, asked for by number -> that', () => {
    expect(morePorts(settled({ domains: [{ host: 'a.test', port: 8080 }] }))).toEqual({ 8080: [first] })
  })

  it('more than two, asked for twice -> ascending, each once', () => {
    const domains = [admin, { ...admin, host: 'b.test' }, { host: 'c.test', port: 7070 }]
    const { morePorts: ports } = publicationOf(worldOf(settled({ ports: [8080, 9090, 7070], domains }))) ?? {}
    expect(ports?.map((p) => p.port)).toEqual([7070, 8080, 9090])
  })

  it('halfway to a release that has the port -> only its replicas by that, both by the other', () => {
    const input = halfway({ ports: [8080] }, { ports: two, domains: [admin] })
    expect(morePorts(input)).toEqual({ 8080: [first, second].sort(), 9090: [second] })
  })

  it('halfway to a release that has it no longer -> those that still have it, until they are gone', () => {
    const input = halfway({ ports: two, domains: [admin] }, { ports: [8080], domains: [web] })
    expect(morePorts(input)).toEqual({ 8080: [first, second].sort(), 9090: [first] })
    expect(morePorts(settled({ ports: [8080], domains: [web] }))).toEqual({})
  })

  it('the order of the ports changes -> all by each', () => {
    const both = [first, second].sort()
    expect(morePorts(halfway({ ports: [9090, 8080] }, { ports: two, domains: [admin] }))).toEqual({ 8080: both, 9090: both })
  })

  it('asked for, and nobody is ready -> the port stays, with nobody', () => {
    const setup = settledSetup(specOf({ ports: two, domains: [admin] }))
    const unready = { probe: { ready: false, message: 'refused' } }
    const input = inputOf({ ...setup, containers: setup.containers.map((c) => ({ ...c, ...unready })) })
    expect(morePorts(input)).toEqual({ 9090: [] })
  })

  it('more addresses, or another port -> another revision', () => {
    const specs = [{ ports: two }, { ports: two, replicas: 2 }, { ports: [8080, 7070] }, { ports: [8080] }]
    expect(new Set(specs.map((spec) => revisionOf(publicationOf(worldOf(settled(spec)))))).size).toBe(4)
  })
})
