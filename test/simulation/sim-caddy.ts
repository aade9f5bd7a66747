import { createHash } from 'node:crypto'
import { ActionFailure } from '../../src/agent/action-failure.js'
import type { Clock, IngressNode } from '../../src/agent/ports.js'
import type { ResultOf } from '../../src/reconcile/action.js'
import { partsOfHosts, withoutHosts } from '../../src/reconcile/ingress/config-hosts.js'
import { canonicalJson } from '../../src/reconcile/hash.js'
import { label } from '../../src/reconcile/labels.js'
import { isAlive, type EngineFaults, type SimContainer, type SimEngine } from './sim-engine.js'
import type { SimProcess } from './sim-process.js'

/** As long as src/agent/ingress.ts waits for a Caddy that has just been started. */
const socketWithinMs = 10_000
const pollMs = 50
/** Longer than a world lasts. */
const certificateLastsMs = 90 * 86_400_000

/** Caddy refuses who sets a header to one of these: something that nobody foresaw, and that the next change may cure. */
export const isRefusedNumber = (number: string): boolean => Number(number) % 3 === 0
const refusedWords = 'simulated: that number is refused'

/** What of a route a request needs. `dials` are what Caddy would expand: `{file.…}`, or an address. */
export interface CaddyRoute {
  host: string
  /** null = the whole host. */
  prefix: string | null
  dials: string[]
}

/** A node's Caddy: what it has loaded is on the node's disk and outlives its process; it answers nobody while that does not run. */
export class SimCaddy {
  private loaded: object = { admin: { listen: 'unix//run/evenkeel/admin.sock|0660', config: { persist: true } } }
  routes: CaddyRoute[] = []
  loads = 0
  /** Hosts that it has ever refused. */
  readonly refused = new Set<string>()
  private readonly notAfter = new Map<string, number>()

  constructor(
    private readonly instance: string,
    private readonly engine: SimEngine,
  ) {}

  container(): SimContainer | undefined {
    return [...this.engine.containers.values()].find(
      (c) => c.labels[label.instance] === this.instance && c.labels[label.kind] === 'ingress' && isAlive(c),
    )
  }

  get runs(): boolean {
    return this.container()?.answering === true
  }

  get hash(): string {
    return createHash('sha256').update(canonicalJson(this.loaded)).digest('hex')
  }

  /** At once, as Caddy answers only when the new configuration serves. */
  load(text: string): void {
    this.loaded = JSON.parse(text) as object
    this.routes = routesIn(this.loaded)
    this.loads++
  }

  certificateOf(host: string, now: number) {
    const notAfter = this.notAfter.get(host) ?? Math.floor(now) + certificateLastsMs
    this.notAfter.set(host, notAfter)
    return { issuer: 'simulated', notAfter, error: null }
  }

  /** The first route that means the request, as Caddy takes them; undefined: nothing is served there. */
  routeOf(host: string, path: string): CaddyRoute | undefined {
    const below = ({ prefix }: CaddyRoute) => prefix === null || path === prefix || path.startsWith(`${prefix}/`)
    return this.routes.find((route) => route.host === host && below(route))
  }
}

/** As src/agent/ingress.ts loads and looks, by way of an admin socket that may be away, refuse, or lose its answer. */
export function ingressOver(
  caddy: SimCaddy,
  parts: { process: SimProcess; clock: Clock; faults: EngineFaults; artifact(sha256: string): Promise<string | null> },
): IngressNode {
  const { process, clock, faults, artifact } = parts
  return {
    load: async ({ config }, signal) => {
      await clock.sleep(1, signal)
      const text = await process.receives(artifact(config))
      if (text === null) throw new ActionFailure('ApiUnreachable', `there is no artifact ${config}`, true)
      const deadline = clock.now() + socketWithinMs
      while (!caddy.runs) {
        if (clock.now() > deadline) throw new ActionFailure('IngressNotRunning', 'Caddy does not answer on its socket', true)
        await clock.sleep(pollMs, signal)
      }
      await clock.sleep(faults.latencyMs(), signal)
      if (!caddy.runs) throw new ActionFailure('IngressNotRunning', 'Caddy hung up', true)
      if (faults.refuses()) throw new ActionFailure('ConfigRefused', 'simulated: Caddy refused the configuration', true)
      const refused = refusedIn(JSON.parse(text) as object)
      for (const { host } of refused) caddy.refused.add(host)
      if (refused.length > 0) return { loaded: null, refused }
      if (caddy.hash !== config) caddy.load(text)
      if (faults.losesAnswer()) throw new ActionFailure('IngressNotRunning', 'Caddy hung up after it had loaded', true)
      return { loaded: caddy.hash }
    },
    observe: async ({ hosts }) => {
      await clock.sleep(1)
      if (!caddy.runs) return { loaded: null, certificates: {} }
      const now = clock.now()
      return { loaded: caddy.hash, certificates: Object.fromEntries(hosts.map((host) => [host, caddy.certificateOf(host, now)])) }
    },
  }
}

/** As src/agent/config-trial.ts finds them. */
function refusedIn(config: object): NonNullable<ResultOf['loadIngressConfig']['refused']> {
  const whole = partsOfHosts(config)
  const alone = (host: string) => JSON.stringify(withoutHosts(config, [...whole.keys()].filter((other) => other !== host)))
  const isRefused = (host: string) => [...alone(host).matchAll(/"X-Number":\["(\d+)"/g)].some(([, number]) => isRefusedNumber(number ?? ''))
  return [...whole].filter(([host]) => isRefused(host)).map(([host, part]) => ({ host, message: refusedWords, part }))
}

interface RouteJson {
  match?: { host?: string[]; path?: string[] }[]
  handle?: { handler: string; upstreams?: { dial: string }[]; routes?: RouteJson[] }[]
}

function routesIn(config: object): CaddyRoute[] {
  const { apps } = config as { apps?: { http?: { servers?: Record<string, { routes?: RouteJson[] }> } } }
  return (apps?.http?.servers?.['https']?.routes ?? []).flatMap((route) => {
    const dials = dialsIn(route)
    return (route.match ?? []).flatMap(({ host = [], path }) => host.map((h) => ({ host: h, prefix: path?.[0] ?? null, dials })))
  })
}

function dialsIn({ handle = [] }: RouteJson): string[] {
  return handle.flatMap(({ upstreams = [], routes = [] }) => [...upstreams.map((u) => u.dial), ...routes.flatMap(dialsIn)])
}
