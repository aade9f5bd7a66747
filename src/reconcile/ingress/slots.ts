/**
 * Ingress has this many upstreams for each target, whose dial is the text of a file: Caddy reads it at every request,
 * so an endpoint changes without a load of its configuration.
 */
export const slotsPerTarget = 12

/** Name of a slot's file; `target` as `targetName` says it. */
export function slotFileName(target: string, slot: number): string {
  return `${target}.${slot}`
}
