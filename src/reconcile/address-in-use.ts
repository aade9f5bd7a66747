/** Words of the agent that the planner reads again: which address it was that somebody else holds. */
export function heldMessage(address: string | null, holder: string | null, seconds: number): string {
  return `${start(address)}${holder === null ? '' : ` by container ${holder}`} after ${seconds} s`
}

export function saysHeld({ reason, message }: { reason: string; message: string }, address: string): boolean {
  return reason === 'AddressInUse' && message.startsWith(start(address))
}

const start = (address: string | null): string => `address ${address} is still held`
