import { randomBytes } from 'node:crypto'
import Docker from 'dockerode'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ensureImage } from '../../src/embedded/images/ensure-image.js'
import { BUSYBOX_IMAGE, CADDY_IMAGE, COREDNS_IMAGE, NGINX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { label } from '../../src/reconcile/labels.js'
import { ensureTestImages, testAppImage } from '../setup/test-images.js'

const docker = new Docker()
const started: Docker.Container[] = []

async function start(options: Docker.ContainerCreateOptions): Promise<{ container: Docker.Container; address: string }> {
  const container = await docker.createContainer({ name: `ek-images-${randomBytes(4).toString('hex')}`, ...options })
  started.push(container)
  await container.start()
  return { container, address: (await container.inspect()).NetworkSettings.Networks['bridge']!.IPAddress }
}

async function get(url: string, options: RequestInit = {}): Promise<Response> {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      return await fetch(url, { ...options, signal: AbortSignal.timeout(5_000) })
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

async function output(image: string, command: string[]): Promise<{ text: string; code: number }> {
  const { container } = await start({ Image: image, Cmd: command })
  const { StatusCode: code } = (await container.wait()) as { StatusCode: number }
  const logs = (await container.logs({ stdout: true, stderr: true })) as unknown as Buffer
  return { text: logs.toString('utf8'), code }
}

beforeAll(() => ensureTestImages(docker, () => {}), 600_000)

afterEach(async () => {
  for (const container of started.splice(0)) await container.remove({ force: true })
})

describe('ensureImage', () => {
  it('image that neither a registry nor a recipe has -> an error with the name and the cure', async () => {
    await expect(ensureImage(docker, 'localhost:1/nobody/has-this:1', () => {})).rejects.toThrow(
      /localhost:1\/nobody\/has-this:1 cannot be pulled.*docker load/s,
    )
  })

  it('image that is there -> nothing is pulled or made', async () => {
    const said: string[] = []
    await ensureImage(docker, BUSYBOX_IMAGE, (line) => said.push(line))
    expect(said).toEqual([])
  })

  it('stand-in -> says by its label that it is one', async () => {
    const labels = (await docker.getImage(testAppImage('1')).inspect()).Config.Labels
    expect(labels[label.standIn]).toBe('true')
  })
})

describe('images', () => {
  it('busybox -> a shell with its tools', async () => {
    expect(await output(BUSYBOX_IMAGE, ['sh', '-c', 'echo $((6*7)) | tr 4 x; exit 3'])).toEqual({
      code: 3,
      text: expect.stringContaining('x2') as string,
    })
  })

  it('nginx -> serves its welcome page, and stops at once', async () => {
    const { container, address } = await start({ Image: NGINX_IMAGE })
    expect(await (await get(`http://${address}/`)).text()).toContain('Welcome to nginx')
    // Whoever has not stopped by itself within that many seconds is killed, and has 137.
    await container.stop({ t: 3 })
    expect((await container.inspect()).State.ExitCode).toBe(0)
  })

  it('caddy -> serves its welcome page', async () => {
    const { address } = await start({ Image: CADDY_IMAGE })
    expect((await get(`http://${address}/`)).status).toBe(200)
  })

  it('coredns -> says its version', async () => {
    const { text, code } = await output(COREDNS_IMAGE, ['-version'])
    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('CoreDNS-1.15.0') as string })
  })
})

describe('test application', () => {
  it('GET / -> tells its version and release', async () => {
    const { address } = await start({ Image: testAppImage('2'), Env: ['EVENKEEL_RELEASE=rel_1'] })
    expect(await (await get(`http://${address}:8080/`)).json()).toMatchObject({ version: '2', release: 'rel_1' })
  })

  it('unready -> 503 until it is ready again', async () => {
    const { address } = await start({ Image: testAppImage('1') })
    const health = async () => (await get(`http://${address}:8080/healthz`)).status
    expect(await health()).toBe(200)
    await get(`http://${address}:8080/unready`, { method: 'PUT' })
    expect(await health()).toBe(503)
    await get(`http://${address}:8080/unready`, { method: 'DELETE' })
    expect(await health()).toBe(200)
  })

  it('POST -> answers the length', async () => {
    const { address } = await start({ Image: testAppImage('1') })
    const answer = await get(`http://${address}:8080/`, { method: 'POST', body: 'x'.repeat(12_345) })
    expect(await answer.json()).toEqual({ length: 12_345 })
  })

  it('SIGTERM in the middle of a request -> it is answered to its end', async () => {
    const { container, address } = await start({ Image: testAppImage('1') })
    const begun = await get(`http://${address}:8080/stream?ms=1000`)
    await container.kill({ signal: 'SIGTERM' })
    expect(await begun.text()).toMatch(/^(still here\n)+end\n$/)
    expect(await container.wait()).toMatchObject({ StatusCode: 0 })
  })

  it('asked to crash -> with that code', async () => {
    const { container } = await start({ Image: testAppImage('1'), Env: ['EXIT_CODE=7', 'EXIT_AFTER_MS=100'] })
    expect(await container.wait()).toMatchObject({ StatusCode: 7 })
  })
})
