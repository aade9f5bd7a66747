import type { Action, Publication } from '../action.js'
import type { Ending, Progress } from '../preview.js'
import { resultOfSuccess } from '../preview.js'
import type { NodeObservation, Observation, ObservedContainer } from '../observed.js'
import { reachable } from '../observed.js'

/** What becomes of a container of one release after it was started. */
export const Fate = ['healthy', 'slow', 'neverReady', 'exits', 'crashesLater', 'unreadyLater'] as const
export type Fate = (typeof Fate)[number]

const slowMs = 7_000
const exitMs = 3_000
const laterMs = 20_000

/** How a container of `fate` looks at `now`; and when it will look different. */
export function aged(container: ObservedContainer, fate: Fate, now: number): { container: ObservedContainer; nextAt: number | null } {
  // Docker starts it again before long; what exits each time looks like this at nearly every look.
  if (container.state === 'restarting' && fate !== 'exits')
    return aged({ ...container, state: 'running', exitCode: null, startedAt: now, restartCount: container.restartCount + 1 }, fate, now)
  if (container.state !== 'running' || container.startedAt === null) return { container, nextAt: null }
  const at = (ms: number) => (container.startedAt ?? 0) + ms
  const is = (ready: boolean, nextAt: number | null = null) => ({
    container: container.probe.ready === ready ? container : { ...container, probe: { ready, message: ready ? '' : 'refused' } },
    nextAt,
  })
  const silent = { ready: null, message: '' }
  const exited = { container: { ...container, state: 'exited' as const, exitCode: 1, probe: silent }, nextAt: null }
  const docker = container.restartPolicy !== 'no'
  switch (fate) {
    case 'healthy':
      return is(true)
    case 'slow':
      return now >= at(slowMs) ? is(true) : is(false, at(slowMs))
    case 'neverReady':
      return is(false)
    case 'exits':
      if (now < at(exitMs)) return is(false, at(exitMs))
      return docker ? { container: { ...container, state: 'restarting', exitCode: 1, restartCount: 9, probe: silent }, nextAt: null } : exited
    case 'unreadyLater':
      return now >= at(laterMs) ? is(false) : is(true, at(laterMs))
    case 'crashesLater':
      if (container.restartCount > 0 || now < at(laterMs)) return is(true, container.restartCount === 0 ? at(laterMs) : null)
      return docker ? { container: { ...container, startedAt: now, restartCount: 1, probe: { ready: true, message: '' } }, nextAt: null } : exited
  }
}

/** Containers as they are at `now` by the fate of their release. */
export function agedWorld(observed: Observation[], fateOf: (container: ObservedContainer) => Fate, now: number) {
  let nextAt: number | null = null
  const world = observed.map((o): Observation => {
    if (o.unreachable !== null) return o
    const containers = o.containers.map((c) => {
      const after = aged(c, fateOf(c), now)
      if (after.nextAt !== null) nextAt = nextAt === null ? after.nextAt : Math.min(nextAt, after.nextAt)
      return after.container
    })
    return { ...o, containers }
  })
  return { observed: world, nextAt: nextAt as number | null }
}

/** Numbers from a seed, so that a failing run can be run again. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Actions that end in any order, and sometimes change the world long before they are known to have ended. */
export function anyProgress(seed: number): (action: Action) => Progress {
  const random = seededRandom(seed)
  return () => (['waits', 'lands', 'settles', 'settles'] as const)[Math.floor(random() * 4)] ?? 'settles'
}

export const ends = (action: Action): Ending => ({ ok: true, healthy: false, result: resultOfSuccess(action) })

export const fails = (reason: string, retryable: boolean): Ending => ({ ok: false, reason, message: reason, retryable })

/** How Docker answers `action` in this world: names, addresses and images are real obstacles. */
export function engineAnswer(observed: Observation[], action: Action): Ending {
  const node = reachable(observed).find((n) => n.node === action.node)
  if (!node) return fails('ActionTimeout', true)
  if (action.verb !== 'ensureContainer') return ends(action)
  const { name, address, image, labels } = action.args.container
  const existing = node.containers.find((c) => c.name === name)
  if (existing) return existing.specHash === labels['evenkeel.spec-hash'] ? ends(action) : fails('NameTaken', true)
  if (node.images[image] === null) return fails('ImageMissing', true)
  return node.containers.some((c) => address !== null && c.address === address) ? fails('AddressInUse', true) : ends(action)
}

/** What DNS and ingress of each node show: the publication behind the revision that is observed. */
export class Readers {
  readonly #published = new Map<string, Publication>()

  learn(revision: string, publication: Publication): void {
    this.#published.set(revision, publication)
  }

  /** undefined: a revision that nobody knows what it shows. */
  shown({ published }: NodeObservation): string[] | undefined {
    return published === null ? [] : this.#published.get(published)?.addresses
  }
}
