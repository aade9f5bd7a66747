import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { homePaths } from '../settings.js'
import { handOut, recipientOf } from './hand-out.js'
import { ensurePrivateFolder, writeStateFile } from './state-file.js'

let scratch: string
const uid = process.getuid?.() ?? 0

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'evenkeel-hand-out-'))
  const home = homePaths(join(scratch, 'home'))
  ensurePrivateFolder(home.secrets)
  for (const name of ['instance', 'signingKey', 'masterKey', 'ownerToken'] as const) writeStateFile(home[name], name)
})

afterEach(() => rmSync(scratch, { recursive: true }))

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))
    .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8'), (statSync(path).mode & 0o777).toString(8)])
    .sort()

describe('handOut', () => {
  it('API -> the master key and nothing else, for its user alone', () => {
    const folder = join(scratch, 'api')
    handOut(join(scratch, 'home'), 'api', { folder, uid })
    expect(filesIn(folder)).toEqual([['secrets/master.key', 'masterKey', '600']])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  it('worker, a second time after the key was rotated -> the new signing key', () => {
    const recipient = { folder: join(scratch, 'worker'), uid }
    handOut(join(scratch, 'home'), 'worker', recipient)
    writeStateFile(homePaths(join(scratch, 'home')).signingKey, 'rotated')
    handOut(join(scratch, 'home'), 'worker', recipient)
    expect(filesIn(recipient.folder)).toEqual([
      ['instance', 'instance', '600'],
      ['secrets/signing-key.pem', 'rotated', '600'],
    ])
  })

  it('a missing file -> an error that names it', () => {
    rmSync(homePaths(join(scratch, 'home')).masterKey)
    expect(() => handOut(join(scratch, 'home'), 'api', { folder: join(scratch, 'api'), uid })).toThrow(/master\.key is missing/)
  })
})

describe('recipientOf', () => {
  it('folder and user id -> both', () =>
    expect(recipientOf('/hand-out/api:10001')).toEqual({ folder: '/hand-out/api', uid: 10001 }))
  it.each(['', '/x', 'x:1', '/x:', '/x:root'])('%j -> refused', (text) => expect(() => recipientOf(text)).toThrow(/no recipient/))
})
