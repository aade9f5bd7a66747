import type { ApplicationSpec } from '../reconcile/application/spec.js'
import { canonicalJson } from '../reconcile/hash.js'
import { domainKey, type Domain } from '../reconcile/ingress/domain.js'
import type { NginxdemoSpec } from '../reconcile/nginxdemo/spec.js'
import type { Holder } from './application-claims.js'
import type { Transaction } from './database.js'
import { Prisma } from './generated/client.js'
import type { DueResource } from './pass-store.js'

/** A host, or a part of one, that somebody else has. */
export interface TakenDomain {
  /** Where in the spec. */
  path: string[]
  domain: { host: string; path: string }
  holder: Holder
}

/** What a write does to domains: `due` are the ingresses to nudge after its commit. */
export interface DomainClaim {
  taken: TakenDomain[]
  due: DueResource[]
}

interface WantedDomain {
  host: string
  path: string
  /** Where in the spec its host stands. */
  field: string[]
  /** All that is said of it: compared as text. */
  text: string
}

interface Claimant {
  id: string
  kind: string
}

/** Domains of a spec, by host and path. */
function wantedBy(kind: string, spec: unknown): Map<string, WantedDomain> {
  if (spec === null) return new Map()
  if (kind === 'application') return byKey((spec as ApplicationSpec).domains ?? [], (index) => ['domains', String(index), 'host'])
  const host = kind === 'nginxdemo' ? (spec as NginxdemoSpec).host : undefined
  return byKey(host === undefined ? [] : [{ host }], () => ['host'])
}

function byKey(domains: Domain[], fieldOf: (index: number) => string[]): Map<string, WantedDomain> {
  return new Map(
    domains.map((domain, index) => {
      const { host, path = '/' } = domain
      return [domainKey(domain), { host, path, field: fieldOf(index), text: canonicalJson(domain) }]
    }),
  )
}

export function claimsDomains(kind: string, spec: unknown): boolean {
  return wantedBy(kind, spec).size > 0
}

/**
 * Makes the claims of a resource those of its new spec, and ingresses due when what they render of it has changed. A spec
 * that is null has none: it did not exist yet, or is being deleted.
 *
 * Locks are taken in one order: the resource's own row, each ingress by id, domains by host and path without case. A pass of an ingress
 * holds its row before it writes what it found out of domains, so neither ever waits for the other in a circle.
 */
export async function claimDomains(
  tx: Transaction,
  claimant: Claimant,
  before: unknown,
  after: unknown,
  now: Date,
): Promise<DomainClaim> {
  const old = wantedBy(claimant.kind, before)
  const wanted = wantedBy(claimant.kind, after)
  const gone = [...old.values()].filter((d) => !wanted.has(domainKey(d)))
  const fresh = [...wanted.values()].filter((d) => !old.has(domainKey(d)))
  const changed = [...wanted.values()].filter((d) => old.has(domainKey(d)) && old.get(domainKey(d))?.text !== d.text)
  const touched = gone.length + fresh.length + changed.length > 0
  if (!touched && (wanted.size === 0 || !rendersOtherwise(claimant.kind, before, after))) return { taken: [], due: [] }
  const due = await makeIngressesDue(tx, now)
  if (!touched) return { taken: [], due }
  await lockDomains(tx, [...gone, ...fresh, ...changed])
  await release(tx, claimant, gone)
  await mark(tx, claimant, changed, now)
  // Also what it said before, whose claim may be lost.
  const taken = await insert(tx, claimant, [...fresh, ...changed], now)
  return { taken, due }
}

/** Whether an ingress renders something else of it although no domain says anything new: see `targetOf` of the snapshot. */
function rendersOtherwise(kind: string, before: unknown, after: unknown): boolean {
  const fields = kind === 'application' ? ['ports', 'placement'] : ['hostPort']
  const of = (spec: unknown, field: string) => canonicalJson((spec as Record<string, unknown> | null)?.[field] ?? null)
  return fields.some((field) => of(before, field) !== of(after, field))
}

/** Every ingress looks again, whatever its node is: which of them serves a domain is not for the one who writes it to know. */
export function makeIngressesDue(tx: Transaction, now: Date): Promise<DueResource[]> {
  return tx.$queryRaw<DueResource[]>`
    UPDATE "Resource" r SET "nextPassDueAt" = ${now} FROM "Project" p
    WHERE p.id = r."projectId" AND r.id IN (
      SELECT id FROM "Resource" WHERE kind = 'ingress' AND NOT paused ORDER BY id FOR UPDATE)
    RETURNING r.id, r.kind, p.name AS project, r.name`
}

/** The same, when the resource has domains: what was written of it decides which ingresses serve them. */
export async function makeIngressesOfDue(tx: Transaction, resourceId: string, now: Date): Promise<void> {
  if ((await tx.domain.count({ where: { resourceId } })) > 0) await makeIngressesDue(tx, now)
}

/** Domains as a table of a statement. */
function listed(domains: readonly WantedDomain[]): Prisma.Sql {
  return Prisma.sql`unnest(${domains.map((d) => d.host)}::text[], ${domains.map((d) => d.path)}::text[]) AS w(host, path)`
}

/** As `domainKey` says it, and the table's unique index. */
const same = Prisma.sql`d.host = w.host AND lower(d.path) = lower(w.path)`

async function lockDomains(tx: Transaction, domains: readonly WantedDomain[]): Promise<void> {
  await tx.$queryRaw`
    SELECT d.host FROM "Domain" d JOIN ${listed(domains)} ON ${same} ORDER BY d.host, lower(d.path) FOR UPDATE OF d`
}

async function release(tx: Transaction, { id }: Claimant, domains: readonly WantedDomain[]): Promise<void> {
  if (domains.length === 0) return
  await tx.$executeRaw`
    DELETE FROM "Domain" d USING ${listed(domains)} WHERE ${same} AND d."resourceId" = ${id}`
}

/** What ingress told of it stays: the old configuration serves it until the new one does. */
async function mark(tx: Transaction, { id }: Claimant, domains: readonly WantedDomain[], now: Date): Promise<void> {
  if (domains.length === 0) return
  await tx.$executeRaw`
    UPDATE "Domain" d SET path = w.path, "changedAt" = ${now} FROM ${listed(domains)}
    WHERE ${same} AND d."resourceId" = ${id}`
}

/** Waits for a writer who is just claiming or giving back the same one, and then sees what came of it. */
async function insert(tx: Transaction, { id }: Claimant, domains: readonly WantedDomain[], now: Date): Promise<TakenDomain[]> {
  if (domains.length === 0) return []
  await tx.$executeRaw`
    INSERT INTO "Domain" (host, path, "resourceId", "changedAt")
    SELECT host, path, ${id}, ${now} FROM ${listed(domains)} ORDER BY host, lower(path)
    ON CONFLICT DO NOTHING`
  const held = await tx.$queryRaw<(Holder & { host: string; path: string })[]>`
    SELECT d.host, d.path, r.kind, r.id, r.name, p.name AS project
    FROM "Domain" d JOIN ${listed(domains)} ON ${same} JOIN "Resource" r ON r.id = d."resourceId"
      JOIN "Project" p ON p.id = r."projectId"
    WHERE d."resourceId" <> ${id}`
  const holders = new Map(held.map((h) => [domainKey(h), h]))
  return domains.flatMap((domain) => {
    const holder = holders.get(domainKey(domain))
    if (!holder) return []
    const { host, path, ...who } = holder
    return [{ path: domain.field, domain: { host, path }, holder: who }]
  })
}
