import type { IngressRecord } from '../reconcile/ingress/desired.js'
import { toPlainText } from '../reconcile/name.js'
import type { Transaction } from './database.js'

/** Writes what an ingress found out. Owners of domains see `toldAt` and look at it in a pass of their own. */
export async function writeIngressRecord(tx: Transaction, ingress: string, record: IngressRecord, now: number): Promise<void> {
  const at = new Date(now)
  switch (record.type) {
    case 'config': {
      const { sha256, content } = record
      await tx.artifact.upsert({
        where: { sha256 },
        create: { sha256, content: Buffer.from(content), createdAt: at, configOf: ingress },
        update: { createdAt: at, configOf: ingress },
        select: { sha256: true },
      })
      return
    }
    case 'route': {
      const { resource, host, path, routed, reason, message } = record
      // Somebody else may have it by now: then this is no news of anybody's.
      await tx.domain.updateMany({
        where: { host, path, resourceId: resource },
        data: { routed, reason, message: toPlainText(message), toldAt: at },
      })
      return
    }
    case 'refused': {
      const { resource, host, path, message, part } = record
      await tx.domain.updateMany({
        where: { host, path, resourceId: resource },
        data: { refusedAt: at, refusedMessage: toPlainText(message), refusedPart: part },
      })
      return
    }
    case 'certificate': {
      const { issuer, notAfter } = record.certificate
      const error = record.certificate.error && toPlainText(record.certificate.error)
      const until = notAfter === null ? null : new Date(notAfter)
      await tx.$executeRaw`
        UPDATE "Domain" SET "certificateSeenAt" = ${at}, "certificateIssuer" = ${issuer}, "certificateNotAfter" = ${until}::timestamptz,
          "certificateError" = ${error},
          "toldAt" = CASE WHEN "certificateSeenAt" IS NULL OR "certificateIssuer" IS DISTINCT FROM ${issuer}::text
            OR "certificateNotAfter" IS DISTINCT FROM ${until}::timestamptz OR "certificateError" IS DISTINCT FROM ${error}::text
            THEN ${at}::timestamptz ELSE "toldAt" END
        WHERE host = ${record.host}`
    }
  }
}
