import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instanceOf, openHome } from './home.js'

describe('openHome', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'ek-home-'))))
  afterEach(() => rm(folder, { recursive: true }))

  it('new -> for the owner only', async () => {
    const home = await openHome(join(folder, 'deep', 'home'))
    expect((await stat(home.path)).mode & 0o777).toBe(0o700)
    expect((await stat(home.runDir)).mode & 0o777).toBe(0o700)
  })

  it('instance -> that of its file, or none yet', async () => {
    const { path } = await openHome(folder)
    expect(await instanceOf(path)).toBeUndefined()
    await writeFile(join(path, 'instance'), 'e2345678\n')
    expect(await instanceOf(path)).toBe('e2345678')
  })
})
