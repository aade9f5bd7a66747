import { describe, expect, it } from 'vitest'
import { addressOf, containerOf, endpointOf, epoch, inputOf, releaseOf, settledSetup, specOf } from '../testing/application-world.js'
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
const morePorts = (input: Parameters<typeof worldOf>[0]) => publicationOf(worldOf(input))?.morePorts

describe('publicationOf, further ports', () => {
  it('no domain, or none with a port -> none, and the revision of an application without domains', () => {
    expect(morePorts(settled({ ports: two }))).toBeUndefined()
    const [plain, withDomain] = [{}, { domains: [web] }].map((more) => publicationOf(worldOf(settled({ ports: two, ...more }))))
    expect(revisionOf(withDomain ?? null)).toBe(revisionOf(plain ?? null))
  })

  it('a domain with a port -> every ready replica by that port, sorted', () => {
    const addresses = [addressOf(1, 0), addressOf(1, 1)].sort()
    expect(morePorts(settled({ ports: two, replicas: 2, domains: [web, admin] }))).toEqual([{ port: 9090, addresses }])
  })

  it('two domains with one port -> once; two ports -> ascending', () => {
    const domains = [admin, { ...admin, host: 'b.test' }, { host: 'c.test', port: 7070 }]
    expect(morePorts(settled({ ports: [8080, 9090, 7070], domains }))?.map((p) => p.port)).toEqual([7070, 9090])
  })

  it('halfway to a release that has the port -> only its replicas', () => {
    expect(morePorts(halfway({ ports: [8080] }, { ports: two, domains: [admin] }))).toEqual([{ port: 9090, addresses: [addressOf(2, 0)] }])
  })

  it('halfway to a release that has it no longer, and no domain asks for it -> none', () => {
    expect(morePorts(halfway({ ports: two, domains: [admin] }, { ports: [8080], domains: [web] }))).toBeUndefined()
  })

  it('the order of the ports changes -> those that had the port first are dialled by it all the same', () => {
    const input = halfway({ ports: [9090, 8080] }, { ports: two, domains: [admin] })
    expect(morePorts(input)).toEqual([{ port: 9090, addresses: [addressOf(1, 0), addressOf(2, 0)].sort() }])
  })

  it('nobody is ready -> the port stays, with nobody', () => {
    const setup = settledSetup(specOf({ ports: two, domains: [admin] }))
    const unready = { probe: { ready: false, message: 'refused' } }
    const input = inputOf({ ...setup, containers: setup.containers.map((c) => ({ ...c, ...unready })) })
    expect(morePorts(input)).toEqual([{ port: 9090, addresses: [] }])
  })

  it('more addresses, fewer, or another port -> another revision', () => {
    const revisions = [
      { ports: two, domains: [admin] },
      { ports: two, domains: [admin], replicas: 2 },
      { ports: two, domains: [{ host: 'admin.test', port: 8080 }] },
    ].map((spec) => revisionOf(publicationOf(worldOf(settled(spec)))))
    expect(new Set(revisions).size).toBe(3)
  })
})
