import type { DomainState, IngressDesired, IngressRecord } from './desired.js'
import { domainKey } from './domain.js'
import type { LeftOut, Rendered } from './spec.js'

type Told = Pick<DomainState, 'routed' | 'reason' | 'message'>

/** What is to be told of each domain, where it is not what was told last. */
export function routeRecords(
  desired: IngressDesired,
  { leftOut }: Pick<Rendered, 'leftOut'>,
  config: { applied: boolean; failure: string | null },
): IngressRecord[] {
  const out = new Map(leftOut.map((l) => [`${l.resource} ${domainKey(l)}`, l]))
  return desired.domains.flatMap((domain): IngressRecord[] => {
    const told = toldOf(domain, out.get(`${domain.resource} ${domainKey(domain)}`), config)
    if (told.routed === domain.routed && told.reason === domain.reason && told.message === domain.message) return []
    const { resource, host, path } = domain
    return [{ type: 'route', resource, host, path, ...told } as IngressRecord]
  })
}

function toldOf(domain: DomainState, left: LeftOut | undefined, config: { applied: boolean; failure: string | null }): Told {
  if (config.applied) {
    return left ? { routed: false, reason: left.reason, message: left.message } : { routed: true, reason: 'Routed', message: '' }
  }
  // Until the new configuration is there the old one goes on, and what it served it serves.
  if (config.failure !== null && !domain.routed) return { routed: false, reason: 'ConfigRefused', message: config.failure }
  return domain
}
