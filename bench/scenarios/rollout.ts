import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/embedded/ports.js'
import { BenchCaddy } from '../caddy.js'
import type { LoadWindow } from '../load.main.js'
import { LoadProcess } from '../load-process.js'
import type { Platform } from '../platform.js'

const redeploys = 20
const recreates = 5
const domainChanges = 20
const rate = 300
const quietMs = 15_000
const image = 'evenkeel/testapp:1'

/** Deploys under constant load through the ingress: what a client of the application notices of them. */
export async function rollout(platform: Platform) {
  const projectId = await platform.createProject()
  const host = 'rollout.bench.test'
  const common = { image, ports: [8080], replicas: 2, readiness: { path: '/healthz', intervalSeconds: 0.2 }, drainSeconds: 5 }
  const id = await platform.createApplication(projectId, 'rollout', { ...common, domains: [{ host, tls: 'OFF' }] })
  const other = await platform.createApplication(projectId, 'other', { ...common, replicas: 1 })
  await platform.whenReady([id, other])
  const port = await platform.ingressPort()
  await untilServed(port, host)
  const load = new LoadProcess(port, host, rate)
  try {
    await sleep(2_000)
    await load.window()
    await sleep(quietMs)
    const quiet = await load.window()
    const rolling = await redeployed(platform, load, id, 'ROLLING', redeploys)
    const blueGreen = await redeployed(platform, load, id, 'BLUE_GREEN', redeploys)
    const recreate = await redeployed(platform, load, id, 'RECREATE', recreates)
    const domains = await domainsChanged(platform, load, other)
    const plain = await plainReloads()
    const windows = [rolling, blueGreen]
    return {
      requests: windows.reduce((sum, w) => sum + w.requests, 0),
      failed: windows.reduce((sum, w) => sum + w.failed, 0),
      p99_ms: Math.max(...windows.map((w) => w.p99_ms)),
      p99_quiet_ms: quiet.p99_ms,
      failures: windows.flatMap((w) => w.failures),
      recreate_gap_ms: recreate.longest_gap_ms,
      recreate_failed: recreate.failed,
      domain_changes: domainChanges,
      resets: domains.resets,
      domain_change_failed: domains.failed,
      plain_caddy_resets: plain.resets,
      plain_caddy_failed: plain.failed,
    }
  } finally {
    await load.stop()
  }

  /** As often by hand: the same load on a Caddy whose configuration is loaded again and again. */
  async function plainReloads(): Promise<LoadWindow> {
    const plainPort = await freePort()
    const upstream = await platform.startRaw(image)
    const caddy = await BenchCaddy.startPlain(platform.docker)
    try {
      const address = (await upstream.inspect()).NetworkSettings.Networks[`evenkeel-${platform.instance}`]?.IPAddress
      const config = (n: number) => ({
        logging: { logs: { [`n${n}`]: { level: 'ERROR' } } },
        apps: {
          http: {
            servers: {
              plain: {
                listen: [`:${plainPort}`],
                automatic_https: { disable: true },
                routes: [{ handle: [{ handler: 'reverse_proxy', upstreams: [{ dial: `${address}:8080` }] }] }],
              },
            },
          },
        },
      })
      await caddy.load(config(0))
      const plain = new LoadProcess(plainPort, host, rate)
      await sleep(2_000)
      await plain.window()
      for (let n = 1; n <= domainChanges; n++) {
        await caddy.load(config(n))
        await sleep(500)
      }
      const seen = await plain.window()
      await plain.stop()
      return seen
    } finally {
      await caddy.stop()
      await upstream.remove({ force: true })
    }
  }
}

async function redeployed(
  platform: Platform,
  load: LoadProcess,
  id: string,
  strategy: string,
  times: number,
): Promise<LoadWindow> {
  await platform.updateApplication(id, { strategy })
  await platform.whenReady([id])
  await load.window()
  for (let n = 0; n < times; n++) {
    await platform.query('mutation($id: ID!) { applicationRestart(id: $id) { userErrors { message } } }', { id })
    await platform.whenReady([id])
  }
  return load.window()
}

async function domainsChanged(platform: Platform, load: LoadProcess, other: string): Promise<LoadWindow> {
  await load.window()
  for (let n = 1; n <= domainChanges; n++) {
    await platform.updateApplication(other, { domains: [{ host: `other-${n}.bench.test`, tls: 'OFF' }] })
    await untilServed(await platform.ingressPort(), `other-${n}.bench.test`)
    await sleep(300)
  }
  return load.window()
}

async function untilServed(port: number, host: string): Promise<void> {
  const status = () =>
    new Promise<number>((resolve) => {
      const asked = request({ host: '127.0.0.1', port, headers: { host }, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      asked.on('error', () => resolve(0))
      asked.end()
    })
  while ((await status()) !== 200) await sleep(25)
}
