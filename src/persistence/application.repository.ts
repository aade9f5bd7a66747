import { withTag } from '../reconcile/name.js'
import { ingressDefaults } from '../reconcile/ingress/spec.js'
import { nginxdemoDefaultImage } from '../reconcile/nginxdemo/spec.js'
import type { ApplicationSpec, ReleaseTemplate } from '../reconcile/application/spec.js'
import type { Database, Transaction } from './database.js'
import { Prisma } from './generated/client.js'
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
  /** SHA-256 of the artifact with its last lines. */
  verdictLog: string | null
  preDeployedAt: Date | null
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

export interface ReleaseKey {
  resourceId: string
  number: number
}

/** What a release froze, and who asked for it. Apart from `ReleaseRow`, because it may be big and is asked for seldom. */
export interface ReleaseTemplateRow extends ReleaseKey {
  template: ReleaseTemplate
  image: string
  resolvedImage: string
}

export interface ReleaseActorRow extends ReleaseKey {
  actor: string
}

const releaseColumns = Prisma.raw(
  `"resourceId", number, generation, image, "resolvedImage", "resolvedFrom", "verdictReason", "verdictMessage", "verdictLog",
  "preDeployedAt", "servingAt", "createdAt"`,
)

/** What passes have written of applications: releases and endpoints. Read only. */
export class ApplicationRepository {
  constructor(private readonly db: Database) {}

  /** The newest releases of each application; `after` is a release number. */
  async releasesOfEach(ids: readonly string[], { first, after }: EachPage): Promise<Map<string, Page<ReleaseRow>>> {
    const rows = await this.db.$queryRaw<ReleaseRow[]>`
      SELECT x.* FROM unnest(${[...ids]}::text[]) AS r(id) CROSS JOIN LATERAL (
        SELECT ${releaseColumns}
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
      SELECT DISTINCT ON ("resourceId") ${releaseColumns}
      FROM "Release" WHERE "resourceId" = ANY(${[...ids]}::text[]) AND "servingAt" IS NOT NULL AND "verdictReason" IS NULL
      ORDER BY "resourceId", number DESC`
  }

  async templatesOf(keys: readonly ReleaseKey[]): Promise<ReleaseTemplateRow[]> {
    return this.db.$queryRaw`
      SELECT l."resourceId", l.number, l.template, l.image, l."resolvedImage" FROM "Release" l
      JOIN ${listed(keys)} ON k.id = l."resourceId" AND k.number = l.number`
  }

  /** Who asked for the generation that asked for each release. */
  async actorsOf(keys: readonly ReleaseKey[]): Promise<ReleaseActorRow[]> {
    return this.db.$queryRaw`
      SELECT l."resourceId", l.number, v.actor FROM "Release" l
      JOIN ${listed(keys)} ON k.id = l."resourceId" AND k.number = l.number
      JOIN "Revision" v ON v."resourceId" = l."resourceId" AND v.generation = l.generation`
  }

  /**
   * References that image clean-up must keep: of each application what the spec asks for, its newest release and the
   * two newest that served (the one that serves, and the one to go back to); and the demos' images.
   */
  async imagesToKeep(): Promise<string[]> {
    const rows = await this.db.$queryRaw<{ image: string }[]>`
      SELECT DISTINCT image FROM (
        SELECT coalesce(spec->>'image', CASE kind WHEN 'ingress' THEN ${ingressDefaults.image} ELSE ${nginxdemoDefaultImage} END) AS image
        FROM "Resource" WHERE kind IN ('application', 'ingress', 'nginxdemo')
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

/** Release keys as a table `k` of a statement. */
function listed(keys: readonly ReleaseKey[]) {
  return Prisma.sql`unnest(${keys.map((k) => k.resourceId)}::text[], ${keys.map((k) => k.number)}::int[]) AS k(id, number)`
}

/** What a release was made of, as people had said it: the spec of its generation, and the image that it was resolved to. */
export interface ReleaseOrigin {
  spec: ApplicationSpec
  image: string
  resolvedImage: string
}

export async function readReleaseOrigin(tx: Transaction, resourceId: string, number: number): Promise<ReleaseOrigin | null> {
  const rows = await tx.$queryRaw<ReleaseOrigin[]>`
    SELECT v.spec, l.image, l."resolvedImage" FROM "Release" l
    JOIN "Revision" v ON v."resourceId" = l."resourceId" AND v.generation = l.generation
    WHERE l."resourceId" = ${resourceId} AND l.number = ${number}::int`
  return rows[0] ?? null
}
