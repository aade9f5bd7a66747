import { describe, expect, it } from 'vitest'
import type { ActionContext } from './executor.js'
import { authFor } from './registry-auth.js'

const login = { username: 'u', password: 'p' }
const contextWith = (host: string) =>
  ({
    credentials: { credential: async () => ({ host, ...login }) },
    owner: { resource: 'app_a' },
    signal: new AbortController().signal,
  }) as unknown as ActionContext

describe('authFor', () => {
  it.each([
    ['registry.example/a/b:1', 'registry.example', 'registry.example'],
    ['registry.example:5000/a:1', 'https://Registry.example:5000/v2/', 'registry.example:5000'],
    ['nginx', 'docker.io', 'https://index.docker.io/v1/'],
    ['shop/web:1', 'https://index.docker.io/v1/', 'https://index.docker.io/v1/'],
    ['registry.example:5000/a:1', 'registry.example', null],
    ['registry.example/a:1', 'example', null],
    ['shop/web:1', 'registry.example', null],
  ])('%s with a credential of %s -> %s', async (image, host, serveraddress) => {
    expect(await authFor(image, 'c', contextWith(host))).toEqual(serveraddress && { ...login, serveraddress })
  })

  it('no credential -> nobody is asked', async () => {
    expect(await authFor('nginx', null, {} as ActionContext)).toBeNull()
  })
})
