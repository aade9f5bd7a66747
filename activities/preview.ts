import type { ClaimedPass, PassStore } from '../src/persistence/pass-store.js'
import { placedOn } from '../src/persistence/snapshot.js'
import type { ApplicationDesired } from '../src/reconcile/application/desired.js'
import type { PlanInput } from '../src/reconcile/controller.js'
import { controllerOf } from '../src/reconcile/controllers.js'
import { canonicalJson } from '../src/reconcile/hash.js'
import { withoutHashes } from '../src/reconcile/ingress/without-hashes.js'
import type { Observation } from '../src/reconcile/observed.js'
import { preview } from '../src/reconcile/preview.js'

/** An application to plan for: as it stands with another spec, or (`resourceId` null) one that nobody has created yet. */
export interface PreviewSubject {
  resourceId: string | null
  projectId: string
  name: string
  spec: unknown
}

export interface PreviewedStep {
  node: string
  verb: string
  summary: string
}

export interface Previewed {
  steps: PreviewedStep[]
  /** False when planning came to no end within its limit. */
  converges: boolean
  /** What a person has to know of it, e.g. that a node did not answer. */
  notes: string[]
}

/** Conditions that are there only when a person has to know something. */
const toldWhenNews = new Set(['StrategyHonoured', 'VolumesInPlace'])

/** The row as it would stand if the spec were desired; null when there is no such row or project. */
export async function readSubject(store: PassStore, subject: PreviewSubject): Promise<ClaimedPass | null> {
  if (subject.resourceId === null) return store.draft(subject.projectId, subject.name, subject.spec)
  const standing = await store.peek(subject.resourceId)
  if (!standing) return null
  const desired = standing.desired as ApplicationDesired
  const changed = canonicalJson(withoutHashes(desired.spec)) !== canonicalJson(withoutHashes(subject.spec))
  if (!changed) return standing
  const spec = subject.spec as ApplicationDesired['spec']
  const resource = { ...standing.resource, generation: standing.resource.generation + 1 }
  return { ...standing, resource, desired: { ...desired, spec, node: placedOn(standing.nodes, spec.placement?.node) } }
}

/** Pure but for its arguments: the steps that would follow from what was read and seen. */
export function previewOf(instance: string, { resource, desired }: ClaimedPass, observed: Observation[], now: number): Previewed {
  const controller = controllerOf(resource.kind)
  if (!controller) throw new Error(`kind ${resource.kind} has no planner`)
  const input: PlanInput<unknown> = {
    instance,
    resource,
    desired,
    observed,
    inFlight: [],
    settled: [],
    failures: new Map(),
    holds: new Set(),
    now,
    quiet: false,
  }
  const { steps, complete, plan } = preview(controller, input)
  return {
    steps: steps.map(({ node, verb, summary }) => ({ node, verb, summary })),
    converges: complete,
    notes: [
      ...observed.flatMap((o) => (o.unreachable === null ? [] : [`${o.message}: what it would have to do is not told`])),
      ...plan.conditions.filter((c) => toldWhenNews.has(c.type)).map((c) => c.message),
    ],
  }
}
