import type { ArgsOf, ResultOf } from '../reconcile/action.js'
import { abortable } from './abortable.js'
import { ActionFailure } from './action-failure.js'
import type { ActionContext } from './executor.js'
import { requireFound } from './ownership.js'

/**
 * Stops with the full grace and starts the same container: what it wrote into its own file system stays. Done again after
 * a death in between, it starts what it had stopped.
 */
export async function restartContainer(
  { name, graceSeconds }: ArgsOf<'restartContainer'>,
  { engine, owner, prober, signal }: ActionContext,
): Promise<ResultOf['restartContainer']> {
  const found = requireFound(await engine.inspect(name), name, owner)
  // A frozen process hears no signal and would lose its grace.
  if (found.state === 'paused') await engine.unpause(found.id)
  if (found.state !== 'exited' && found.state !== 'created') await abortable(engine.stop(found.id, graceSeconds), signal)
  await engine.start(found.id)
  const now = requireFound(await engine.inspect(found.id), name, owner)
  prober.track(now)
  if (now.state === 'running' || now.state === 'restarting') return {}
  throw new ActionFailure('EngineError', `${name} is ${now.state} right after its start`, true)
}
