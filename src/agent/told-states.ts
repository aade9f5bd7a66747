import type { ContainerSummary } from '../adapters/docker/node-engine.js'
import type { EngineEvent } from '../adapters/docker/engine.js'
import type { ContainerState } from '../reconcile/observed.js'
import { label } from '../reconcile/labels.js'
import type { KnownResources } from './known-resources.js'
import type { ResourceRef } from './ports.js'

interface Told {
  resource: ResourceRef
  state: ContainerState
  /** When we learned of this state. */
  at: number
}

const stateAfter: Record<string, ContainerState> = {
  create: 'created',
  start: 'running',
  restart: 'running',
  unpause: 'running',
  pause: 'paused',
  die: 'exited',
}

/** The engine tells a running time to the second only. */
const upTimeErrorMs = 2_000

/** What a full list shows beyond what was told. */
export interface News {
  resources: ResourceRef[]
  /** Ids of the containers that are there and new, or in another state or another run than was told. */
  containers: string[]
}

/** What the control plane was last told of each container: by events, and by the sweep where events were missed. */
export class ToldStates {
  private readonly told = new Map<string, Told>()
  /** Who asked and was told that the engine does not answer. Losing it costs time only: they ask again by themselves. */
  private readonly unanswered = new Map<string, ResourceRef>()

  /** `known` outlives the agent; without it the next one does not miss what vanished meanwhile. */
  constructor(private readonly known: KnownResources | null = null) {}

  /** All that have containers here as far as we know, also when the engine cannot be asked. */
  everyResource(): ResourceRef[] {
    const all = [...(this.known?.all() ?? []), ...[...this.told.values()].map((t) => t.resource)]
    return [...new Map(all.map((ref) => [ref.resource, ref])).values()]
  }

  /** `ref` was asked for: how many containers the engine showed, or null when it did not answer. */
  asked(ref: ResourceRef, containers: number | null): void {
    if (containers === null) this.unanswered.set(ref.resource, ref)
    else this.unanswered.delete(ref.resource)
    // An action looks at what it has made: nobody depends on the event that tells of it.
    if (containers) this.known?.add(ref)
  }

  /** Once, when the engine answers: all that are still told that it does not. */
  takeUnanswered(): ResourceRef[] {
    const all = [...this.unanswered.values()]
    this.unanswered.clear()
    return all
  }

  /** True when its end is known, and so was told, or is seen by the pass after the action that ended it. */
  hasEnded(containerId: string): boolean {
    return this.told.get(containerId)?.state === 'exited'
  }

  byEvent(event: EngineEvent, at: number): void {
    if (event.action === 'create') this.known?.add(resourceOf(event.labels))
    if (event.action === 'destroy') return void this.told.delete(event.containerId)
    const state = stateAfter[event.action]
    if (state) this.told.set(event.containerId, { resource: resourceOf(event.labels), state, at })
  }

  /**
   * Takes over what a full list shows and returns what of it is news. `asOf`: when the list was asked
   * for; an event that came later knows better.
   */
  byList(list: ContainerSummary[], asOf: number): News {
    const resources: ResourceRef[] = []
    const containers: string[] = []
    const present = new Set(list.map((c) => c.id))
    for (const [id, { resource, at }] of this.told) {
      if (present.has(id) || at >= asOf) continue
      resources.push(resource)
      this.told.delete(id)
    }
    for (const container of list) {
      const known = this.told.get(container.id)
      if (known && known.at >= asOf) continue
      if (known?.state === container.state && !restartedSince(container, known.at, asOf)) continue
      const resource = resourceOf(container.labels)
      resources.push(resource)
      containers.push(container.id)
      this.told.set(container.id, { resource, state: container.state, at: asOf })
    }
    const vanished = this.known?.replace(list.map((c) => resourceOf(c.labels))) ?? []
    return { resources: [...resources, ...vanished], containers }
  }
}

/** True when its present run began after we were told that it runs: a restart that no event told of. */
function restartedSince({ upSeconds, state }: ContainerSummary, toldAt: number, asOf: number): boolean {
  return state === 'running' && upSeconds !== null && asOf - upSeconds * 1_000 > toldAt + upTimeErrorMs
}

export function resourceOf(labels: Record<string, string>): ResourceRef {
  return { kind: labels[label.kind] ?? '', resource: labels[label.resource] ?? '' }
}
