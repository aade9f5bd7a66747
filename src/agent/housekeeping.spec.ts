import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { Housekeeping } from './housekeeping.js'
import { NodeConditions } from './node-conditions.js'
import { noLog } from './testing/no-log.js'

const hour = 3_600_000

describe('Housekeeping', () => {
  let stateDir: string
  let now: number
  let used: number
  let images: Map<string, string>
  let inUse: Set<string>
  let conditions: NodeConditions
  let housekeeping: Housekeeping

  const open = () =>
    new Housekeeping({
      stateDir,
      engine: {
        imagesInUse: async () => inUse,
        removeImage: async (reference) => images.delete(reference),
        imageId: async (reference) => images.get(reference) ?? null,
        rootDir: async () => '/var/lib/docker',
      },
      clock: { now: () => now },
      conditions,
      log: noLog,
      diskUse: async () => ({ totalBytes: 100, freeBytes: 100 - used * 100, used }),
    })
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'housekeeping-'))
    now = 0
    used = 0.5
    images = new Map([
      ['old@sha256:1', 'id1'],
      ['kept@sha256:2', 'id2'],
      ['running@sha256:3', 'id3'],
      ['of-a-person', 'id4'],
    ])
    inUse = new Set(['id3'])
    conditions = new NodeConditions()
    housekeeping = open()
    for (const reference of ['old@sha256:1', 'kept@sha256:2', 'running@sha256:3'])
      housekeeping.pulled(reference, images.get(reference) ?? '')
    housekeeping.setKeepImages(['kept@sha256:2'])
    now = hour
  })

  it('neither kept nor used, and pulled by us -> removed; everything else stays', async () => {
    expect(await housekeeping.collect()).toEqual(['old@sha256:1'])
    expect([...images.keys()]).toEqual(['kept@sha256:2', 'running@sha256:3', 'of-a-person'])
    expect(await housekeeping.collect()).toEqual([])
  })

  it('kept under another name of the same image -> stays', async () => {
    images.set('old:latest', 'id1')
    housekeeping.setKeepImages(['old:latest', 'kept@sha256:2'])
    expect(await housekeeping.collect()).toEqual([])
  })

  it('pulled a moment ago -> stays, because its container may be about to come', async () => {
    housekeeping.pulled('old@sha256:1', 'id1')
    expect(await housekeeping.collect()).toEqual([])
  })

  it('the control plane has not said what it needs -> nothing goes', async () => {
    const next = open()
    expect(await next.collect()).toEqual([])
    next.setKeepImages([])
    expect(await next.collect()).toEqual(['old@sha256:1', 'kept@sha256:2'])
  })

  it('a damaged record -> nothing goes', async () => {
    writeFileSync(join(stateDir, 'pulled-images.json'), '[{"reference"')
    const next = open()
    next.setKeepImages([])
    expect(await next.collect()).toEqual([])
  })

  it.each([
    [[0.84], false],
    [[0.86], true],
    [[0.86, 0.82], true],
    [[0.86, 0.82, 0.79], false],
    [[0.82], false],
  ])('disk used %j -> pressure %s', async (levels, pressure) => {
    for (used of levels) await housekeeping.measure()
    expect(conditions.all()).toMatchObject([{ type: 'DiskPressure', status: pressure ? 'True' : 'False' }])
    if (pressure) expect(() => housekeeping.admit()).toThrow(/full/)
    else housekeeping.admit()
  })
})
