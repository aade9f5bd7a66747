import { EngineFailure } from '../adapters/docker/engine.js'
import { toPlainText } from '../reconcile/name.js'

/** Why an action failed, in the words that conditions carry. `retryable` false: time alone does not cure it. */
export class ActionFailure extends Error {
  constructor(
    readonly reason: string,
    message: string,
    readonly retryable: boolean,
  ) {
    super(toPlainText(message))
    this.name = 'ActionFailure'
  }
}

/** Whatever an action threw, as the failure that the control plane is told. */
export function toActionFailure(error: unknown): ActionFailure {
  if (error instanceof ActionFailure) return error
  if (error instanceof EngineFailure) return new ActionFailure(error.reason, error.message, error.retryable)
  const message = error instanceof Error ? error.message : String(error)
  return (error as { code?: string }).code === 'ENOSPC'
    ? new ActionFailure('DiskFull', message, true)
    : new ActionFailure('AgentError', message, true)
}
