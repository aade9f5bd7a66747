import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publisherPaths } from '../../src/agent/publisher.js'
import { unavailableDial } from '../../src/reconcile/ingress/spec.js'
import { label } from '../../src/reconcile/labels.js'
import type { Watch } from './invariants.js'
import type { Random } from './random.js'
import type { CaddyRoute } from './sim-caddy.js'
import type { SimContainer } from './sim-engine.js'
import type { SimNode, World } from './world.js'

/** As src/reconcile/ingress/routes.ts tells Caddy. */
const tryDurationMs = 2_000
const tryIntervalMs = 50

/** Who has claimed a host and path now, by people's latest word; null = nobody, or somebody who is being deleted. */
export interface Claim {
  id: string
  host: string
  path: string
  since: number
}

interface Request {
  node: SimNode
  route: CaddyRoute
  owner: string
  /** Addresses that were published here and answered at every look. */
  steady: Set<string>
  /** Nothing else than Evenkeel could have kept the application from serving, at every look. */
  wanted: boolean
}

/** People who ask each node's Caddy for what is claimed, all the time. */
export class SimClients {
  sent = 0
  lost = 0
  /** By node, host and path: the claim that was seen to be routed and shown there, and since when it had been shown. */
  private readonly routed = new Map<string, { claim: Claim; shownSince: number }>()
  /** Nodes whose Caddy was seen to run. */
  private readonly served = new Set<string>()
  /** One request each at a time: who waits for its answer does not ask again. */
  private readonly waiting = new Set<string>()

  constructor(
    private readonly world: World,
    private readonly watch: Watch,
    private readonly random: Random,
    private readonly options: { claims(): Claim[]; mayBeAway(node: SimNode): boolean },
  ) {}

  begin(): void {
    const again = () => {
      this.ask()
      this.world.clock.after(this.random.between(10, 250), again)
    }
    again()
  }

  private ask(): void {
    const node = this.random.pick(this.world.nodes)
    const claims = this.options.claims()
    if (claims.length === 0) return
    const claim = this.random.pick(claims)
    // Seldom: where the rows are in a real database, each look costs real time.
    if (this.random.chance(0.1)) void this.requireTrueWords(claim)
    if (!node.caddy.runs) return this.requireExcuse(node)
    this.served.add(node.id)
    const route = node.caddy.routeOf(claim.host, claim.path)
    const owner = route && ownerOf(route)
    if (route && route.host === claim.host && (route.prefix ?? '/') === claim.path && owner === claim.id) {
      const shownSince = node.view.shownSince.get(claim.id)
      if (shownSince !== undefined) this.routed.set(this.keyOf(node, claim), { claim, shownSince })
      void this.sendOnce(this.keyOf(node, claim), { node, route, owner, ...this.seenOf(node, owner) })
      return
    }
    this.requireStillRouted(node, claim)
  }

  private requireExcuse(node: SimNode): void {
    if (this.watch.gentle && this.served.has(node.id) && !this.options.mayBeAway(node))
      this.watch.fail(`nobody listens on ${node.id}, whose ingress served and was to stay as it is`)
  }

  /**
   * What other people change never takes a route away, but for paths of one host: Caddy refuses it as a whole. What was shown
   * nowhere on the node for a moment may have left, and be routed later than it is shown again.
   */
  private requireStillRouted(node: SimNode, claim: Claim): void {
    const before = this.routed.get(this.keyOf(node, claim))
    if (before?.claim.id !== claim.id || before.claim.since !== claim.since || node.caddy.refused.has(claim.host)) return
    if (node.view.shownSince.get(claim.id) !== before.shownSince) return
    this.watch.fail(`${node.id} routes ${claim.host}${claim.path} no longer, which is ${claim.id}'s and was not changed`)
  }

  /**
   * Who is told that a domain is routed finds its route. An application that moves to another node is told anew only by the
   * ingress of that one, so this is asked where there is one node.
   */
  private async requireTrueWords({ id, host, path }: Claim): Promise<void> {
    const [node, ...others] = this.world.nodes
    if (!node || others.length > 0) return
    const row = await this.world.clock.hold(this.world.options.store.read(id))
    const told = row?.domains.find((d) => d.host === host && d.path === path)
    const route = node.caddy.routeOf(host, path)
    if (told?.reason === 'Routed' && (!route || ownerOf(route) !== id || (route.prefix ?? '/') !== path))
      this.watch.fail(`${id} is told that ${host}${path} is routed, and ${node.id} has no such route`)
  }

  private keyOf({ id }: SimNode, { host, path }: Claim): string {
    return `${id} ${host}${path}`
  }

  private seenOf(node: SimNode, owner: string): Pick<Request, 'steady' | 'wanted'> {
    return { steady: new Set(this.answering(node, owner)), wanted: this.isWanted(node, owner) }
  }

  private async sendOnce(key: string, request: Request): Promise<void> {
    if (this.waiting.has(key)) return
    this.waiting.add(key)
    await this.send(request)
    this.waiting.delete(key)
  }

  private async send(request: Request): Promise<void> {
    const { clock } = this.world
    const { node, route, owner } = request
    const began = clock.now()
    this.sent++
    for (let slot = this.random.whole(0, route.dials.length - 1); ; slot++) {
      const dial = dialled(node, route.dials[slot % route.dials.length] ?? '')
      if (dial !== unavailableDial) {
        const holder = dial === null ? undefined : this.holderOf(dial)
        if (holder?.answering) return this.requireOwn(request, holder)
      }
      this.look(request)
      // The responder of 503 takes every connection: there is nothing to try again.
      if (dial === unavailableDial || clock.now() - began >= tryDurationMs) break
      await clock.sleep(tryIntervalMs)
      if (!node.caddy.runs) return
    }
    this.look(request)
    this.lost++
    if (request.steady.size > 0)
      this.watch.fail(
        `a request for ${route.host} was lost though ${[...request.steady].join(' ')} of ${owner} answered all the time`,
      )
    if (request.wanted) this.watch.fail(`a request for ${route.host} was lost though ${owner} was ready and is wanted`)
  }

  /** What was true at each look. */
  private look(request: Request): void {
    const now = new Set(this.answering(request.node, request.owner))
    for (const address of request.steady) if (!now.has(address)) request.steady.delete(address)
    request.wanted &&= this.isWanted(request.node, request.owner)
  }

  private requireOwn({ node, route, owner }: Request, holder: SimContainer): void {
    if (holder.tampered || holder.labels[label.resource] === owner) return
    this.watch.fail(`${node.id}: a request for ${route.host} of ${owner} was answered by ${holder.name}`)
  }

  private answering(node: SimNode, id: string): string[] {
    const view = this.watch.views.find((v) => v.node === node.id)
    return (view?.ingress.get(id) ?? []).filter((address) => this.holderOf(address)?.answering)
  }

  /** Published here, and in a world in which nothing but Evenkeel takes replicas away. */
  private isWanted(node: SimNode, id: string): boolean {
    const application = this.world.applications.get(id)
    return (
      this.watch.gentle &&
      this.isPublished(node, id) &&
      application?.serving === true &&
      !application.deleting &&
      application.replicas > 0
    )
  }

  private isPublished(node: SimNode, id: string): boolean {
    return this.watch.views.some((v) => v.node === node.id && v.ingress.has(id))
  }

  private holderOf(dial: string): SimContainer | undefined {
    const address = dial.split(':')[0] ?? ''
    for (const { engine } of this.world.nodes) {
      const holder = engine.holderOf(address)
      if (holder) return holder
    }
    return undefined
  }
}

/** Whose endpoint files a route reads. */
export function ownerOf({ dials }: CaddyRoute): string {
  return /^\{file\.\/endpoints\/((?:app|demo)_\d+)(-\d+)?\.\d+\}$/.exec(dials[0] ?? '')?.[1] ?? ''
}

/** What Caddy dials; null: the file is not there. */
function dialled({ stateDir }: SimNode, dial: string): string | null {
  const file = /^\{file\.\/endpoints\/(.+)\}$/.exec(dial)?.[1]
  if (file === undefined) return dial
  try {
    return readFileSync(join(publisherPaths(stateDir).slots, file), 'utf8')
  } catch {
    return null
  }
}
