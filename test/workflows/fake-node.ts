import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { Context } from '@temporalio/activity'
import type { ActResult, NodeActivities } from '../../activities/node.activities.js'
import { openSigned, type PinnedKey } from '../../src/adapters/crypto/signing.js'
import type { Action } from '../../src/reconcile/action.js'
import { effect } from '../../src/reconcile/effect.js'
import type { NodeObservation, ObserveRequest } from '../../src/reconcile/observed.js'

/**
 * A node without an engine: its world changes as `effect()` says. It stands in for an agent where a test is about
 * workflows; agents and engines have tests of their own.
 */
export class FakeNode {
  readonly worlds = new Map<string, NodeObservation>()
  readonly acted: { resource: string; key: string; pass: number; generation: number }[] = []
  /** Pulls of these images run until they are cancelled. */
  readonly endlessPulls = new Set<string>()
  readonly cancelled: string[] = []
  /** Images that are not on the node yet. */
  readonly absentImages = new Set<string>()
  /** Which resource each observation was for. */
  readonly observed: string[] = []
  private readonly most = new Map<string, number>()

  constructor(
    readonly id: string,
    private readonly instance: string,
    private readonly pinned: PinnedKey,
  ) {}

  activities(): NodeActivities {
    return {
      observe: (request) => {
        this.observed.push(request.resource)
        return Promise.resolve(this.look(request))
      },
      act: async (signed, look): Promise<ActResult> => {
        const payload = openSigned(signed, [this.pinned], { instance: this.instance, node: this.id, now: Date.now() })
        const { resource, key, pass, generation } = payload
        this.acted.push({ resource, key, pass, generation })
        const action = { verb: payload.verb, args: payload.args, node: this.id } as Action
        const result = await this.run(resource, action)
        return { result, seen: look ? this.look(look) : null } as ActResult
      },
    }
  }

  look(request: ObserveRequest): NodeObservation {
    const world = this.worlds.get(request.resource) ?? {
      node: this.id,
      unreachable: null,
      containers: [],
      images: {},
      published: null,
      connections: {},
    }
    const images = Object.fromEntries(request.images.map((i) => [i, this.absentImages.has(i) ? null : `sha256:${i}`]))
    const seen = { ...world, images, connections: Object.fromEntries(request.connectionsTo.map((a) => [a, 0])) }
    this.worlds.set(request.resource, seen)
    return seen
  }

  /** The most containers that a resource had at once. */
  mostContainers(resource: string): number {
    return this.most.get(resource) ?? 0
  }

  private async run(resource: string, action: Action): Promise<unknown> {
    if (action.verb === 'resolveImage') return { resolved: action.args.image, from: 'registry', note: '' }
    if (action.verb === 'pullImage') {
      if (this.endlessPulls.has(action.args.image)) await this.untilCancelled(action.args.image)
      this.absentImages.delete(action.args.image)
      return { imageId: `sha256:${action.args.image}` }
    }
    const world = this.worlds.get(resource)
    if (!world) throw ApplicationFailure.create({ message: 'nobody looked first', type: 'EngineError', nonRetryable: true })
    const [changed] = effect([world], action, Date.now())
    this.worlds.set(resource, changed as NodeObservation)
    this.most.set(resource, Math.max(this.mostContainers(resource), (changed as NodeObservation).containers.length))
    if (action.verb === 'ensureContainer') return { containerId: action.args.container.name, created: true, ready: true }
    if (action.verb === 'publishEndpoints') return { revision: action.args.revision }
    return action.verb === 'retireContainer' ? { removed: true } : {}
  }

  private async untilCancelled(image: string): Promise<never> {
    const { cancellationSignal, heartbeat } = Context.current()
    const beat = setInterval(() => heartbeat(), 500)
    await new Promise<void>((resolve) => cancellationSignal.addEventListener('abort', () => resolve(), { once: true }))
    clearInterval(beat)
    this.cancelled.push(image)
    throw new CancelledFailure('the pull was cancelled')
  }
}
