import type { ContainerSummary } from '../adapters/docker/node-engine.js'
import type { EngineEvent } from '../adapters/docker/engine.js'
import type { ContainerState } from '../reconcile/observed.js'
import { label } from '../reconcile/labels.js'
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

/** "Up 40 seconds" of a container that we have known to run for longer than this: it was restarted unseen. */
const unseenRestartMs = 70_000

/** What the control plane was last told of each container: by events, and by the sweep where events were missed. */
export class ToldStates {
  private readonly told = new Map<string, Told>()

  byEvent(event: EngineEvent, at: number): void {
    if (event.action === 'destroy') return void this.told.delete(event.containerId)
    const state = stateAfter[event.action]
    if (state) this.told.set(event.containerId, { resource: resourceOf(event.labels), state, at })
  }

  /**
   * Takes over what a full list shows and returns the resources for which that is news. `asOf`: when the list was asked
   * for; an event that came later knows better.
   */
  byList(list: ContainerSummary[], asOf: number): ResourceRef[] {
    const news: ResourceRef[] = []
    const present = new Set(list.map((c) => c.id))
    for (const [id, { resource, at }] of this.told) {
      if (present.has(id) || at >= asOf) continue
      news.push(resource)
      this.told.delete(id)
    }
    for (const container of list) {
      const known = this.told.get(container.id)
      if (known && known.at >= asOf) continue
      const restarted = container.young && known?.state === 'running' && asOf - known.at > unseenRestartMs
      if (known?.state === container.state && !restarted) continue
      const resource = resourceOf(container.labels)
      news.push(resource)
      this.told.set(container.id, { resource, state: container.state, at: asOf })
    }
    return news
  }
}

export function resourceOf(labels: Record<string, string>): ResourceRef {
  return { kind: labels[label.kind] ?? '', resource: labels[label.resource] ?? '' }
}
