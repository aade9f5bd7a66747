import type { Database, Transaction } from './database.js'
import { secretPlace, type PlacedValue } from './sealed.js'

interface SealedRow {
  name: string
  secretId: string
  version: number
  keyId: string
  sealed: Uint8Array<ArrayBuffer>
}

/** Newest values of some of a project's secrets, sealed, by name. */
export async function newestSealed(
  tx: Transaction,
  projectId: string,
  names: readonly string[],
): Promise<Map<string, PlacedValue>> {
  if (names.length === 0) return new Map()
  const rows = await tx.$queryRaw<SealedRow[]>`
    SELECT DISTINCT ON (s.id) s.name, s.id AS "secretId", v.version, v."keyId", v.sealed
    FROM "Secret" s JOIN "SecretVersion" v ON v."secretId" = s.id
    WHERE s."projectId" = ${projectId} AND s.name = ANY(${[...names]}::text[]) ORDER BY s.id, v.version DESC`
  return new Map(
    rows.map(({ name, secretId, version, keyId, sealed }) => [name, { keyId, sealed, place: secretPlace(secretId, version) }]),
  )
}

/** A host that is served with a secret as its certificate, and whose it is. */
export interface CertifiedHost {
  host: string
  application: string
}

/** Everything that a new value of the secret has to fit. */
export function hostsCertifiedBy(db: Database | Transaction, projectId: string, secret: string): Promise<CertifiedHost[]> {
  return db.$queryRaw<CertifiedHost[]>`
    SELECT DISTINCT d ->> 'host' AS host, r.name AS application
    FROM "Resource" r CROSS JOIN LATERAL jsonb_array_elements(r.spec -> 'domains') d
    WHERE r."projectId" = ${projectId} AND r.kind = 'application' AND r."deletionRequestedAt" IS NULL AND d ->> 'certificate' = ${secret}
    ORDER BY 1, 2`
}
