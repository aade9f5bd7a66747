/**
 * Ingress has this many upstreams for each target, whose dial is the text of a file: Caddy reads it at every request,
 * so an endpoint changes without a load of its configuration.
 */
export const slotsPerTarget = 12

/** Name of a slot's file; `target` is the resource's id. */
export function slotFileName(target: string, slot: number): string {
  return `${target}.${slot}`
}

/** What each of the slots dials. Evenly spread; with more endpoints than slots the rest is not used by ingress. */
export function fillSlots(endpoints: string[], unavailableDial: string): string[] {
  const dials = endpoints.length > 0 ? endpoints : [unavailableDial]
  return Array.from({ length: slotsPerTarget }, (_, slot) => dials[slot % dials.length] ?? unavailableDial)
}
