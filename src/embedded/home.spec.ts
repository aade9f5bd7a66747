import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instanceOf, newInstanceId, openHome, requireInstanceId } from './home.js'

describe('openHome', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ek-home-'))
    path = join(folder, 'home')
  })
  afterEach(() => rm(folder, { recursive: true }))

  const modeOf = async (file: string) => (await stat(join(path, file))).mode & 0o777

  it('new -> an instance id that stays, readable by the owner only', async () => {
    const { instance } = await openHome(path)
    expect(instance).toMatch(/^[a-z0-9]{12}$/)
    expect((await openHome(path)).instance).toBe(instance)
    expect(await instanceOf(path)).toBe(instance)
    expect([await modeOf('.'), await modeOf('secrets'), await modeOf('instance')]).toEqual([0o700, 0o700, 0o600])
  })

  it('opened twice at once -> one id', async () => {
    const homes = await Promise.all([openHome(path), openHome(path), openHome(path)])
    expect(new Set(homes.map((home) => home.instance)).size).toBe(1)
  })

  it('adopt in a new directory -> that id', async () => {
    expect((await openHome(path, 'abcdefghij12')).instance).toBe('abcdefghij12')
  })

  it('adopt in a directory that has another -> refused', async () => {
    const { instance } = await openHome(path)
    await expect(openHome(path, 'abcdefghij12')).rejects.toThrow(`already belongs to instance ${instance}`)
  })

  it('damaged instance file -> refused, not replaced', async () => {
    await openHome(path)
    await writeFile(join(path, 'instance'), 'oops!')
    await expect(openHome(path)).rejects.toThrow('"oops!" is no instance id')
  })
})

describe('requireInstanceId', () => {
  it('a new one -> accepted', () => expect(requireInstanceId(newInstanceId())).toHaveLength(12))

  it.each(['', 'ABCDEFGHIJKL', 'abc', 'a'.repeat(33), 'abcdefghij1/'])('%j -> refused', (text) => {
    expect(() => requireInstanceId(text)).toThrow('is no instance id')
  })
})
