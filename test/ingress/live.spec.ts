import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createProject, LiveApplication } from '../faults/live-application.js'
import { LiveInstance, parts, until } from '../faults/live-instance.js'
import { Load } from '../faults/load.js'
import { testAppImage } from '../setup/test-images.js'
import { ask, askSafely } from './client.js'
import { Pebble } from './pebble.js'

const quick = { drainSeconds: 2, stopGraceSeconds: 2 }

describe('domains of applications, on a whole instance', () => {
  let live: LiveInstance
  let project: { id: string; name: string }
  let shop: LiveApplication
  let blog: LiveApplication
  let ports: { http: number; https: number }

  beforeAll(async () => {
    live = await LiveInstance.prepare()
    await live.up()
    ports = { http: live.ports.HTTP, https: live.ports.HTTPS }
    project = await createProject(live, 'ingress')
    const domains = (name: string) => [{ host: `${name}.test` }, { host: `${name}-plain.test`, tls: 'OFF' }]
    ;[shop, blog] = await Promise.all([
      LiveApplication.create(live, project, {
        name: 'shop',
        image: testAppImage('1'),
        replicas: 2,
        ...quick,
        domains: domains('shop'),
      }),
      LiveApplication.create(live, project, {
        name: 'blog',
        image: testAppImage('3'),
        replicas: 1,
        ...quick,
        domains: domains('blog'),
      }),
    ])
    await Promise.all([shop.untilSettled({ release: 1, replicas: 2 }), blog.untilSettled({ release: 1, replicas: 1 })])
  }, 180_000)

  afterAll(() => live.destroy(), 120_000)

  const plain = (host: string, path = '/') => askSafely({ port: ports.http, host, path })
  const secure = (host: string) => askSafely({ port: ports.https, host, tls: true })
  const versionOf = (text: string | undefined): string => (text ? (JSON.parse(text) as { version: string }).version : '')
  const condition = async (app: LiveApplication, type: string) => (await app.told())?.conditions.find((c) => c.type === type)
  const caddy = async () => (await live.containers({ kind: 'ingress' }))[0]
  const served = (host: string) => until(`an answer for ${host}`, async () => (await plain(host))?.status === 200)
  const configuration = () =>
    live.sql<{ host: string; resourceId: string; routed: boolean }>(
      'SELECT host, "resourceId", routed FROM "Domain" ORDER BY host',
    )

  it('served with and without TLS, told by conditions', { timeout: 60_000 }, async () => {
    await served('shop-plain.test')
    await until('the certificate', async () => (await secure('shop.test'))?.status === 200)
    expect(versionOf((await secure('shop.test'))?.text)).toBe('1')
    expect(versionOf((await plain('blog-plain.test'))?.text)).toBe('3')
    expect(await plain('shop.test', '/a?b=c')).toMatchObject({
      status: 308,
      headers: { location: `https://shop.test:${ports.https}/a?b=c` },
    })
    expect(await plain('nobody.test')).toMatchObject({ status: 404 })
    await until('Routed and CertificateReady', async () => (await condition(shop, 'CertificateReady'))?.status === 'True')
    expect(await condition(shop, 'Routed')).toMatchObject({ status: 'True', reason: 'Routed' })
  })

  it('the demo -> served under demo.localhost', async () => {
    const answer = await plain('demo.localhost')
    expect(answer).toMatchObject({ status: 200 })
    expect(answer?.text).toContain('nginx')
  })

  it('20 domain changes at one instant -> all served (F5)', { timeout: 120_000 }, async () => {
    const apps = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        LiveApplication.create(live, project, { name: `many-${n}`, image: testAppImage('1'), replicas: 0 }),
      ),
    )
    await Promise.all(apps.map((app, n) => app.change({ domains: [{ host: `many-${n}.test`, tls: 'OFF' }] })))
    // Without a replica the answer is a 503, which only a host that is known gets.
    const statuses = () => Promise.all(apps.map(async (_, n) => (await plain(`many-${n}.test`))?.status))
    await until('20 hosts', async () => (await statuses()).every((status) => status === 503))
    expect((await plain('many-0.test'))?.headers['retry-after']).toBe('5')
    await Promise.all(apps.map((app) => app.delete()))
    await until('their end', async () => (await statuses()).every((status) => status === 404))
  })

  it('suspended -> 503 with Retry-After; resumed -> served', { timeout: 60_000 }, async () => {
    const call = (name: string) =>
      live.graphql(`mutation ($id: ID!) { ${name}(id: $id) { userErrors { message } } }`, { id: blog.id })
    await call('applicationSuspend')
    await until('503', async () => (await plain('blog-plain.test'))?.status === 503)
    expect((await plain('blog-plain.test'))?.headers['retry-after']).toBe('5')
    await call('applicationResume')
    await served('blog-plain.test')
  })

  it(
    'a bad tag, a crash, one that is never ready, B in the middle of A, scale, restart, rollback -> no request lost',
    { timeout: 240_000 },
    async () => {
      const failsWith = (reason: string) => blog.untilReady({ status: 'False', reason })
      const call = (mutation: string) =>
        live.graphql(`mutation ($id: ID!) { ${mutation} { userErrors { message } } }`, { id: blog.id })
      const load = new Load(live.ingressUrl, 'blog-plain.test')
      const answersOf = (version: string, more: number) =>
        until(`answers of ${version}`, () => (load.soFar.versions[version] ?? 0) > more)
      await answersOf('3', 20)

      await blog.change({ image: 'evenkeel/testapp:none', pullPolicy: 'NEVER' })
      await failsWith('ImageMissing')
      await blog.change({ image: testAppImage('3'), env: [{ name: 'EXIT_CODE', value: '1' }] })
      await failsWith('ContainerExited')
      await blog.change({ env: [{ name: 'FAIL_READY', value: '1' }], startupBudgetSeconds: 3 })
      await failsWith('ReadinessTimeout')
      await blog.change({
        image: testAppImage('1'),
        env: [{ name: 'READY_AFTER_MS', value: '60000' }],
        startupBudgetSeconds: 120,
      })
      await until('a container of A', async () => (await blog.containers()).length > 1)
      await blog.change({ image: testAppImage('2'), env: [] })
      await answersOf('2', 20)
      expect(load.soFar.versions['1']).toBeUndefined()
      for (const replicas of [3, 1]) {
        await blog.change({ replicas })
        await blog.untilReady({ status: 'True' })
      }
      for (const mutation of ['applicationRestart(id: $id)', 'applicationRollback(id: $id, toRelease: 1)']) {
        await call(mutation)
        await blog.untilReady({ status: 'True' })
      }
      await answersOf('3', (load.soFar.versions['3'] ?? 0) + 20)

      const { sent, lost, losses, longestGapMs } = await load.stop()
      console.log(`through every kind of change: ${sent} requests, ${lost} lost, longest gap ${longestGapMs} ms`)
      expect({ lost, losses }).toEqual({ lost: 0, losses: [] })
    },
  )

  it(
    'a WebSocket and a download of 60 s -> live through deploys of their own and of others (F4)',
    { timeout: 240_000 },
    async () => {
      await shop.change({ drainSeconds: 120, stopGraceSeconds: 60 })
      await shop.untilReady({ status: 'True' })
      const socket = new WebSocket(`ws://127.0.0.1:${ports.http}/socket`, { headers: { host: 'shop-plain.test' } })
      const [heard, ends] = [[] as string[], [] as string[]]
      socket.on('message', (data: Buffer) => heard.push(data.toString()))
      socket.on('close', (code) => ends.push(`closed ${code}`))
      socket.on('error', (error) => ends.push(error.message))
      await until('the open socket', () => socket.readyState === WebSocket.OPEN)
      const beat = setInterval(() => socket.send('beat'), 200)
      const began = Date.now()
      const download = ask({ port: ports.http, host: 'shop-plain.test', path: '/stream?ms=60000' })
      let deploys = 0
      const restart = async (app: LiveApplication): Promise<void> => {
        await live.graphql('mutation ($id: ID!) { applicationRestart(id: $id) { userErrors { message } } }', { id: app.id })
        await app.untilReady({ status: 'True' })
        deploys++
      }
      const both = Promise.all([
        (async () => {
          for (let n = 0; n < 10; n++) await restart(blog)
        })(),
        (async () => {
          for (let n = 0; n < 10; n++) await restart(shop)
        })(),
      ])
      await both
      console.log(`20 deploys in ${Date.now() - began} ms beside an open socket and a download`)
      expect(deploys).toBe(20)
      expect(ends).toEqual([])
      const { text } = await download
      expect(Date.now() - began).toBeGreaterThan(59_000)
      expect(text.endsWith('end\n')).toBe(true)
      const before = heard.length
      await until('an answer on the socket', () => heard.length > before)
      clearInterval(beat)
      socket.close()
      await until('the closing of the socket', () => ends.length > 0)
      expect(ends).toEqual(['closed 1005'])
      await shop.change(quick)
    },
  )

  it('Caddy is killed -> Docker restarts it, and it serves what it served', { timeout: 60_000 }, async () => {
    const before = await caddy()
    const { State } = await live.docker.getContainer(before?.id ?? '').inspect()
    process.kill(State.Pid, 'SIGKILL')
    const ms = await served('shop-plain.test')
    console.log(`Caddy killed: served again after ${ms} ms`)
    expect((await caddy())?.id).toBe(before?.id)
    expect(await secure('shop.test')).toMatchObject({ status: 200 })
  })

  it('Caddy is removed -> made again with the same certificate', { timeout: 60_000 }, async () => {
    const serial = (await secure('shop.test'))?.certificate?.serialNumber
    expect(serial).toBeDefined()
    await live.docker.getContainer((await caddy())?.id ?? '').remove({ force: true })
    const ms = await served('shop-plain.test')
    console.log(`Caddy removed: served again after ${ms} ms`)
    await until('TLS', async () => (await secure('shop.test'))?.status === 200)
    expect((await secure('shop.test'))?.certificate?.serialNumber).toBe(serial)
  })

  it(
    'deleted while its node is away, another takes the domain, the node returns -> one route, the new one (F6)',
    { timeout: 120_000 },
    async () => {
      const first = await LiveApplication.create(live, project, {
        name: 'first',
        image: testAppImage('1'),
        replicas: 1,
        ...quick,
        domains: [{ host: 'moves.test', tls: 'OFF' }],
      })
      await first.untilSettled({ release: 1, replicas: 1 })
      await served('moves.test')
      const agent = await live.pidOf('agent')
      process.kill(agent, 'SIGSTOP')
      await first.delete()
      const second = await LiveApplication.create(live, project, {
        name: 'second',
        image: testAppImage('2'),
        replicas: 1,
        ...quick,
        domains: [{ host: 'moves.test', tls: 'OFF' }],
      })
      process.kill(agent, 'SIGCONT')
      await second.untilSettled({ release: 1, replicas: 1 })
      await until('the second one', async () => versionOf((await plain('moves.test'))?.text) === '2')
      await until('the end of the first', async () => (await first.containers()).length === 0)
      expect((await configuration()).filter((d) => d.host === 'moves.test')).toEqual([
        { host: 'moves.test', resourceId: second.id, routed: true },
      ])
      await second.delete()
      // A load resets connections that are kept alive: the next test has load of its own.
      await until('the end of its route', async () => (await plain('moves.test'))?.status === 404)
    },
  )

  it(
    'the control plane dies under load, then every container restarts -> never an answer of another (F1)',
    { timeout: 180_000 },
    async () => {
      const [shops, blogs] = [
        new Load(`http://127.0.0.1:${ports.http}`, 'shop-plain.test'),
        new Load(`http://127.0.0.1:${ports.http}`, 'blog-plain.test'),
      ]
      await until('load', () => (shops.soFar.versions['1'] ?? 0) > 50)
      await live.killAll()
      const atDeath = shops.soFar.lost + blogs.soFar.lost
      await sleep(3_000)
      expect(shops.soFar.lost + blogs.soFar.lost).toBe(atDeath)
      expect(atDeath).toBe(0)
      // The order in which they come back is as bad as it can be: what was stopped last starts first.
      const containers = [...(await shop.containers()), ...(await blog.containers())]
      for (const { id } of containers) await live.docker.getContainer(id).stop({ t: 0 })
      for (const { id } of containers.toReversed()) await live.docker.getContainer(id).start()
      await until(
        'both again',
        async () => (await plain('shop-plain.test'))?.status === 200 && (await plain('blog-plain.test'))?.status === 200,
      )
      await sleep(2_000)
      const [one, two] = [await shops.stop(), await blogs.stop()]
      expect(Object.keys(one.versions)).toEqual(['1'])
      expect(Object.keys(two.versions)).toEqual(['3'])
      await live.up()
      expect(parts.length).toBeGreaterThan(0)
      await Promise.all([shop.untilReady({ status: 'True' }), blog.untilReady({ status: 'True' })])
    },
  )

  describe('ACME', () => {
    const pebbles: Pebble[] = []
    afterAll(() => Promise.all(pebbles.map((p) => p.stop())).then(() => undefined))
    const deadPort = 1
    const use = async (ways: { httpPort: number; tlsPort: number; validitySeconds?: number }): Promise<Pebble> => {
      const pebble = await Pebble.start(ways)
      pebbles.push(pebble)
      const { ingresses } = await live.graphql<{ ingresses: { nodes: { id: string }[] } }>('{ ingresses { nodes { id } } }')
      const { ingressUpdate } = await live.graphql<{ ingressUpdate: { userErrors: object[] } }>(
        'mutation ($id: ID!, $input: IngressUpdateInput!) { ingressUpdate(id: $id, input: $input) { userErrors { field message } } }',
        {
          id: ingresses.nodes[0]?.id,
          input: { acme: { directory: pebble.directory, email: 'people@example.test', trustedRoots: pebble.trustedRoots } },
        },
      )
      expect(ingressUpdate.userErrors).toEqual([])
      return pebble
    }
    const trusted = async (host: string, pebble: Pebble) =>
      askSafely({ port: ports.https, host, tls: true, trusted: await pebble.root() })
    const domains = (...hosts: string[]) =>
      blog.change({ domains: [{ host: 'blog-plain.test', tls: 'OFF' }, ...hosts.map((host) => ({ host, tls: 'ACME' }))] })

    it('by HTTP-01, and one order for six re-created Caddys (F9)', { timeout: 180_000 }, async () => {
      const pebble = await use({ httpPort: ports.http, tlsPort: deadPort })
      await domains('one.test')
      await until('a trusted certificate', async () => (await trusted('one.test', pebble))?.status === 200)
      await until('CertificateReady', async () => ((await condition(blog, 'CertificateReady'))?.message ?? '').includes('Pebble'))
      const serial = (await trusted('one.test', pebble))?.certificate?.serialNumber
      for (let n = 0; n < 6; n++) {
        await live.docker.getContainer((await caddy())?.id ?? '').remove({ force: true })
        await until('TLS again', async () => (await trusted('one.test', pebble))?.status === 200)
      }
      expect((await trusted('one.test', pebble))?.certificate?.serialNumber).toBe(serial)
      expect(pebble.issued).toBe(1)
    })

    it('by TLS-ALPN-01, and renewed when little of its life is left', { timeout: 180_000 }, async () => {
      const pebble = await use({ httpPort: deadPort, tlsPort: ports.https, validitySeconds: 40 })
      await domains('two.test')
      await until('a trusted certificate', async () => (await trusted('two.test', pebble))?.status === 200)
      const serial = (await trusted('two.test', pebble))?.certificate?.serialNumber
      await sleep(30_000)
      // Caddy looks at what it has every ten minutes, and when it starts.
      await live.docker.getContainer((await caddy())?.id ?? '').restart({ t: 1 })
      await until('another certificate', async () => {
        const now = (await trusted('two.test', pebble))?.certificate?.serialNumber
        return now !== undefined && now !== serial
      })
    })

    it('no way for the challenge -> told with what the authority said', { timeout: 120_000 }, async () => {
      await use({ httpPort: deadPort, tlsPort: deadPort })
      await domains('three.test')
      await until('the reason', async () =>
        /three\.test: .*(refused|challenge|authorization|unauthorized|connection)/i.test(
          (await condition(blog, 'CertificateReady'))?.message ?? '',
        ),
      )
      expect(await condition(blog, 'CertificateReady')).toMatchObject({ status: 'False', reason: 'CertificateMissing' })
      await served('blog-plain.test')
    })
  })
})
