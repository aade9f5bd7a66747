import { EngineFailure } from '../adapters/docker/engine.js'
import type { ArgsOf, ResourceLimits, ResultOf } from '../reconcile/action.js'
import { ActionFailure } from './action-failure.js'
import type { ActionContext } from './executor.js'
import { requireFound } from './ownership.js'

/** Changes limits in place and believes only what the engine shows afterwards. A limit that is not named stays. */
export async function setResources(
  { name, resources }: ArgsOf<'setResources'>,
  { engine, owner }: ActionContext,
): Promise<ResultOf['setResources']> {
  const found = requireFound(await engine.inspect(name), name, owner)
  if (holds(found.limits, resources)) return {}
  await engine.setResources(found.id, resources).catch((error: unknown) => {
    throw notTaken(error)
  })
  const now = requireFound(await engine.inspect(found.id), name, owner).limits
  if (holds(now, resources)) return {}
  throw new ActionFailure('ResourcesNotApplied', `the engine said yes, but ${name} has ${JSON.stringify(now)}`, true)
}

function holds(limits: ResourceLimits, { memoryBytes, nanoCpus }: ResourceLimits): boolean {
  return (memoryBytes === null || limits.memoryBytes === memoryBytes) && (nanoCpus === null || limits.nanoCpus === nanoCpus)
}

/** The kernel may refuse now, because the program uses more, and take it a while later. */
function notTaken(error: unknown): unknown {
  if (!(error instanceof EngineFailure) || !['EngineError', 'ResourcesNotApplied'].includes(error.reason)) return error
  return new ActionFailure('ResourcesNotApplied', error.message, true)
}
