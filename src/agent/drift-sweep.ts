import { EngineFailure } from '../adapters/docker/engine.js'
import type { ContainerSummary, NodeEngine } from '../adapters/docker/node-engine.js'
import { kindOfId } from '../reconcile/kind.js'
import { label } from '../reconcile/labels.js'
import type { AgentLog } from './log.js'
import type { NudgeQueue } from './nudge-queue.js'
import type { Clock, ResourceRef } from './ports.js'
import type { Prober } from './prober.js'
import { systemKind } from './system-kind.js'
import { resourceOf, type ToldStates } from './told-states.js'

/** A restart of the engine takes about as long, and is nothing to tell of. */
const awayAfterMs = 3_000

export interface InventoryEntry extends ResourceRef {
  containers: string[]
}

export interface DriftSweepPorts {
  instance: string
  engine: Pick<NodeEngine, 'summaries' | 'inspect'>
  clock: Clock
  prober: Pick<Prober, 'track' | 'knows' | 'keepOnly'>
  told: ToldStates
  nudges: Pick<NudgeQueue, 'nudge'>
  log: AgentLog
  /** Resources whose endpoints this node shows, whether or not a container of theirs is here. */
  published(): string[]
  sendInventory(inventory: InventoryEntry[]): void
}

/**
 * Finds what events did not tell: one list of all our containers, compared with what was last told. One call to the
 * engine however many containers there are; only one that is new
 * or changed unseen costs one more, so that the prober knows its present run.
 */
export class DriftSweep {
  private current: Promise<void> | null = null
  private again = false
  private awaySince: number | null = null
  private awayTold = false

  constructor(private readonly ports: DriftSweepPorts) {}

  /** Looks now; a call during a look is answered by one more look. Never fails. */
  run(): Promise<void> {
    if (this.current) {
      this.again = true
      return this.current
    }
    this.current = this.loop().finally(() => (this.current = null))
    return this.current
  }

  private async loop(): Promise<void> {
    do {
      this.again = false
      try {
        await this.look()
        this.awaySince = null
        this.awayTold = false
      } catch (error) {
        this.failed(error)
        this.ports.log.debug({ error: String(error) }, 'the containers could not be listed')
      }
    } while (this.again)
  }

  /** What rests has no pass of its own that would notice: each resource is told when the engine stays away. */
  private failed(error: unknown): void {
    if (!(error instanceof EngineFailure) || error.reason !== 'DockerUnreachable') return
    const { clock, told, nudges } = this.ports
    this.awaySince ??= clock.now()
    if (this.awayTold || clock.now() - this.awaySince < awayAfterMs) return
    this.awayTold = true
    for (const resource of told.everyResource()) nudges.nudge(resource, 'the engine is away')
  }

  private async look(): Promise<void> {
    const { engine, instance, told, nudges, clock, prober, sendInventory } = this.ports
    const asOf = clock.now()
    const all = await engine.summaries({ [label.instance]: instance })
    for (const resource of told.takeUnanswered()) nudges.nudge(resource, 'the engine answers again')
    const list = all.filter((c) => c.labels[label.kind] !== systemKind)
    const news = told.byList(list, asOf)
    for (const resource of news.resources) nudges.nudge(resource, 'drift')
    prober.keepOnly(new Set(list.map((c) => c.id)), asOf)
    const changed = new Set(news.containers)
    await Promise.all(list.filter((c) => this.unprobed(c) || (hasProbe(c) && changed.has(c.id))).map((c) => this.track(c.id)))
    sendInventory(inventoryOf(list, this.ports.published()))
  }

  private unprobed(container: ContainerSummary): boolean {
    return hasProbe(container) && container.state === 'running' && !this.ports.prober.knows(container.id)
  }

  private async track(id: string): Promise<void> {
    const container = await this.ports.engine.inspect(id)
    if (container) this.ports.prober.track(container)
  }
}

function hasProbe(container: ContainerSummary): boolean {
  return container.labels[label.probe] !== undefined || container.labels[label.liveness] !== undefined
}

/** Everything of which this node has something, so that the API finds what a deleted resource left behind. */
export function inventoryOf(list: ContainerSummary[], published: string[]): InventoryEntry[] {
  const byResource = new Map<string, InventoryEntry>()
  for (const { labels, name } of list) {
    const { kind, resource } = resourceOf(labels)
    const entry = byResource.get(resource) ?? { kind, resource, containers: [] }
    entry.containers.push(name)
    byResource.set(resource, entry)
  }
  for (const resource of published) {
    if (!byResource.has(resource)) byResource.set(resource, { kind: kindOfId(resource) ?? '', resource, containers: [] })
  }
  return [...byResource.values()]
}
