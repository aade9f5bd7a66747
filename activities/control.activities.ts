import type { PassStore } from '../src/persistence/pass-store.js'
import { heartbeatStaleMs } from '../src/agent/protocol.js'
import { controllerOf } from '../src/reconcile/controllers.js'
import type { DecideInput, Decision, LoadedResource } from '../src/reconcile/loop.js'
import { decidePass, type DecideContext } from './decide.js'

export interface ControlContext extends DecideContext {
  store: PassStore
  nudge(resource: { id: string; kind: string; project: string; name: string }): Promise<void>
  log(message: string, error?: unknown): void
}

export type ControlActivities = ReturnType<typeof createControlActivities>

/** Rows that one sweep page nudges. */
const sweepPageSize = 500

/** Activities on queue `control`: short reads and writes of our own database, and nudges. */
export function createControlActivities(context: ControlContext) {
  return {
    /** Claims a pass and says what has to be observed. A repeat claims another pass: harmless, only the last one counts. */
    async loadDesired(id: string): Promise<LoadedResource | null> {
      const claimed = await context.store.claim(id)
      if (!claimed) return null
      const { resource, desired, nodes, pass } = claimed
      const controller = controllerOf(resource.kind)
      if (!controller) throw new Error(`${id} is of kind ${resource.kind}, which this worker does not know`)
      const stale = context.clock() - heartbeatStaleMs
      const away = nodes
        .filter((n) => n.lastSeenAt !== null && n.lastSeenAt < stale)
        .map((n) => ({ node: n.id, message: `node ${n.name} has sent no heartbeat for ${heartbeatStaleMs / 1000} s` }))
      const observe = controller.observeRequests(resource, desired).filter((r) => r.node !== '')
      return { pass, generation: resource.generation, observe, away }
    },

    /** Plans, and writes what the plan says under its pass number. A repeat returns the stored decision. */
    decide(id: string, input: DecideInput): Promise<Decision> {
      return decidePass(context, id, input)
    },

    /** Nudges one page of resources that are out of step; answers where the next page begins, or null at the end. */
    async sweepPage(after: string): Promise<string | null> {
      const due = await context.store.due(after, sweepPageSize, context.clock())
      for (const resource of due) {
        try {
          await context.nudge(resource)
        } catch (error) {
          context.log(`the sweep could not nudge ${resource.id}; the next one tries again`, error)
        }
      }
      return due.length < sweepPageSize ? null : (due.at(-1)?.id ?? null)
    },

    keepHouse(): Promise<void> {
      return context.store.keepHouse(context.clock())
    },
  }
}
