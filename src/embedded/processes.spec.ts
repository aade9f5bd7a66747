import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { alive, PidFile, processIdentity, waitForExit } from './processes.js'

describe('PidFile', () => {
  let folder: string
  let path: string
  let child: ChildProcess

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ek-pid-'))
    path = join(folder, 'pid')
    child = spawn('sleep', ['3600'])
    await once(child, 'spawn')
  })

  afterEach(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  it('process that still runs -> found, ended, file removed', async () => {
    const file = new PidFile(path)
    file.write(child.pid!)
    expect(file.running()).toBe(child.pid)
    const exit = once(child, 'exit')
    await file.end()
    expect((await exit)[1]).toBe('SIGTERM')
    expect(existsSync(path)).toBe(false)
  })

  it('the number meanwhile belongs to another process -> left alone', async () => {
    writeFileSync(path, `${child.pid} ${processIdentity(process.pid)}\n`)
    const file = new PidFile(path)
    expect(file.running()).toBeUndefined()
    await file.end()
    expect(alive(child.pid!)).toBe(true)
  })

  it.each(['', 'garbage', '-1 x', '0', '12'])('content %j -> no process', (content) => {
    writeFileSync(path, content)
    expect(new PidFile(path).running()).toBeUndefined()
  })
})

describe('processIdentity', () => {
  it('same process -> the same; no process -> nothing', () => {
    expect(processIdentity(process.pid)).toBe(processIdentity(process.pid))
    expect(processIdentity(4_194_305)).toBeUndefined()
  })
})

describe('waitForExit', () => {
  it('process stays -> false after the time', async () => {
    expect(await waitForExit(process.pid, 50)).toBe(false)
  })
})
