import type { ApplicationSpec } from '../reconcile/application/spec.js'
import type { Transaction } from './database.js'
import { joinedFirst, livingNodes } from './first-node.js'
import { Prisma } from './generated/client.js'

/** What a node may be told of an application: nothing, unless its replicas are there or are to be. */
export interface ServedApplication {
  projectId: string
  spec: ApplicationSpec
}

/** The application, when the node has an endpoint of it or is where it is placed; null else. */
export async function servedOn(tx: Transaction, node: string, resource: string): Promise<ServedApplication | null> {
  const [row] = await tx.$queryRaw<(ServedApplication & { served: boolean })[]>`
    SELECT r."projectId", r.spec,
      EXISTS (SELECT 1 FROM "Endpoint" e WHERE e."resourceId" = r.id AND e.node = ${node})
      OR coalesce(${node} = (
        SELECT n.id ${Prisma.raw(livingNodes)}
          AND (r.spec -> 'placement' ->> 'node' IS NULL OR n.name = r.spec -> 'placement' ->> 'node')
        ${Prisma.raw(joinedFirst)} LIMIT 1), false) AS served
    FROM "Resource" r WHERE r.id = ${resource} AND r.kind = 'application'`
  return row?.served ? { projectId: row.projectId, spec: row.spec } : null
}
