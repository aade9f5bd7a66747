import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { alive, PidFile, waitForExit } from './processes.js'

describe('PidFile', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ek-pid-'))
    path = join(folder, 'pid')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('process with the marks among its arguments -> ended, file removed', async () => {
    const child = spawn('sleep', ['3600'])
    await once(child, 'spawn')
    const file = new PidFile(path, ['sleep', '3600'])
    file.write(child.pid!)
    await file.endLeftover()
    expect(child.signalCode ?? (await once(child, 'exit'))[1]).toBe('SIGTERM')
    expect(existsSync(path)).toBe(false)
  })

  it('the number meanwhile belongs to another program -> left alone', async () => {
    const child = spawn('sleep', ['3600'])
    await once(child, 'spawn')
    const file = new PidFile(path, ['start-dev'])
    file.write(child.pid!)
    await file.endLeftover()
    expect(alive(child.pid!)).toBe(true)
    child.kill()
  })

  it.each(['', 'garbage', '-1', '0'])('content %j -> no process', (content) => {
    writeFileSync(path, content)
    expect(new PidFile(path, []).leftover()).toBeUndefined()
  })
})

describe('waitForExit', () => {
  it('process stays -> false after the time', async () => {
    expect(await waitForExit(process.pid, 50)).toBe(false)
  })
})
