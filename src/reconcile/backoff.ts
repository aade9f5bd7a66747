/** First wait after a failure, and the longest: doubling between them (design §6). */
export const backoffFirstMs = 1_000
export const backoffLongestMs = 300_000

/** Wait before try number `failures + 1`; `failures` ≥ 1. */
export function backoffMs(failures: number): number {
  const exponent = Math.min(Math.max(failures, 1) - 1, 30)
  return Math.min(backoffFirstMs * 2 ** exponent, backoffLongestMs)
}

/** How an action of one key failed until now. */
export interface Failure {
  key: string
  generation: number
  count: number
  reason: string
  message: string
  /** false: only a new generation cures it, time does not. */
  retryable: boolean
  nextTryAt: number
}

/** The failure record after one more failure of `key`. A new generation starts counting from one. */
export function nextFailure(
  previous: Failure | undefined,
  failed: { key: string; reason: string; message: string; retryable: boolean },
  generation: number,
  now: number,
): Failure {
  const count = previous?.generation === generation ? previous.count + 1 : 1
  return { ...failed, generation, count, nextTryAt: now + backoffMs(count) }
}

/** Failures that still speak: those of an older generation are history. */
export function currentFailures(failures: Failure[], generation: number): Map<string, Failure> {
  return new Map(failures.filter((f) => f.generation === generation).map((f) => [f.key, f]))
}
