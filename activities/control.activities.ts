import type { ClaimedPass, DueResource, PassStore } from '../src/persistence/pass-store.js'
import { heartbeatStaleMs } from '../src/agent/protocol.js'
import { controllerOf } from '../src/reconcile/controllers.js'
import type { BeginInput, Begun, DecideInput, Decision, LoadedResource } from '../src/reconcile/loop.js'
import type { Observation, ObservedIngress, ObserveRequest } from '../src/reconcile/observed.js'
import { decidePass, type DecideContext, type PassToDecide } from './decide.js'
import { previewOf, readSubject, type Previewed, type PreviewSubject } from './preview.js'

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
    /**
     * Claims a pass; decides it at once when what is given covers all that has to be observed, or nothing has to be, because
     * it is paused. A repeat claims another pass: harmless, only the last one counts.
     */
    async begin(id: string, { seen, ...input }: BeginInput): Promise<Begun | null> {
      const claimed = await context.store.claim(id)
      if (!claimed) return null
      const loaded = loadedOf(claimed, context.clock())
      const covered = loaded.observe.length > 0 && loaded.observe.every((request) => seen.some((o) => covers(o, request)))
      if (!covered && !claimed.paused) return { loaded, decision: null }
      const observed = covered ? seen : null
      return { loaded, decision: await decideAndWake(context, id, { ...input, pass: loaded.pass, observed }) }
    },

    /** Plans, and writes what the plan says under its pass number. A repeat returns the stored decision. */
    decide(id: string, input: DecideInput): Promise<Decision> {
      return decideAndWake(context, id, input)
    },

    /** Nudges one page of resources that are out of step; answers where the next page begins, or null at the end. */
    async sweepPage(after: string): Promise<string | null> {
      const due = await context.store.due(after, sweepPageSize, context.clock())
      await nudgeAll(context, due, 'the sweep could not nudge it; the next one tries again')
      return due.length < sweepPageSize ? null : (due.at(-1)?.id ?? null)
    },

    /** What has to be looked at before a preview can be made; null when there is nothing to preview. Writes nothing. */
    async previewRequests(subject: PreviewSubject): Promise<{ observe: ObserveRequest[]; away: LoadedResource['away'] } | null> {
      const read = await readSubject(context.store, subject)
      if (!read) return null
      const { observe, away } = loadedOf(read, context.clock())
      return { observe, away }
    },

    /** Plans against the model of what actions do, until nothing is planned. Writes nothing. */
    async previewSteps(subject: PreviewSubject, observed: Observation[]): Promise<Previewed | null> {
      const read = await readSubject(context.store, subject)
      return read && previewOf(context.instance, read, observed, context.clock())
    },

    keepHouse(): Promise<void> {
      return context.store.keepHouse(context.clock())
    },
  }
}

/** Those that wait for the resource are due already, by the pass's own transaction: a lost nudge costs them time only. */
async function decideAndWake(context: ControlContext, id: string, input: PassToDecide): Promise<Decision> {
  const decision = await decidePass(context, id, input)
  if (decision.wakes) await nudgeAll(context, await context.store.dependants(id), `it depends on ${id} and could not be nudged; the sweep does it`)
  return decision
}

/** One that cannot be nudged does not keep the others from it. */
async function nudgeAll(context: ControlContext, resources: DueResource[], failed: string): Promise<void> {
  for (const resource of resources) {
    try {
      await context.nudge(resource)
    } catch (error) {
      context.log(`${resource.id}: ${failed}`, error)
    }
  }
}

function loadedOf({ resource, desired, nodes, pass }: ClaimedPass, now: number): LoadedResource {
  const controller = controllerOf(resource.kind)
  if (!controller) throw new Error(`${resource.id} is of kind ${resource.kind}, which this worker does not know`)
  const stale = now - heartbeatStaleMs
  const away = nodes
    .filter((n) => n.lastSeenAt !== null && n.lastSeenAt < stale)
    .map((n) => ({ node: n.id, message: `node ${n.name} has sent no heartbeat for ${heartbeatStaleMs / 1000} s` }))
  const observe = controller.observeRequests(resource, desired).filter((r) => r.node !== '')
  return { pass, generation: resource.generation, observe, away }
}

/** An observation answers a request when it holds every image and every address that is asked for. */
function covers(observation: Observation, request: ObserveRequest): boolean {
  return (
    observation.unreachable === null &&
    observation.node === request.node &&
    (request.ingress === undefined || coversIngress(observation.ingress, request.ingress)) &&
    request.images.every((image) => image in observation.images) &&
    request.connectionsTo.every((address) => address in observation.connections)
  )
}

function coversIngress(seen: ObservedIngress | undefined, { hosts }: { hosts: string[] }): boolean {
  return seen !== undefined && (seen.loaded === null || hosts.every((host) => host in seen.certificates))
}
