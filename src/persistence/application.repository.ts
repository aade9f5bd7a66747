import { withTag } from '../reconcile/name.js'
import { nginxdemoDefaultImage } from '../reconcile/nginxdemo/spec.js'
import type { Database } from './database.js'
import { groupPages, type EachPage } from './each-page.js'
import type { Page } from './page.js'

export interface ReleaseRow {
  resourceId: string
  number: number
  generation: number
  image: string
  resolvedImage: string
  resolvedFrom: string
  verdictReason: string | null
  verdictMessage: string | null
  servingAt: Date | null
  createdAt: Date
}

export interface EndpointRow {
  resourceId: string
  release: number
  replica: number
  node: string
  address: string
  state: string
  readyAt: Date | null
  unroutedAt: Date | null
  createdAt: Date
}

/** What passes have written of applications: releases and endpoints. Read only. */
export class ApplicationRepository {
  constructor(private readonly db: Database) {}

  /** The newest releases of each application; `after` is a release number. */
  async releasesOfEach(ids: readonly string[], { first, after }: EachPage): Promise<Map<string, Page<ReleaseRow>>> {
    const rows = await this.db.$queryRaw<ReleaseRow[]>`
      SELECT x.* FROM unnest(${[...ids]}::text[]) AS r(id) CROSS JOIN LATERAL (
        SELECT "resourceId", number, generation, image, "resolvedImage", "resolvedFrom", "verdictReason", "verdictMessage", "servingAt", "createdAt"
        FROM "Release" WHERE "resourceId" = r.id AND (${after}::bigint IS NULL OR number < ${after}::bigint)
        ORDER BY number DESC LIMIT ${first + 1}) x`
    return groupPages(ids, rows, first)
  }

  /** Ascending by release and replica. */
  async endpointsOfMany(ids: readonly string[]): Promise<EndpointRow[]> {
    return this.db.$queryRaw`SELECT * FROM "Endpoint" WHERE "resourceId" = ANY(${[...ids]}::text[]) ORDER BY release, replica`
  }

  /** The newest release of each application that served and was not given up. */
  async servingReleases(ids: readonly string[]): Promise<ReleaseRow[]> {
    return this.db.$queryRaw<ReleaseRow[]>`
      SELECT DISTINCT ON ("resourceId") "resourceId", number, generation, image, "resolvedImage", "resolvedFrom",
        "verdictReason", "verdictMessage", "servingAt", "createdAt"
      FROM "Release" WHERE "resourceId" = ANY(${[...ids]}::text[]) AND "servingAt" IS NOT NULL AND "verdictReason" IS NULL
      ORDER BY "resourceId", number DESC`
  }

  /**
   * References that image clean-up must keep: of each application what the spec asks for, its newest release and the
   * two newest that served (the one that serves, and the one to go back to); and the demos' images.
   */
  async imagesToKeep(): Promise<string[]> {
    const rows = await this.db.$queryRaw<{ image: string }[]>`
      SELECT DISTINCT image FROM (
        SELECT coalesce(spec->>'image', ${nginxdemoDefaultImage}) AS image FROM "Resource" WHERE kind IN ('application', 'nginxdemo')
        UNION ALL
        SELECT unnest(ARRAY[image, "resolvedImage"]) FROM (
          SELECT image, "resolvedImage",
            row_number() OVER (PARTITION BY "resourceId" ORDER BY number DESC) AS newest,
            row_number() OVER (PARTITION BY "resourceId", "servingAt" IS NOT NULL AND "verdictReason" IS NULL ORDER BY number DESC) AS rank,
            "servingAt" IS NOT NULL AND "verdictReason" IS NULL AS served
          FROM "Release") ranked
        WHERE newest = 1 OR (served AND rank <= 2)
      ) images ORDER BY image`
    return [...new Set(rows.map((r) => (r.image.startsWith('sha256:') ? r.image : withTag(r.image))))]
  }
}
