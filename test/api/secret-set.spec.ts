import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setSecret } from '../../src/bootstrap/set-secret.js'
import { homePaths, readSettings } from '../../src/settings.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'
import { SecretWorld } from './secret-world.js'

let api: ApiUnderTest
let world: SecretWorld
beforeAll(async () => {
  api = await startApi()
  world = await SecretWorld.make(api, 'shop')
  const config = homePaths(api.settings.home).agentConfig
  await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), apiUrl: api.url }))
})
afterAll(() => api?.stop())

const set = (project: string, name: string, value: string | Buffer, settings = api.settings) =>
  setSecret({ settings, project, name, value: Buffer.from(value as string) })

describe('setSecret', () => {
  it("project by name or id -> set with the owner's token, byte for byte", async () => {
    expect(await set('shop', 'cert', 'line\n\nline\n')).toEqual({ version: 1, bytes: 11 })
    expect(await set(world.projectId, 'cert', 'line\n\nline\n')).toEqual({ version: 1, bytes: 11 })
    expect(await set(world.projectId, 'cert', 'line')).toEqual({ version: 2, bytes: 4 })
  })

  it.each<[string, string, string, string | Buffer, string]>([
    ['no such project', 'nowhere', 'n', 'x', 'there is no project nowhere'],
    ['a wrong name', 'shop', 'No', 'x', 'the name must start with a letter'],
    ['no text', 'shop', 'n', Buffer.from([0xff]), 'the value must be valid Unicode'],
    ['too much', 'shop', 'n', 'x'.repeat(65_537), 'the value must have at most 65536 bytes'],
    ['far too much', 'shop', 'n', 'x'.repeat(2 ** 21), 'longer than'],
  ])('%s -> one sentence, without the value', async (_what, project, name, value, words) => {
    const error = await set(project, name, value).then(() => null, (e: Error) => e)
    expect(error?.message).toContain(words)
    expect(error?.message.length).toBeLessThan(300)
  })

  it('no token, or no API -> what is the matter', async () => {
    const elsewhere = readSettings({ EVENKEEL_HOME: '/nowhere' })
    await expect(set('shop', 'n', 'x', elsewhere)).rejects.toThrow("there is no owner's token /nowhere/secrets/owner-token")
    const config = homePaths(api.settings.home).agentConfig
    await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), apiUrl: 'http://127.0.0.1:1' }))
    await expect(set('shop', 'n', 'x')).rejects.toThrow('does not answer: is Evenkeel running?')
  })
})
