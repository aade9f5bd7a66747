import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HomeLock } from './home-lock.js'
import { homeAt, type Home } from './home.js'
import { PidFile, processIdentity } from './processes.js'

describe('HomeLock', () => {
  let folder: string
  let home: Home
  const locks: HomeLock[] = []
  const lockOf = (of = home) => {
    const lock = new HomeLock(of)
    locks.push(lock)
    return lock
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'home-lock-'))
    home = homeAt(join(folder, 'home'))
    mkdirSync(home.runDir, { recursive: true })
  })
  afterEach(async () => {
    for (const lock of locks.splice(0)) await lock.release()
    rmSync(folder, { recursive: true })
  })

  it('claimed -> its process is told, and nobody else gets it until it is released', async () => {
    const [first, second] = [lockOf(), lockOf()]
    expect(await first.claim()).toBe(true)
    expect(second.running()).toBe(process.pid)
    expect(await second.claim()).toBe(false)
    expect(await second.hold()).toBe(false)
    await first.release()
    expect(second.running()).toBeUndefined()
    expect(await second.claim()).toBe(true)
  })

  it.each(['', 'garbage', `${process.pid} of-another-boot/1\n`])(
    'many at once over what is left behind (%j) -> one of them',
    async (left) => {
      writeFileSync(join(home.runDir, 'supervisor.pid'), left)
      const claimed = await Promise.all(Array.from({ length: 20 }, () => lockOf().claim()))
      expect(claimed.filter(Boolean)).toEqual([true])
      expect(lockOf().running()).toBe(process.pid)
    },
  )

  it('held -> told of nobody, and claimed by nobody', async () => {
    expect(await lockOf().hold()).toBe(true)
    expect(lockOf().running()).toBeUndefined()
    expect(await lockOf().claim()).toBe(false)
  })

  it('the same directory by another path -> the same; another directory -> another', async () => {
    symlinkSync(home.path, join(folder, 'link'))
    expect(await lockOf().hold()).toBe(true)
    expect(await lockOf(homeAt(join(folder, 'link'))).hold()).toBe(false)
    expect(await lockOf(homeAt(join(folder, 'other'))).hold()).toBe(true)
  })

  it('a supervisor that does not hold the name, as in another network namespace -> not taken from it', async () => {
    const child = spawn('sleep', ['60'])
    try {
      expect(processIdentity(child.pid!)).toBeDefined()
      new PidFile(join(home.runDir, 'supervisor.pid')).write(child.pid!)
      const lock = lockOf()
      expect(await lock.claim()).toBe(false)
      await lock.release()
      expect(lock.running()).toBe(child.pid)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
