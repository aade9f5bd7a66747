import type { Readiness } from '../ports.js'

/** A prober of containers that nobody probes. */
export const noReadiness: Readiness = {
  track: () => undefined,
  stateOf: () => ({ ready: null, message: '' }),
  expectReady: () => () => undefined,
  awaitReady: () => Promise.resolve(false),
}
