import { EngineFailure, type EngineContainer } from '../adapters/docker/engine.js'
import type { ArgsOf, ResultOf } from '../reconcile/action.js'
import { abortable } from './abortable.js'
import { ActionFailure } from './action-failure.js'
import type { ActionContext } from './executor.js'
import { requireOwn } from './ownership.js'

const pollMs = 20
const goneMs = 30_000

/**
 * Stops with the full grace and removes. The restart policy goes first: if the agent dies before the removal, Docker
 * must not bring the container back meanwhile.
 */
export async function retireContainer(
  { name, graceSeconds }: ArgsOf<'retireContainer'>,
  context: ActionContext,
): Promise<ResultOf['retireContainer']> {
  const { engine, owner } = context
  const found = await engine.inspect(name)
  if (!found) return { removed: false }
  requireOwn(found, owner)
  if (found.state !== 'removing') {
    requireUnrouted(found, context)
    if (found.restartPolicy !== 'no') await tolerant(engine.setRestartPolicy(found.id, 'no'))
    // A frozen process hears no signal and would lose its grace.
    if (found.state === 'paused') await tolerant(engine.unpause(found.id))
    requireUnrouted(found, context)
    if (found.state !== 'created' && found.state !== 'exited')
      await abortable(engine.stop(found.id, graceSeconds), context.signal)
    await engine.remove(found.id, true)
  }
  await untilGone(found.id, context)
  return { removed: true }
}

/**
 * Planners stop nothing that is routed; but an action that hung for long may go on after its loop gave it up and routed
 * to the container again.
 */
function requireUnrouted({ name, state, address }: EngineContainer, { publisher, owner }: ActionContext): void {
  if (state !== 'running' || address === null || !publisher.names(owner.resource, address)) return
  throw new ActionFailure('StillPublished', `${name} is not stopped: requests are sent to ${address}`, true)
}

/** Somebody else's removal may be quicker than our next step. */
async function tolerant(step: Promise<void>): Promise<void> {
  try {
    await step
  } catch (error) {
    if (error instanceof EngineFailure && error.reason === 'DockerUnreachable') throw error
  }
}

async function untilGone(id: string, { engine, clock, signal }: ActionContext): Promise<void> {
  const deadline = clock.now() + goneMs
  while ((await engine.inspect(id)) !== null) {
    if (clock.now() > deadline)
      throw new ActionFailure('EngineError', `container ${id.slice(0, 12)} is still being removed after ${goneMs / 1000} s`, true)
    await clock.sleep(pollMs, signal)
  }
}
