import type { Action } from './action.js'
import type { Failure } from './backoff.js'
import type { InFlight } from './controller.js'

/** New actions of one pass: together with the byte limit this keeps a pass's payloads under 64 KB. */
export const admittedActionsMost = 16
export const admittedBytesMost = 48 * 1024

export interface Admission {
  start: Action[]
  /** Keys of running actions to cancel. */
  cancel: string[]
  /** Wait until the next held-back action may be tried; null when none waits for time. */
  retryAfterMs: number | null
}

interface AdmissionInput {
  wanted: Action[]
  inFlight: InFlight[]
  failures: Map<string, Failure>
  holds: Set<string>
  generation: number
  now: number
}

/**
 * Which of the wanted actions may start now. Kept back are: keys in flight, a second action on a container,
 * what failed and has to wait, and what a person holds. Cancelled are: held keys, and supersedable actions of an older
 * generation that nobody wants any more.
 */
export function admit(input: AdmissionInput): Admission {
  const { wanted, inFlight, failures, holds, generation, now } = input
  const busyKeys = new Set(inFlight.map((a) => a.key))
  const busyContainers = new Set(inFlight.map((a) => a.container).filter((c) => c !== null))
  const start: Action[] = []
  const waits: number[] = []
  let bytes = 0

  for (const action of wanted) {
    if (busyKeys.has(action.key) || holds.has(action.key)) continue
    if (action.container !== null && busyContainers.has(action.container)) continue
    const failure = failures.get(action.key)
    if (failure && !failure.retryable) continue
    if (failure && failure.nextTryAt > now) {
      waits.push(failure.nextTryAt - now)
      continue
    }
    const size = Buffer.byteLength(JSON.stringify(JSON.stringify(action))) // signed text travels within JSON
    const full = start.length >= admittedActionsMost || (start.length > 0 && bytes + size > admittedBytesMost)
    if (full) break // the first of them to settle wakes the loop, which admits the rest
    bytes += size
    busyKeys.add(action.key)
    if (action.container !== null) busyContainers.add(action.container)
    start.push(action)
  }

  const wantedKeys = new Set(wanted.map((a) => a.key))
  const cancel = inFlight
    .filter((a) => holds.has(a.key) || (a.supersedable && a.generation < generation && !wantedKeys.has(a.key)))
    .map((a) => a.key)
  return { start, cancel, retryAfterMs: waits.length > 0 ? Math.min(...waits) : null }
}
