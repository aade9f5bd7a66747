import type { Transaction } from './database.js'

/**
 * A node's network is a /20: the first ten addresses are reserved (gateway, resolver), the last /24 is Docker's dynamic
 * range, the 3,830 between them are given to replicas, one each, for as long as the replica exists.
 */
export const firstFixedOffset = 10
export const fixedAddressesEnd = 15 * 256

/**
 * The next free fixed address of a node: one that was never used, else the one that was given back longest ago. So a
 * stale DNS answer or a cached connection meets nobody for as long as can be. null when none is left.
 */
export async function takeAddress(tx: Transaction, node: string): Promise<string | null> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`addresses:${node}`}))`
  const fresh = await tx.$queryRaw<{ address: string }[]>`
    SELECT host(base + n) AS address
    FROM (SELECT network(subnet::inet)::inet AS base FROM "NodeStatus" WHERE "resourceId" = ${node} AND subnet IS NOT NULL) s,
         generate_series(${firstFixedOffset}::int, ${fixedAddressesEnd - 1}::int) n
    WHERE NOT EXISTS (SELECT 1 FROM "Endpoint" e WHERE e.node = ${node} AND e.address = host(base + n))
      AND NOT EXISTS (SELECT 1 FROM "ReleasedAddress" r WHERE r.node = ${node} AND r.address = host(base + n))
    ORDER BY n LIMIT 1`
  if (fresh[0]) return fresh[0].address
  const rested = await tx.releasedAddress.findFirst({ where: { node }, orderBy: [{ releasedAt: 'asc' }, { address: 'asc' }] })
  if (!rested) return null
  await tx.releasedAddress.delete({ where: { node_address: { node, address: rested.address } } })
  return rested.address
}

export async function releaseAddress(tx: Transaction, node: string, address: string, now: Date): Promise<void> {
  await tx.releasedAddress.upsert({
    where: { node_address: { node, address } },
    create: { node, address, releasedAt: now },
    update: { releasedAt: now },
  })
}
