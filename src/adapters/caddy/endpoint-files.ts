import { slotsPerTarget } from '../../reconcile/ingress/slots.js'

/** What each of the slots dials. Evenly spread; with more endpoints than slots the rest is not used by ingress. */
export function fillSlots(endpoints: string[], unavailableDial: string): string[] {
  const dials = endpoints.length > 0 ? endpoints : [unavailableDial]
  return Array.from({ length: slotsPerTarget }, (_, slot) => dials[slot % dials.length] ?? unavailableDial)
}
