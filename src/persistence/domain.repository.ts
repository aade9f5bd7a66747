import type { IngressSpec } from '../reconcile/ingress/spec.js'
import type { Database } from './database.js'
import { firstNodeName } from './first-node.js'
import { Prisma } from './generated/client.js'
import { pageOf, type Page, type PageRequest } from './page.js'

/** A claimed domain, and what ingress told of it last. */
export interface DomainRow {
  host: string
  path: string
  resourceId: string
  changedAt: Date
  routed: boolean
  reason: string
  message: string
  certificateIssuer: string | null
  certificateNotAfter: Date | null
  certificateError: string | null
  certificateSeenAt: Date | null
}

export interface DomainKey {
  host: string
  path: string
}

/** Where domains are served: what is the same for all of them. */
export interface Doors {
  instance: string
  /** Node of everything that names none. */
  home: string | null
  ingresses: { node: string | null; spec: IngressSpec }[]
}

const domainColumns = Prisma.raw(
  `d.host, d.path, d."resourceId", d."changedAt", d.routed, d.reason, d.message,
  d."certificateIssuer", d."certificateNotAfter", d."certificateError", d."certificateSeenAt"`,
)

/** What is claimed, to be read. Written with specs (domain-claims.ts) and by passes of ingresses (ingress-records.ts). */
export class DomainRepository {
  constructor(private readonly db: Database) {}

  /** Ascending by host and path. */
  ofMany(resourceIds: readonly string[]): Promise<DomainRow[]> {
    return this.db.$queryRaw<DomainRow[]>`
      SELECT ${domainColumns} FROM "Domain" d WHERE d."resourceId" = ANY(${[...resourceIds]}::text[]) ORDER BY d.host, d.path`
  }

  /** Ascending by host and path. */
  async list(projectId: string | null, { first, after }: PageRequest<DomainKey>): Promise<Page<DomainRow>> {
    const rows = await this.db.$queryRaw<DomainRow[]>`
      SELECT ${domainColumns} FROM "Domain" d JOIN "Resource" r ON r.id = d."resourceId"
      WHERE (${projectId}::text IS NULL OR r."projectId" = ${projectId})
        AND (${after?.host ?? null}::text IS NULL OR (d.host, d.path) > (${after?.host ?? null}::text, ${after?.path ?? null}::text))
      ORDER BY d.host, d.path LIMIT ${first + 1}`
    return pageOf(rows, first)
  }

  async doors(): Promise<Doors> {
    const [row] = await this.db.$queryRaw<Doors[]>`
      SELECT coalesce((SELECT value #>> '{}' FROM "Setting" WHERE key = 'instance'), '') AS instance,
        ${firstNodeName} AS home,
        coalesce((SELECT jsonb_agg(jsonb_build_object('node', spec ->> 'node', 'spec', spec) ORDER BY id) FROM "Resource"
          WHERE kind = 'ingress' AND "deletionRequestedAt" IS NULL), '[]') AS ingresses`
    return row ?? { instance: '', home: null, ingresses: [] }
  }
}
