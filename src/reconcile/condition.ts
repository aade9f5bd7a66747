import { toPlainText } from './name.js'

/** Unknown is a real third state: not looked yet, or cannot look. */
export const ConditionStatus = { True: 'True', False: 'False', Unknown: 'Unknown' } as const
export type ConditionStatus = (typeof ConditionStatus)[keyof typeof ConditionStatus]

/** What a planner says about one aspect of a resource in one pass. */
export interface ConditionDraft {
  type: string
  status: ConditionStatus
  /** One CamelCase word from the kind's list. */
  reason: string
  message: string
}

/** A condition as recorded. */
export interface Condition extends ConditionDraft {
  observedGeneration: number
  /** Milliseconds since the epoch; moves only when `status` changes. */
  lastTransitionAt: number
}

/** A condition that has just been written, with whether it is a transition worth a history row. */
export interface ConditionChange {
  condition: Condition
  transitioned: boolean
  changed: boolean
}

/**
 * Kubernetes' rule (api-conventions.md, "Typical status properties"): the transition time moves only when the
 * status changes; reason and message may change freely.
 */
export function mergeCondition(
  previous: Condition | undefined,
  draft: ConditionDraft,
  generation: number,
  now: number,
): ConditionChange {
  const transitioned = previous?.status !== draft.status
  const message = toPlainText(draft.message)
  const condition: Condition = {
    type: draft.type,
    status: draft.status,
    reason: draft.reason,
    message,
    observedGeneration: generation,
    lastTransitionAt: transitioned || !previous ? now : previous.lastTransitionAt,
  }
  const changed =
    transitioned ||
    previous?.reason !== draft.reason ||
    previous.message !== message ||
    previous.observedGeneration !== generation
  return { condition, transitioned, changed }
}

export function condition(type: string, status: ConditionStatus, reason: string, message: string): ConditionDraft {
  return { type, status, reason, message }
}

/** `Ready=True` is the one thing that may be said only of what was observed for the current generation. */
export function ready(status: ConditionStatus, reason: string, message: string): ConditionDraft {
  return { type: 'Ready', status, reason, message }
}
