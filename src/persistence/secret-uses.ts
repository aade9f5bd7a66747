import type { Database, Transaction } from './database.js'
import { Prisma } from './generated/client.js'

/** An application that names a secret: by its present spec, or by a release that still has replicas. */
export interface SecretUse {
  secretId: string
  applicationId: string
  applicationName: string
  /** null = the spec. */
  release: number | null
  /** null = the newest one. */
  version: number | null
}

/** What a spec or a template names: the entries of `secretEnv` and `files`, as jsonb. */
export const entriesOf = (column: string): Prisma.Sql =>
  Prisma.raw(
    `jsonb_array_elements(coalesce(${column} -> 'secretEnv', '[]'::jsonb) || coalesce(${column} -> 'files', '[]'::jsonb))`,
  )

/** Beside those what domains of a spec name as their certificates. */
export const specEntriesOf = (column: string): Prisma.Sql =>
  Prisma.raw(
    `jsonb_array_elements(coalesce(${column} -> 'secretEnv', '[]'::jsonb) || coalesce(${column} -> 'files', '[]'::jsonb) || coalesce((
      SELECT jsonb_agg(jsonb_build_object('secret', d -> 'certificate'))
      FROM jsonb_array_elements(${column} -> 'domains') d WHERE d -> 'certificate' IS NOT NULL), '[]'::jsonb))`,
  )

/** Specs of applications that are being deleted count no more: nothing new is made of them. */
export function usesOf(db: Database | Transaction, secretIds: readonly string[]): Promise<SecretUse[]> {
  return db.$queryRaw<SecretUse[]>`
    WITH wanted AS (SELECT id, "projectId", name FROM "Secret" WHERE id = ANY(${[...secretIds]}::text[])),
    named AS (
      SELECT r."projectId", r.id, r.name, NULL::int AS release, entry
      FROM "Resource" r CROSS JOIN LATERAL ${specEntriesOf('r.spec')} AS entry
      WHERE r.kind = 'application' AND r."deletionRequestedAt" IS NULL AND r."projectId" IN (SELECT "projectId" FROM wanted)
      UNION ALL
      SELECT r."projectId", r.id, r.name, l.number, entry
      FROM "Resource" r JOIN "Release" l ON l."resourceId" = r.id CROSS JOIN LATERAL ${entriesOf('l.template')} AS entry
      WHERE r.kind = 'application' AND r."projectId" IN (SELECT "projectId" FROM wanted)
        AND EXISTS (SELECT 1 FROM "Endpoint" e WHERE e."resourceId" = r.id AND e.release = l.number)
    )
    SELECT DISTINCT w.id AS "secretId", n.id AS "applicationId", n.name AS "applicationName", n.release, (entry ->> 'version')::int AS version
    FROM named n JOIN wanted w ON w."projectId" = n."projectId" AND w.name = n.entry ->> 'secret'
    ORDER BY "applicationName", "applicationId", release NULLS FIRST, version NULLS FIRST`
}
