import type { Profile } from './faults.js'

/** Nothing goes wrong but what a test does. */
export const calm: Profile = {
  engineRefuses: 0,
  engineLosesAnswers: 0,
  engineSlow: 0,
  slowRemoval: 0,
  eventsLost: 0,
  eventsDoubled: 0,
  slowPulls: 0,
  databaseFails: 0,
  databaseSlow: 0,
  nudgesLost: 0,
  stalls: 0,
  disasters: [],
  hands: false,
  badImages: false,
  crashes: false,
  nodes: 1,
  addresses: 34,
  skew: false,
}
