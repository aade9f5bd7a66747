import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { freePort } from '../../src/embedded/ports.js'
import { renderCaddyConfig } from '../../src/reconcile/ingress/render.js'
import { BenchCaddy } from '../caddy.js'
import { slotFiles, targetsWithHosts } from '../hosts.js'
import type { Platform } from '../platform.js'
import { median, rounded } from '../statistics.js'

const turns = 5
const seconds = 6
const image = 'evenkeel/testapp:1'

/** Requests a second through a configuration of ours, beside a hand-written one with static upstreams, in turns. */
export async function proxy(platform: Platform) {
  const upstreams = await Promise.all([0, 1].map(() => platform.startRaw(image)))
  try {
    const dials = await Promise.all(
      upstreams.map(
        async (container) =>
          `${(await container.inspect()).NetworkSettings.Networks[`evenkeel-${platform.instance}`]?.IPAddress}:8080`,
      ),
    )
    const one = await compared(platform, dials, 1)
    const many = await compared(platform, dials, 1_000)
    return {
      ratio_to_plain_caddy: one.ratio,
      ratio_over_1000_hosts: many.ratio,
      ours_rps: one.ours,
      plain_rps: one.plain,
      ours_1000_rps: many.ours,
      plain_1000_rps: many.plain,
      ours_1000_memory_mb: many.oursMemoryMb,
      plain_1000_memory_mb: many.plainMemoryMb,
    }
  } finally {
    await Promise.all(upstreams.map((container) => container.remove({ force: true })))
  }
}

async function compared(platform: Platform, dials: string[], hosts: number) {
  const targets = targetsWithHosts(hosts)
  const host = targets[Math.floor(hosts / 2)]?.domains[0]?.host ?? ''
  const [ourPort, plainPort] = [await freePort(), await freePort()]
  const ours = await BenchCaddy.startOurs(platform.docker, slotFiles(targets, dials))
  const plain = await BenchCaddy.startPlain(platform.docker)
  try {
    await ours.load(renderCaddyConfig({ httpPort: ourPort, httpsPort: await freePort() }, targets, new Map()).config)
    await plain.load(
      plainConfig(
        plainPort,
        targets.flatMap((t) => t.domains.map((d) => d.host)),
        dials,
      ),
    )
    const rps: { ours: number[]; plain: number[] } = { ours: [], plain: [] }
    for (let turn = 0; turn < turns; turn++) {
      rps.ours.push(await requestsASecond(ourPort, host))
      rps.plain.push(await requestsASecond(plainPort, host))
    }
    return {
      ours: Math.round(median(rps.ours)),
      plain: Math.round(median(rps.plain)),
      ratio: rounded(median(rps.ours) / median(rps.plain), 3),
      oursMemoryMb: await ours.memoryMb(),
      plainMemoryMb: await plain.memoryMb(),
    }
  } finally {
    await Promise.all([ours.stop(), plain.stop()])
  }
}

/** What somebody would write by hand: the same as Caddy makes of a Caddyfile with `reverse_proxy` for each site. */
function plainConfig(port: number, hosts: string[], dials: string[]): object {
  const upstreams = dials.map((dial) => ({ dial }))
  const routes = hosts.map((host) => ({
    match: [{ host: [host] }],
    handle: [{ handler: 'subroute', routes: [{ handle: [{ handler: 'reverse_proxy', upstreams }] }] }],
    terminal: true,
  }))
  return { apps: { http: { servers: { plain: { listen: [`:${port}`], automatic_https: { disable: true }, routes } } } } }
}

/** `wrk` is a program of its own: one in this process would measure itself. */
async function requestsASecond(port: number, host: string): Promise<number> {
  const args = ['-t1', '-c16', `-d${seconds}s`, '-H', `Host: ${host}`, `http://127.0.0.1:${port}/`]
  const { stdout } = await promisify(execFile)('wrk', args).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Error('the scenario proxy needs the program wrk: apt-get install wrk') : error
  })
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk saw failures: ${stdout}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}
