import { EngineFailure, type EngineContainer, type EngineFailureReason } from '../adapters/docker/engine.js'
import { heldMessage } from '../reconcile/address-in-use.js'
import type { ArgsOf, ContainerSpec, ResultOf } from '../reconcile/action.js'
import { label, ownerOf } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'
import { ContainerContent } from './container-content.js'
import type { ActionContext } from './executor.js'
import { requireOwn, shortId } from './ownership.js'

/** Pause between two looks at something that Docker is about to finish. */
const pollMs = 20
/** How long an address may still be held by a container whose removal is under way. */
const addressWaitMs = 5_000
const addressPollMs = 100
/** A removal that takes longer than this is left to the next pass. */
const settleMs = 45_000

/**
 * Creates, adopts, starts or unpauses the one container of a replica. The name is the mutex: whoever creates second
 * finds the first one's container and adopts it if it is exactly the wanted one.
 */
export async function ensureContainer(
  { container, awaitReadyMs }: ArgsOf<'ensureContainer'>,
  context: ActionContext,
): Promise<ResultOf['ensureContainer']> {
  requireSpecOfOwner(container, context)
  const expectNoLonger = awaitReadyMs > 0 ? context.prober.expectReady(container.name) : null
  try {
    const spec = context.folders.mounted(container)
    const run = new Ensure(spec, context)
    const running = await run.untilSettled()
    context.prober.track(running)
    const ready = await readiness(running, awaitReadyMs, context)
    if (ready && running.restartPolicy === 'no') await widenPolicy(running, context)
    return { containerId: running.id, created: run.created, ready }
  } finally {
    expectNoLonger?.()
  }
}

/** The signature proves who asked, this proves that the spec is about the same resource. */
export function requireSpecOfOwner(spec: ContainerSpec, { owner }: ActionContext): void {
  const written = ownerOf(spec)
  if (written.instance === owner.instance && written.kind === owner.kind && written.resource === owner.resource) return
  throw new ActionFailure('BadAction', `the labels of ${spec.name} name another owner than the action does`, false)
}

/** Brings one container to where it runs. `once`: one that has run is left as it is, whatever became of it. */
export class Ensure {
  created = false
  private readonly content: ContainerContent
  private startedId: string | null = null
  private readonly deadline: number

  constructor(
    private readonly spec: ContainerSpec,
    private readonly context: ActionContext,
    private readonly options: { once: boolean } = { once: false },
  ) {
    this.content = new ContainerContent(spec, context)
    this.deadline = context.clock.now() + settleMs
  }

  async untilSettled(): Promise<EngineContainer> {
    const { engine, clock, signal } = this.context
    for (;;) {
      signal.throwIfAborted()
      const found = await engine.inspect(this.spec.name)
      if (found && this.settled(found)) {
        this.requireFit(found)
        return found
      }
      await this.step(found)
      if (clock.now() > this.deadline) {
        throw new ActionFailure(
          'EngineError',
          `${this.spec.name} is still ${found?.state ?? 'absent'} after ${settleMs / 1000} s`,
          true,
        )
      }
    }
  }

  /** It runs, or it was started by this action and has ended since: starting it again is a decision for a later pass. */
  private settled(found: EngineContainer): boolean {
    const { id, state } = found
    if (state === 'running' || state === 'restarting') return true
    if (this.options.once && hasRun(found)) return hasEnded(found)
    return state === 'exited' && this.startedId === id
  }

  /** One step nearer to a running container. */
  private async step(found: EngineContainer | null): Promise<void> {
    const { engine, clock, signal } = this.context
    if (!found) {
      const id = await this.create()
      if (id !== null) await this.start(id, true)
      return
    }
    if (found.state === 'removing') return clock.sleep(pollMs, signal)
    this.requireFit(found)
    if (found.state === 'dead') return engine.remove(found.id, true)
    if (found.state === 'paused') return engine.unpause(found.id)
    await this.start(found.id, !hasRun(found))
  }

  /** Its id, or null when somebody else has the name. */
  private async create(): Promise<string | null> {
    const { engine, network, clock, signal } = this.context
    const until = clock.now() + addressWaitMs
    for (;;) {
      try {
        const { id } = await engine.create(this.spec, await network.ensure(), await this.content.environment())
        this.created = true
        return id
      } catch (error) {
        if (failed(error, 'NameTaken')) {
          // Somebody has the name: look again who, in a moment, because its removal may just be ending.
          await clock.sleep(pollMs, signal)
          return null
        }
        if (failed(error, 'NetworkMissing')) network.forget()
        else if (!failed(error, 'AddressInUse')) throw error
        if (clock.now() > until) throw error
        await clock.sleep(addressPollMs, signal)
      }
    }
  }

  /** `first`: it never ran, so its files have to be written; what ran keeps its own. */
  private async start(foundId: string, first: boolean): Promise<void> {
    const { engine, clock, signal } = this.context
    const until = clock.now() + addressWaitMs
    let id = foundId
    let networkTries = 0
    let remade = false
    for (;;) {
      try {
        if (first || id !== foundId) await this.content.fill(id)
        await engine.start(id)
        this.startedId = id
        return
      } catch (error) {
        if (failed(error, 'NotFound')) return
        if (failed(error, 'NetworkMissing') && networkTries < 2) id = await this.reattach(id, networkTries++)
        else if (failed(error, 'AddressInUse') && clock.now() < until) await clock.sleep(addressPollMs, signal)
        else if (failed(error, 'EngineError') && !remade) {
          // The engine cannot start this one any more, e.g. because a killed engine left its task behind: a new one can start.
          if (await this.startedAfterAll(id)) return // it was only the answer that failed
          remade = true
          id = await this.remake(id)
        } else throw await this.explained(error)
      }
    }
  }

  private async startedAfterAll(id: string): Promise<boolean> {
    const found = await this.context.engine.inspect(id)
    return found !== null && (found.state === 'running' || (this.options.once && hasRun(found)))
  }

  /** A container that ran before holds on to its lost network by id, so it must be made anew; one that never ran need not. */
  private async reattach(id: string, tries: number): Promise<string> {
    const { network } = this.context
    network.forget()
    await network.ensure()
    return tries === 0 ? id : this.remake(id)
  }

  private async remake(id: string): Promise<string> {
    const { engine, network } = this.context
    await engine.remove(id, true)
    this.created = true
    return (await engine.create(this.spec, await network.ensure(), await this.content.environment())).id
  }

  private async explained(error: unknown): Promise<unknown> {
    if (!failed(error, 'AddressInUse')) return error
    const mine = await this.context.engine.list({ [label.instance]: this.context.owner.instance })
    const holder = mine.find((c) => c.address === this.spec.address && c.name !== this.spec.name && c.state === 'running')
    return new EngineFailure('AddressInUse', heldMessage(this.spec.address, holder?.name ?? null, addressWaitMs / 1000), true)
  }

  /** The found container must be exactly the wanted one; another one with our name is never touched. */
  private requireFit(found: EngineContainer): void {
    requireOwn(found, this.context.owner)
    const differs = [label.release, label.replica, label.specHash].filter((l) => found.labels[l] !== this.spec.labels[l])
    if (differs.length === 0) return
    throw new ActionFailure(
      'NameTaken',
      `the name ${found.name} is held by our own container ${shortId(found)} with another ${differs.join(', ')}`,
      false,
    )
  }
}

async function readiness(running: EngineContainer, awaitReadyMs: number, { prober, signal }: ActionContext): Promise<boolean> {
  if (awaitReadyMs === 0 || running.labels[label.probe] === undefined) return prober.stateOf(running).ready === true
  return prober.awaitReady(running, awaitReadyMs, signal)
}

/** Saves the pass that would do it: from the first Ready on Docker restarts it. Failing here is no failure of the start. */
async function widenPolicy(running: EngineContainer, { engine }: ActionContext): Promise<void> {
  await engine.setRestartPolicy(running.id, 'unless-stopped').catch(() => undefined)
}

export function hasEnded({ state }: EngineContainer): boolean {
  return state === 'exited' || state === 'dead'
}

function hasRun({ startedAt }: EngineContainer): boolean {
  return startedAt !== null
}

function failed(error: unknown, reason: EngineFailureReason): boolean {
  return error instanceof EngineFailure && error.reason === reason
}
