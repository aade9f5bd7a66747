import { slotFileName, slotsPerTarget } from '../src/reconcile/ingress/slots.js'
import type { IngressTarget } from '../src/reconcile/ingress/spec.js'

/** Applications with one host each, without TLS: what is measured is the proxy and not the handshake. */
export function targetsWithHosts(count: number): IngressTarget[] {
  return Array.from({ length: count }, (_, n) => ({
    resource: `app_bench${n}`,
    title: `bench/web-${n}`,
    domains: [{ host: `web-${n}.bench.test`, tls: 'off' as const }],
    ports: [8080],
    dial: null,
    secretVersions: {},
  }))
}

/** Endpoint files of these targets, all with the same addresses. */
export function slotFiles(targets: IngressTarget[], dials: string[]): Map<string, string> {
  return new Map(
    targets.flatMap(({ resource }) =>
      Array.from(
        { length: slotsPerTarget },
        (_, slot) => [slotFileName(resource, slot), dials[slot % dials.length] ?? ''] as const,
      ),
    ),
  )
}
