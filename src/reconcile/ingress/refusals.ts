import { resultOf, type Settled } from '../action.js'
import { partsOfHosts } from './config-hosts.js'
import type { DomainState, IngressDesired, IngressRecord } from './desired.js'
import { domainKey } from './domain.js'

/** Then it is tried again all the same: another Caddy may take it, and what was wrong may not have been the host. */
export const refusalHoldsMs = 86_400_000
/** One that came again after this is written again; sooner it is the same answer, read by the next round of the plan. */
const sameAnswerMs = 1_000

/**
 * What Caddy said of domains that it refused, by their keys, as long as the same is wanted of their hosts. `whole`: the
 * configuration with all of them. What is wanted is compared and not when it was changed: it may have changed while Caddy
 * was asked, and also when nobody touched the domain, as with another version of its certificate.
 */
export function standingRefusals({ domains, targets }: IngressDesired, whole: object, now: number): ReadonlyMap<string, string> {
  const refused = new Map(domains.flatMap((d) => (d.refusal && now - d.refusal.at < refusalHoldsMs ? [[d.host, d.refusal]] : [])))
  if (refused.size === 0) return new Map()
  const parts = partsOfHosts(whole, refused.keys())
  return new Map(
    targets.flatMap((target) =>
      target.domains.flatMap((domain) => {
        const refusal = refused.get(domain.host)
        return refusal && refusal.part === parts.get(domain.host) ? [[domainKey(domain), refusal.message] as const] : []
      }),
    ),
  )
}

/** What loads that have ended tell of hosts. `key`: that of the load of what is wanted now, which any answer is about. */
export function refusalRecords(
  { domains }: IngressDesired,
  whole: object,
  { settled, key, now }: { settled: Settled[]; key: string; now: number },
): IngressRecord[] {
  const answers = settled.flatMap((s) =>
    (resultOf([s], s.key, 'loadIngressConfig')?.refused ?? []).map((refused) => ({ ...refused, current: s.key === key })),
  )
  if (answers.length === 0) return []
  const parts = partsOfHosts(
    whole,
    answers.map(({ host }) => host),
  )
  return answers.flatMap(({ host, message, part: then, current }): IngressRecord[] => {
    const part = parts.get(host)
    if (part === undefined || (!current && part !== then)) return []
    const known = ({ refusal: r }: DomainState) => r?.part === part && r.message === message && now - r.at < sameAnswerMs
    // Of those that this ingress serves: another node's may serve another path of the host, and has an answer of its own.
    return domains
      .filter((d) => d.host === host && !known(d))
      .map(({ resource, path }) => ({ type: 'refused', resource, host, path, message, part }))
  })
}
