import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAgentWorld, type AgentWorld } from './agent-world.js'
import { SmallApi } from './small-api.js'
import { SmallRegistry } from './small-registry.js'

let world: AgentWorld
let registry: SmallRegistry

const api = new SmallApi()

beforeAll(async () => {
  registry = new SmallRegistry()
  await registry.start()
  await api.start(() => world.subnet)
  world = await openAgentWorld({ apiUrl: api.url })
  await world.connected()
})
afterAll(async () => {
  await removeImagesOf(registry)
  await world.close()
  await registry.stop()
  await api.stop()
})

async function removeImagesOf({ host }: SmallRegistry): Promise<void> {
  const images = await world.docker.listImages()
  const mine = images.flatMap((i) => [...(i.RepoTags ?? []), ...(i.RepoDigests ?? [])]).filter((name) => name.startsWith(host))
  for (const name of mine)
    await world.docker
      .getImage(name)
      .remove()
      .catch(() => undefined)
}

const resolve = (image: string) => world.act('resolveImage', { image, platform: null })
const pull = (image: string) => world.act('pullImage', { image })
const failure = (reason: string, retryable: boolean) => expect.objectContaining({ reason, retryable })

describe('images of a registry', () => {
  it('a tag -> the digest that it has now, also after it moved, without a pull', async () => {
    const name = `${registry.host}/team/moving`
    const first = registry.push('team/moving', '1', 'first')
    expect(await resolve(`${name}:1`)).toEqual({ resolved: `${name}@${first}`, from: 'registry', note: '' })
    const second = registry.push('team/moving', '1', 'second')
    expect(second).not.toBe(first)
    expect((await resolve(`${name}:1`)).resolved).toBe(`${name}@${second}`)
    expect((await world.observe('app_x', { images: [`${name}@${second}`] })).images).toEqual({ [`${name}@${second}`]: null })
  })

  it('pulled by digest -> here under that name; pulled again -> at once, registry or not', async () => {
    const name = `${registry.host}/team/pulled`
    const digest = registry.push('team/pulled', '1', 'pulled')
    const { imageId } = await pull(`${name}@${digest}`)
    expect((await world.observe('app_x', { images: [`${name}@${digest}`] })).images).toEqual({ [`${name}@${digest}`]: imageId })
    expect(await pull(`${name}@${digest}`)).toEqual({ imageId })
  })

  it('the registry goes away -> the digest that the node has, and why', async () => {
    const other = new SmallRegistry()
    await other.start()
    const name = `${other.host}/team/known`
    const digest = other.push('team/known', '1', 'known')
    await pull(`${name}:1`)
    await other.stop()
    try {
      const found = await resolve(`${name}:1`)
      expect(found).toMatchObject({ resolved: `${name}@${digest}`, from: 'repo-digest' })
      expect(found.note).toMatch(/connection refused/)
    } finally {
      for (const reference of [`${name}:1`, `${name}@${digest}`])
        await world.docker
          .getImage(reference)
          .remove()
          .catch(() => undefined)
    }
  })

  it.each([
    ['no such tag', 'team/nothing', 'ImageNotFound', false],
    ['credentials are needed', 'team/app-private', 'ImagePullUnauthorized', false],
    ['the rate limit is reached', 'team/app-limited', 'ImagePullRateLimited', true],
    ['the registry is broken', 'team/app-broken', 'RegistryUnreachable', true],
  ])('%s -> its own reason, for a digest and for a pull', async (_, repository, reason, retryable) => {
    await expect(resolve(`${registry.host}/${repository}:1`)).rejects.toEqual(failure(reason, retryable))
    await expect(pull(`${registry.host}/${repository}:1`)).rejects.toEqual(failure(reason, retryable))
  })

  it('for another architecture only -> its own reason', async () => {
    registry.pushForeign('team/foreign', '1')
    await expect(pull(`${registry.host}/team/foreign:1`)).rejects.toEqual(failure('ImagePlatformMismatch', false))
  })

  it('a denied image that only this node has -> the local one, because the registry was never meant to know it', async () => {
    const name = `${registry.host}/team/local-private`
    await world.docker.getImage('evenkeel/testapp:1').tag({ repo: name, tag: '1' })
    expect(await resolve(`${name}:1`)).toMatchObject({ from: 'image-id' })
  })
})

describe('images of a registry that wants to know who asks', () => {
  const login = { username: 'node', password: 'p:ä"$+/' }
  const guarded = new SmallRegistry(login)
  const credential = (name: string, change: object = {}) => {
    api.credentials.set(name, { host: guarded.host, ...login, ...change })
    return name
  }
  const resolveAs = (image: string, name: string) => world.act('resolveImage', { image, credential: name })
  const pullAs = (image: string, name: string) => world.act('pullImage', { image, credential: name })

  beforeAll(() => guarded.start())
  afterAll(async () => {
    await removeImagesOf(guarded)
    await guarded.stop()
  })

  it('the credential of the project -> resolved and pulled', async () => {
    const name = `${guarded.host}/team/guarded`
    const digest = guarded.push('team/guarded', '1', 'guarded')
    const right = credential('right', { host: `https://${guarded.host}/v1/` })
    expect(await resolveAs(`${name}:1`, right)).toMatchObject({ resolved: `${name}@${digest}`, from: 'registry' })
    const { imageId } = await pullAs(`${name}@${digest}`, right)
    expect((await world.observe('app_x', { images: [`${name}@${digest}`] })).images).toEqual({ [`${name}@${digest}`]: imageId })
  })

  it('none, or a wrong one -> ImagePullUnauthorized for good, and the password is in no message', async () => {
    const image = `${guarded.host}/team/denied:1`
    guarded.push('team/denied', '1', 'denied')
    const refused = failure('ImagePullUnauthorized', false)
    await expect(resolve(image)).rejects.toEqual(refused)
    await expect(pull(image)).rejects.toEqual(refused)
    const wrong = credential('wrong', { password: 'not-this-one' })
    await expect(resolveAs(image, wrong)).rejects.toEqual(refused)
    await expect(pullAs(image, wrong)).rejects.toEqual(refused)
    await expect(pullAs(image, wrong)).rejects.not.toThrow(/not-this-one/)
  })

  it('one of another registry -> shown to nobody', async () => {
    const image = `${guarded.host}/team/elsewhere:1`
    guarded.push('team/elsewhere', '1', 'elsewhere')
    guarded.shown.length = 0
    const other = credential('other', { host: 'registry.example' })
    await expect(resolveAs(image, other)).rejects.toEqual(failure('ImagePullUnauthorized', false))
    await expect(pullAs(image, other)).rejects.toEqual(failure('ImagePullUnauthorized', false))
    expect(guarded.shown.filter((header) => header !== undefined)).toEqual([])
  })

  it('one that the project has not -> its own reason, tried again', async () => {
    await expect(pullAs(`${guarded.host}/team/guarded:1`, 'nowhere')).rejects.toEqual(failure('CredentialMissing', true))
  })

  it("the registry's limit -> its own words", async () => {
    await expect(pull(`${registry.host}/team/app-limited:1`)).rejects.toThrow(/pull rate limit/)
  })
})
