import type { ApplicationRecord } from '../reconcile/application/desired.js'
import { toPlainText } from '../reconcile/name.js'
import type { Transaction } from './database.js'
import { releaseAddress, takeAddress } from './addresses.js'
import { makeIngressesOfDue } from './domain-claims.js'

/** Writes one record of an application; answers the address that it was given, if it asked for one. */
export async function writeApplicationRecord(
  tx: Transaction,
  resourceId: string,
  record: ApplicationRecord,
  now: number,
): Promise<string | null> {
  const at = new Date(now)
  switch (record.type) {
    case 'release': {
      const { number, generation, hash, templateHash, template, resolvedImage, resolvedFrom } = record.release
      await tx.release.create({
        data: {
          resourceId,
          number,
          generation,
          hash,
          templateHash,
          template,
          image: template.image,
          resolvedImage,
          resolvedFrom,
          createdAt: at,
        },
      })
      return null
    }
    case 'verdict':
      await tx.release.update({
        where: { resourceId_number: { resourceId, number: record.release } },
        data: { verdictReason: record.reason, verdictMessage: toPlainText(record.message) },
      })
      return null
    case 'preDeployed':
      await tx.release.update({
        where: { resourceId_number: { resourceId, number: record.release } },
        data: { preDeployedAt: at },
      })
      return null
    case 'verdictLog':
      await tx.release.update({
        where: { resourceId_number: { resourceId, number: record.release } },
        data: { verdictLog: record.sha256 },
      })
      return null
    case 'serving':
      await tx.release.update({ where: { resourceId_number: { resourceId, number: record.release } }, data: { servingAt: at } })
      return null
    case 'endpoint': {
      const address = await takeAddress(tx, record.node)
      if (address === null) return null
      const { release, replica, node } = record
      await tx.endpoint.create({
        data: { resourceId, release, replica, node, address, state: 'starting', stateAt: at, createdAt: at },
      })
      return address
    }
    case 'endpointState': {
      const { release, replica, state } = record
      const written = await tx.$executeRaw`
        UPDATE "Endpoint" SET state = ${state}, "unroutedAt" = NULL,
          "stateAt" = CASE WHEN state = ${state} THEN "stateAt" ELSE ${at}::timestamptz END,
          "readyAt" = CASE WHEN ${state} = 'ready' THEN coalesce("readyAt", ${at}::timestamptz) ELSE "readyAt" END
        WHERE "resourceId" = ${resourceId} AND release = ${release} AND replica = ${replica}`
      if (written !== 1) throw new Error(`${resourceId} has no replica ${replica} of release ${release}`)
      return null
    }
    case 'unrouted':
      await tx.endpoint.update({
        where: { resourceId_release_replica: { resourceId, release: record.release, replica: record.replica } },
        data: { unroutedAt: at },
      })
      return null
    case 'endpointGone': {
      const { release, replica } = record
      const gone = await tx.endpoint.delete({ where: { resourceId_release_replica: { resourceId, release, replica } } })
      await releaseAddress(tx, gone.node, gone.address, at)
      return null
    }
    case 'published':
      await tx.resource.update({ where: { id: resourceId }, data: { publishedOn: { push: record.node } } })
      return null
    case 'unpublished':
      await tx.$executeRaw`
        UPDATE "Resource" SET "publishedOn" = array_remove("publishedOn", ${record.node}) WHERE id = ${resourceId}`
      // The ingress of that node serves its domains until here.
      await makeIngressesOfDue(tx, resourceId, at)
      return null
    case 'volumesMade':
      await tx.resource.update({ where: { id: resourceId }, data: { volumesOn: { push: record.node } } })
      return null
    case 'volumesGone':
      await tx.$executeRaw`
        UPDATE "Resource" SET "volumesOn" = array_remove("volumesOn", ${record.node}) WHERE id = ${resourceId}`
      return null
  }
}
