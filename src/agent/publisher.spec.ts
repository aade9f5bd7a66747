import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Publication } from '../reconcile/action.js'
import { Publisher, publisherPaths } from './publisher.js'

const never = new AbortController().signal

describe('Publisher', () => {
  let stateDir: string
  let now: number
  let silent: boolean
  let frozen: Map<string, string[]> | null
  let complaints: string[]
  let publisher: Publisher

  /** A resolver that shows the hosts file as it is, unless it is silent or still shows an older one. */
  const lookup = async (name: string) => {
    if (silent) return { silent: 'ECONNREFUSED' }
    return { addresses: (frozen ?? hosts()).get(name) ?? [] }
  }
  const hosts = () => {
    const names = new Map<string, string[]>()
    for (const line of readFileSync(publisherPaths(stateDir).hosts, 'utf8').split('\n').filter(Boolean)) {
      const [address = '', name = ''] = line.split(' ')
      names.set(name, [...(names.get(name) ?? []), address].sort())
    }
    return names
  }
  const open = () =>
    new Publisher({
      stateDir,
      clock: { now: () => now, sleep: async (ms) => void ((now += ms), await new Promise((resolve) => setImmediate(resolve))) },
      names: { lookup },
      onSilent: (why) => complaints.push(why),
      unavailableDial: '127.0.0.1:503',
    })
  const dials = (resource: string) => {
    const { slots } = publisherPaths(stateDir)
    const files = readdirSync(slots).filter((f) => f.startsWith(`${resource}.`))
    return files
      .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))
      .map((f) => readFileSync(join(slots, f), 'utf8'))
  }
  const of = (addresses: string[], change: Partial<Publication> = {}): Publication => ({
    names: ['web.shop.internal'],
    addresses,
    port: 80,
    ...change,
  })

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'publisher-'))
    now = 0
    silent = false
    frozen = null
    complaints = []
    publisher = open()
  })

  it('published -> names and dials are there, and the revision is live', async () => {
    await publisher.publish('app_a', of(['10.0.0.9', '10.0.0.8']), 'r1', never)
    expect(hosts()).toEqual(new Map([['web.shop.internal', ['10.0.0.8', '10.0.0.9']]]))
    expect(dials('app_a')).toEqual(Array.from({ length: 6 }, () => ['10.0.0.9:80', '10.0.0.8:80']).flat())
    expect(publisher.liveRevision('app_a')).toBe('r1')
    expect(publisher.liveRevision('app_b')).toBeNull()
  })

  it('no endpoint left -> no address, and ingress is sent to the 503 responder', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    await publisher.publish('app_a', of([]), 'r2', never)
    expect(hosts().size).toBe(0)
    expect(new Set(dials('app_a'))).toEqual(new Set(['127.0.0.1:503']))
    expect(publisher.liveRevision('app_a')).toBe('r2')
  })

  it('taken away -> no file is left, other resources stay', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    await publisher.publish('app_b', of(['10.0.0.7'], { names: ['db.shop.internal'] }), 'r1', never)
    await publisher.publish('app_a', null, 'none', never)
    expect(hosts()).toEqual(new Map([['db.shop.internal', ['10.0.0.7']]]))
    expect(dials('app_a')).toEqual([])
    expect(publisher.liveRevision('app_a')).toBeNull()
    await publisher.publish('app_a', null, 'none', never)
  })

  it('no port -> names only', async () => {
    await publisher.publish('app_a', of(['10.0.0.9'], { port: null }), 'r1', never)
    expect(dials('app_a')).toEqual([])
    expect(publisher.liveRevision('app_a')).toBe('r1')
  })

  it('a port that changed -> replicas of the old release are dialled at theirs', async () => {
    const otherPorts = { '10.0.0.2': 8080 }
    await publisher.publish('app_1', of(['10.0.0.1', '10.0.0.2'], { otherPorts }), 'r1', never)
    expect(new Set(dials('app_1'))).toEqual(new Set(['10.0.0.1:80', '10.0.0.2:8080']))
  })

  it('a new agent -> the same revision from disk, and files rendered again', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    rmSync(publisherPaths(stateDir).hosts)
    writeFileSync(join(publisherPaths(stateDir).slots, 'app_a.3'), 'rubbish')
    const next = open()
    expect(next.liveRevision('app_a')).toBe('r1')
    expect(hosts().get('web.shop.internal')).toEqual(['10.0.0.9'])
    expect(dials('app_a')[3]).toBe('10.0.0.9:80')
  })

  it('a lost or damaged fragment -> reads as not published, and is named', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    await publisher.publish('app_b', of(['10.0.0.7'], { names: ['db.shop.internal'] }), 'r1', never)
    rmSync(join(publisherPaths(stateDir).fragments, 'app_a.json'))
    writeFileSync(join(publisherPaths(stateDir).fragments, 'app_b.json'), '{"revision":')
    expect(publisher.liveRevision('app_a')).toBeNull()
    expect(publisher.liveRevision('app_b')).toBeNull()
    expect(publisher.repair()).toEqual(['app_a', 'app_b'])
    expect(open().liveRevision('app_b')).toBeNull()
  })

  it('a lost dial -> reads as not published until it is repaired', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    rmSync(join(publisherPaths(stateDir).slots, 'app_a.0'))
    expect(publisher.liveRevision('app_a')).toBeNull()
    expect(publisher.repair()).toEqual([])
    expect(publisher.liveRevision('app_a')).toBe('r1')
  })

  it('the resolver shows the old answer for a while -> waits, and the old revision is live until then', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    frozen = hosts()
    const published = publisher.publish('app_a', of(['10.0.0.8']), 'r2', never)
    await new Promise((resolve) => setImmediate(resolve))
    expect(publisher.liveRevision('app_a')).toBe('r1')
    frozen = null
    await published
    expect(publisher.liveRevision('app_a')).toBe('r2')
  })

  it('the resolver goes on showing the old answer -> a failure, so that nobody stops what is still named', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    frozen = hosts()
    await expect(publisher.publish('app_a', of(['10.0.0.8']), 'r2', never)).rejects.toMatchObject({
      reason: 'DNSNotUpdated',
      retryable: true,
    })
    expect(publisher.liveRevision('app_a')).not.toBe('r2')
  })

  it('a silent resolver -> published all the same, told, and the next one hardly waits', async () => {
    silent = true
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    expect(publisher.liveRevision('app_a')).toBe('r1')
    expect(complaints).toEqual(['ECONNREFUSED'])
    const before = now
    await publisher.publish('app_b', of(['10.0.0.7'], { names: ['db.shop.internal'] }), 'r1', never)
    expect(now - before).toBeLessThan(500)
  })

  it('two resources with one name -> it answers with the addresses of both', async () => {
    await publisher.publish('app_a', of(['10.0.0.9']), 'r1', never)
    await publisher.publish('app_b', of(['10.0.0.7']), 'r1', never)
    expect(hosts().get('web.shop.internal')).toEqual(['10.0.0.7', '10.0.0.9'])
  })

  it('an id that is no file name -> refused', async () => {
    await expect(publisher.publish('../x', of([]), 'r', never)).rejects.toThrow('no resource id')
  })
})
