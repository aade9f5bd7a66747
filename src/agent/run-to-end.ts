import type { EngineContainer } from '../adapters/docker/engine.js'
import type { ArgsOf, ContainerSpec, ResultOf } from '../reconcile/action.js'
import { belongsTo } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'
import { Ensure, hasEnded, requireSpecOfOwner } from './ensure-container.js'
import type { ActionContext } from './executor.js'

const firstPollMs = 50
const longestPollMs = 1_000
const pollGrowth = 1.5

/** A cancellation with these words is none of the work: the agent ends, or somebody waits for another attempt. */
const goesOn = new Set(['WORKER_SHUTDOWN', 'NOT_FOUND'])

/**
 * Runs a container to its end, once: one that is found running is waited for, one that has ended, however that came about,
 * is never started again. It stays, so that a repeat finds its exit code.
 */
export async function runToEnd({ container }: ArgsOf<'runToEnd'>, context: ActionContext): Promise<ResultOf['runToEnd']> {
  const spec: ContainerSpec = { ...container, address: null, restartPolicy: 'no' }
  requireSpecOfOwner(spec, context)
  try {
    const begun = await new Ensure(spec, context, { once: true }).untilSettled()
    return verdict(hasEnded(begun) ? begun : await untilEnded(begun, context))
  } catch (error) {
    if (context.signal.aborted && !goesOn.has((context.signal.reason as Error | undefined)?.message ?? ''))
      await stop(spec, context)
    throw error
  }
}

async function untilEnded({ id, name }: EngineContainer, { engine, clock, signal }: ActionContext): Promise<EngineContainer> {
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * pollGrowth, longestPollMs)) {
    await clock.sleep(pollMs, signal)
    const found = await engine.inspect(id)
    if (!found || found.state === 'removing')
      throw new ActionFailure('PreDeployFailed', `${name} was removed while it ran: nobody knows how it would have ended`, false)
    if (hasEnded(found)) return found
  }
}

function verdict({ exitCode, oomKilled }: EngineContainer): ResultOf['runToEnd'] {
  if (exitCode === 0) return { exitCode }
  const how = oomKilled ? `it was killed for want of memory (exit code ${exitCode})` : `it ended with exit code ${exitCode}`
  throw new ActionFailure('PreDeployFailed', how, false)
}

/** Nobody waits for it any longer, so it does not go on changing things; it has its grace as any other. */
async function stop({ name, stopGraceSeconds }: ContainerSpec, { engine, owner }: ActionContext): Promise<void> {
  const found = await engine.inspect(name).catch(() => null)
  if (!found || !belongsTo(found.labels, owner) || hasEnded(found)) return
  if (found.state === 'paused') await engine.unpause(found.id).catch(() => undefined)
  await engine.stop(found.id, stopGraceSeconds).catch(() => undefined)
}
