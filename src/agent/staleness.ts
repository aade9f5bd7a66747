import type { Probe } from '../reconcile/action.js'

/** Waiting for a place among the probes on the way may take this long. */
const waitSlackMs = 1_000

/** A verdict that is older than this comes from an agent that was frozen meanwhile, or a machine that slept. */
export function staleAfterMs({ intervalMs, timeoutMs }: Probe): number {
  return 2 * (intervalMs + timeoutMs) + waitSlackMs
}
