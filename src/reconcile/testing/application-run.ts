import { expect } from 'vitest'
import type { Action } from '../action.js'
import { applicationController } from '../application/controller.js'
import type { ApplicationDesired, ApplicationRecord } from '../application/desired.js'
import { planApplication } from '../application/plan.js'
import type { ApplicationSpec } from '../application/spec.js'
import { revisionOf, silenceHoldsMs } from '../application/publication.js'
import { worldOf } from '../application/world.js'
import type { Controller, Plan, PlanInput } from '../controller.js'
import { converge, type Convergence } from '../preview.js'
import type { NodeObservation, Observation, ObservedContainer, UnreachableNode } from '../observed.js'
import { reachable } from '../observed.js'
import { readyPublication } from './application-world.js'
import { deepFreeze } from './deep-freeze.js'
import { agedWorld, anyProgress, ends, engineAnswer, fails, Readers, type Fate } from './simulated-world.js'

/** What happens while plans are followed. Times are milliseconds after the start. */
export interface Story {
  /** New wishes of people. */
  changes?: { afterMs: number; spec?: ApplicationSpec; node?: string; deleting?: boolean }[]
  /** One node does not answer in this time. */
  silence?: { node: string; fromMs: number; toMs: number; unreachable: UnreachableNode['unreachable'] } | undefined
  /** The history is nearly full until then. */
  quietUntilMs?: number
  /** Fate of a release's containers, by number; those not named are healthy. */
  fates?: Fate[]
  /** Replicas of the first release that never turn ready again. */
  brokenReplicas?: number[]
  /** By image: its pull fails for good, or so many times. */
  pulls?: Record<string, 'never' | number>
  resolves?: Record<string, 'never' | number>
  /** Order in which actions end. */
  seed: number
}

export interface Watch {
  /** Sees each world and what was started in it; throws to fail. */
  (moment: Moment): void
}

export interface Moment {
  input: PlanInput<ApplicationDesired>
  plan: Plan<ApplicationRecord>
  started: Action[]
  /** Started earlier and not ended, with those that have just been started. */
  running: Action[]
  readers: Readers
  /** What is really there, also on nodes that do not answer or are not asked. */
  truth: NodeObservation[]
  afterMs: number
}

export interface Followed extends Convergence<ApplicationDesired, ApplicationRecord> {
  /** What is really there in the end, also on nodes that are not looked at any more. */
  truth: NodeObservation[]
}

/** Follows the planner through a story, checking what must hold in every world of any story. */
export function follow(start: PlanInput<ApplicationDesired>, story: Story, watch: Watch = () => undefined): Followed {
  const readers = new Readers()
  let running: Action[] = []
  const failuresLeft = new Map<string, number>()
  const begun = start.now
  const unseen = new Map<string, NodeObservation>()
  const images = reachable(start.observed)[0]?.images ?? {}
  let given = 0
  const progress = anyProgress(story.seed)
  readers.learn(revisionOf(readyPublication(start)) ?? '', readyPublication(start))

  let truth: NodeObservation[] = []
  const convergence = converge(checked, start, {
    allocate: () => `10.91.${Math.floor(given / 250)}.${given++ % 250}`,
    progressOf: progress,
    endingOf: (action, observed) => {
      const planned = action.verb === 'pullImage' ? story.pulls?.[action.args.image] : action.verb === 'resolveImage' ? story.resolves?.[action.args.image] : undefined
      if (planned === 'never') return fails('ImageNotFound', false)
      if (planned !== undefined) {
        const left = failuresLeft.get(action.key) ?? planned
        failuresLeft.set(action.key, left - 1)
        if (left > 0) return fails('RegistryUnreachable', true)
      }
      return action.verb === 'resolveImage' ? ends(action) : engineAnswer(observed, action)
    },
    evolve: (input) => {
      const afterMs = input.now - begun
      const { silence, changes = [] } = story
      const due = changes.filter((c) => c.afterMs <= afterMs)
      const resource = {
        ...input.resource,
        generation: start.resource.generation + due.length,
        deleting: start.resource.deleting || due.some((c) => c.deleting === true),
      }
      const desired = {
        ...input.desired,
        spec: due.findLast((c) => c.spec)?.spec ?? input.desired.spec,
        node: due.findLast((c) => c.node)?.node ?? input.desired.node,
        addressesExhausted: false,
      }
      const aged = agedWorld([...reachable(input.observed), ...unseen.values()], (c) => fateOf(story, c), input.now)
      unseen.clear()
      for (const node of reachable(aged.observed)) unseen.set(node.node, node)
      const observed = applicationController.observeRequests(resource, desired).map(({ node }): Observation => {
        const here = unseen.get(node) ?? { node, unreachable: null, containers: [], images, published: null, connections: {}, volumes: [] }
        unseen.set(node, here)
        if (silence?.node === node && afterMs >= silence.fromMs && afterMs < silence.toMs)
          return { node, unreachable: silence.unreachable, message: 'silent' }
        unseen.delete(node)
        return here
      })
      const times = [...changes.map((c) => c.afterMs), silence?.fromMs, silence?.toMs, story.quietUntilMs].filter((t) => t !== undefined && t > afterMs)
      const nextAt = Math.min(...times.map((t) => begun + (t ?? 0)), aged.nextAt ?? Infinity)
      return {
        input: {
          ...input,
          observed,
          quiet: afterMs < (story.quietUntilMs ?? 0),
          resource,
          desired,
          failures: input.resource.generation < resource.generation ? new Map() : input.failures,
        },
        nextAt: Number.isFinite(nextAt) ? nextAt : null,
      }
    },
    inspect: (input, plan, started) => {
      running = running.filter((r) => input.inFlight.some((a) => a.key === r.key))
      for (const action of started) {
        if (running.some((r) => r.key === action.key)) throw new Error(`${action.key} was started twice`)
        running.push(action)
        if (action.verb === 'publishEndpoints' && action.args.publication) readers.learn(action.args.revision, action.args.publication)
      }
      truth = [...reachable(input.observed), ...unseen.values()]
      const moment = { input, plan, started, running, readers, truth, afterMs: input.now - begun }
      holdsAlways(moment)
      watch(moment)
    },
  })
  return { ...convergence, truth }
}

function fateOf(story: Story, container: ObservedContainer): Fate {
  if (container.release === 1 && story.brokenReplicas?.includes(container.replica)) return 'neverReady'
  return story.fates?.[container.release] ?? 'healthy'
}

/** The planner, made to throw when it changes what it was given, and compared with itself under another order of containers. */
const checked: Controller<ApplicationDesired, ApplicationRecord> = {
  ...applicationController,
  plan: (input) => {
    const plan = planApplication(deepFreeze(input))
    const observed = input.observed.map((o) => (o.unreachable === null ? { ...o, containers: o.containers.toReversed() } : o))
    expect(planApplication({ ...input, observed })).toEqual(plan)
    return plan
  },
}

function holdsAlways({ input, plan, started, running, readers, truth }: Moment): void {
  const nodes = reachable(input.observed)
  const containers = running.map((a) => a.container).filter((c) => c !== null)
  expect(new Set(containers).size, 'two actions on one container').toBe(containers.length)
  if (plan.finalize) expect(truth.flatMap((n) => n.containers), 'finalized with containers left').toEqual([])
  for (const action of started) {
    const node = nodes.find((n) => n.node === action.node)
    if (!node) throw new Error(`${action.key} was started on a node that does not answer`)
    if (action.verb === 'publishEndpoints') onlyReady(input, action.args.publication?.addresses ?? [])
    if (action.verb === 'setRestartPolicy') seen(node, action.args.name)
    if (action.verb === 'retireContainer') mayBeStopped(seen(node, action.args.name), nodesWaitedFor(input, truth, action.args.name), running, readers)
  }
}

function seen(node: NodeObservation, name: string): ObservedContainer {
  const found = node.containers.find((c) => c.name === name)
  if (!found) throw new Error(`${name} was acted on but is not among what was observed as ours`)
  return found
}

function onlyReady(input: PlanInput<ApplicationDesired>, addresses: string[]): void {
  // Of a node that does not answer only the last word is known.
  const ready = worldOf(input)
    .replicas.filter((r) => (r.hidden ? r.endpoint.state === 'ready' : r.ready && r.container?.state === 'running'))
    .map((r) => r.endpoint.address)
  expect(addresses.filter((a) => !ready.includes(a)), 'published but not ready').toEqual([])
}

/** Those that answer, and those that do not for as long as they may hold the replica of this container. */
export function nodesWaitedFor(input: PlanInput<ApplicationDesired>, truth: NodeObservation[], container: string): NodeObservation[] {
  const endpoint = worldOf(input).replicas.find((r) => r.containerName === container)?.endpoint
  const heldLongEnough = endpoint !== undefined && input.now - endpoint.stateAt >= silenceHoldsMs
  const answering = new Set(reachable(input.observed).map((n) => n.node))
  return truth.filter((n) => answering.has(n.node) || !heldLongEnough)
}

/** A running container leaves only when no reader names it, and no publication on its way does. */
function mayBeStopped(container: ObservedContainer, nodes: NodeObservation[], running: Action[], readers: Readers): void {
  if (container.state !== 'running') return
  const shown = nodes.flatMap((n) => readers.shown(n) ?? [])
  const coming = running.flatMap((a) => (a.verb === 'publishEndpoints' ? (a.args.publication?.addresses ?? []) : []))
  expect([...shown, ...coming].filter((a) => a === container.address), `${container.name} is stopped while it is published`).toEqual([])
}
