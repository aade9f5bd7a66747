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

  describe('further ports', () => {
    const ports = (...morePorts: { port: number; addresses: string[] }[]) => of(['10.0.0.9'], { morePorts })
    const files = () => readdirSync(publisherPaths(stateDir).slots).sort()
    const all = (...targets: string[]) => targets.flatMap((t) => Array.from({ length: 12 }, (_, slot) => `${t}.${slot}`)).sort()

    it('asked for -> files of their own, which dial that port', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: ['10.0.0.9'] }), 'r1', never)
      expect(files()).toEqual(all('app_a', 'app_a-9090'))
      expect(new Set(dials('app_a-9090'))).toEqual(new Set(['10.0.0.9:9090']))
      expect(new Set(dials('app_a'))).toEqual(new Set(['10.0.0.9:80']))
    })

    it('nobody has it yet -> ingress is sent to the 503 responder', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: [] }), 'r1', never)
      expect(new Set(dials('app_a-9090'))).toEqual(new Set(['127.0.0.1:503']))
    })

    it('asked for no longer -> its files go, the others stay', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: [] }, { port: 7070, addresses: [] }), 'r1', never)
      await publisher.publish('app_a', ports({ port: 7070, addresses: [] }), 'r2', never)
      expect(files()).toEqual(all('app_a', 'app_a-7070'))
      await publisher.publish('app_a', of(['10.0.0.9']), 'r3', never)
      expect(files()).toEqual(all('app_a'))
    })

    it('taken away -> no file is left, also not of one whose name begins alike', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: [] }), 'r1', never)
      await publisher.publish('app_a-b', ports({ port: 9090, addresses: [] }), 'r1', never)
      await publisher.publish('app_a', null, 'none', never)
      expect(files()).toEqual(all('app_a-b', 'app_a-b-9090'))
    })

    it('a new agent -> rendered again, and what nobody asks for any more is removed', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: ['10.0.0.9'] }), 'r1', never)
      const { slots } = publisherPaths(stateDir)
      rmSync(join(slots, 'app_a-9090.3'))
      writeFileSync(join(slots, 'app_a-9090.4'), 'rubbish')
      for (const stale of ['app_a-7070.0', 'app_gone.0', '.1.next']) writeFileSync(join(slots, stale), '10.0.0.9:7070')
      expect(open().liveRevision('app_a')).toBe('r1')
      expect(files()).toEqual(all('app_a', 'app_a-9090'))
      expect(new Set(dials('app_a-9090'))).toEqual(new Set(['10.0.0.9:9090']))
    })

    it('one of its files is damaged or lost -> reads as not published until it is repaired', async () => {
      await publisher.publish('app_a', ports({ port: 9090, addresses: ['10.0.0.9'] }), 'r1', never)
      for (const damage of [(path: string) => rmSync(path), (path: string) => writeFileSync(path, '10.0.0.1:1')]) {
        damage(join(publisherPaths(stateDir).slots, 'app_a-9090.11'))
        expect(publisher.liveRevision('app_a')).toBeNull()
        expect(publisher.repair()).toEqual([])
        expect(publisher.liveRevision('app_a')).toBe('r1')
      }
    })
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
