import { ingressHostPorts, type IngressSpec } from '../reconcile/ingress/spec.js'
import { hostPortsOverlap, type ApplicationSpec, type HostPort } from '../reconcile/application/spec.js'
import { canonicalJson } from '../reconcile/hash.js'
import type { Transaction } from './database.js'
import { firstNodeName } from './first-node.js'

/** An application as a write would leave it, and as it was. */
export interface Claimant {
  /** null = it does not exist yet. */
  id: string | null
  projectId: string
  name: string
  before: ApplicationSpec | null
  spec: ApplicationSpec
}

/** What a write would collide with. `index` is the place in the list of the spec. */
export type ClaimConflict =
  | { type: 'nodeMissing'; node: string }
  | ({ type: 'hostPort' } & HeldHostPort)
  | { type: 'dependencyMissing'; index: number; name: string; deleting: boolean }
  | { type: 'dependencyCycle'; index: number; cycle: string[] }

export interface Holder {
  kind: string
  id: string
  name: string
  project: string
}

/** Whether anything beyond the application's own row decides about this spec. */
export function claimsAnything({ placement, publishedPorts, dependsOn }: ApplicationSpec): boolean {
  return Boolean(placement || publishedPorts?.length || dependsOn?.length)
}

/**
 * Looks only at what the write changes: what was true when it was said may have become wrong since, and must not keep
 * back a change of something else.
 *
 * Claims are looked at under advisory locks, held to the end of the transaction, and not kept in a table with a unique
 * key: «0.0.0.0 overlaps every address» and «no cycle» are no equalities, and a second copy of what the specs say could
 * disagree with them. Writes that claim nothing take no lock.
 */
export async function claimConflicts(tx: Transaction, claimant: Claimant): Promise<ClaimConflict[]> {
  return [
    ...(await nodeConflicts(tx, claimant)),
    ...(await hostPortConflicts(tx, claimant)),
    ...(await dependencyConflicts(tx, claimant)),
  ]
}

async function nodeConflicts(tx: Transaction, { before, spec }: Claimant): Promise<ClaimConflict[]> {
  const node = spec.placement?.node
  if (node === undefined || node === before?.placement?.node) return []
  return (await tx.resource.count({ where: { kind: 'node', name: node } })) > 0 ? [] : [{ type: 'nodeMissing', node }]
}

async function hostPortConflicts(tx: Transaction, { id, before, spec }: Claimant): Promise<ClaimConflict[]> {
  if (!changed(before, spec, ['publishedPorts', 'placement'])) return []
  const found = await heldHostPorts(tx, { id, node: spec.placement?.node, ports: spec.publishedPorts ?? [] })
  return found.map((held) => ({ type: 'hostPort', ...held }))
}

export interface HeldHostPort {
  index: number
  port: HostPort
  node: string
  holder: Holder
}

/** Which of these ports something else has or wants on the node. `node` undefined = the one that joined first. */
export async function heldHostPorts(
  tx: Transaction,
  wanted: { id: string | null; node: string | undefined; ports: HostPort[] },
): Promise<HeldHostPort[]> {
  if (wanted.ports.length === 0) return []
  await lockHostPorts(tx)
  const home = await firstNode(tx)
  const node = wanted.node ?? home
  const held = (await holders(tx, wanted.id, wanted.ports)).filter((h) => (h.node ?? home) === node)
  return wanted.ports.flatMap((port, index) => {
    const holder = held.find((h) => h.ports.some((p) => hostPortsOverlap(p, port)))
    return holder ? [{ index, port, node, holder }] : []
  })
}

/** Who changes an ingress does this first: others hold it already when they make ingresses due. */
export function lockHostPorts(tx: Transaction): Promise<void> {
  return lockUntilCommit(tx, 'host-ports')
}

/** The ingress that a node has, or is to have; `node` undefined = the one that joined first. Wants `lockHostPorts`. */
export async function ingressOf(
  tx: Transaction,
  id: string | null,
  node: string | undefined,
): Promise<(Holder & { node: string }) | null> {
  const home = await firstNode(tx)
  const rows = await tx.$queryRaw<(Holder & { node: string })[]>`
    SELECT r.kind, r.id, r.name, p.name AS project, coalesce(r.spec ->> 'node', ${home}) AS node
    FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
    WHERE r.kind = 'ingress' AND r.id IS DISTINCT FROM ${id}::text AND coalesce(r.spec ->> 'node', ${home}) = ${node ?? home}
    ORDER BY r.id LIMIT 1`
  return rows[0] ?? null
}

/** Everything that says it has one of these ports, on whatever node and address. */
async function holders(tx: Transaction, id: string | null, wanted: HostPort[]) {
  const numbers = wanted.map((p) => p.hostPort)
  const rows = await tx.$queryRaw<(Holder & { node: string | null; spec: unknown; ports: HostPort[] })[]>`
    SELECT r.kind, r.id, r.name, p.name AS project,
      CASE r.kind WHEN 'ingress' THEN r.spec ->> 'node' ELSE r.spec -> 'placement' ->> 'node' END AS node,
      CASE r.kind WHEN 'ingress' THEN r.spec END AS spec,
      CASE r.kind WHEN 'application' THEN r.spec -> 'publishedPorts' WHEN 'ingress' THEN '[]'::jsonb
        ELSE jsonb_build_array(jsonb_build_object('hostPort', r.spec -> 'hostPort')) END AS ports
    FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
    WHERE r.id IS DISTINCT FROM ${id}::text AND (
      r.kind = 'ingress' OR (r.kind = 'nginxdemo' AND (r.spec ->> 'hostPort')::int = ANY(${numbers}::int[]))
      OR (r.kind = 'application' AND EXISTS (
        SELECT 1 FROM jsonb_array_elements(r.spec -> 'publishedPorts') e WHERE (e ->> 'hostPort')::int = ANY(${numbers}::int[]))))
    ORDER BY r.id`
  return rows.map(({ spec, ...row }) => (row.kind === 'ingress' ? { ...row, ports: ingressHostPorts(spec as IngressSpec) } : row))
}

/** Name of the node on which everything lives that names none. */
async function firstNode(tx: Transaction): Promise<string> {
  const rows = await tx.$queryRaw<{ name: string | null }[]>`SELECT ${firstNodeName} AS name`
  return rows[0]?.name ?? ''
}

interface Application {
  name: string
  dependsOn: string[]
  deleting: boolean
}

async function dependencyConflicts(tx: Transaction, claimant: Claimant): Promise<ClaimConflict[]> {
  const { projectId, name, before, spec } = claimant
  const wanted = spec.dependsOn ?? []
  if (wanted.length === 0 || !changed(before, spec, ['dependsOn'])) return []
  await lockDependencies(tx, projectId)
  const rows = await tx.$queryRaw<Application[]>`
    SELECT name, coalesce(spec -> 'dependsOn', '[]') AS "dependsOn", "deletionRequestedAt" IS NOT NULL AS deleting
    FROM "Resource" WHERE "projectId" = ${projectId} AND kind = 'application'`
  const graph = new Map(rows.map((r) => [r.name, r]))
  return wanted.flatMap((dependency, index): ClaimConflict[] => {
    if (dependency === name) return [{ type: 'dependencyCycle', index, cycle: [name, name] }]
    const known = graph.get(dependency)
    if (!known || known.deleting) return [{ type: 'dependencyMissing', index, name: dependency, deleting: known !== undefined }]
    const way = wayBetween(graph, dependency, name)
    return way ? [{ type: 'dependencyCycle', index, cycle: [name, ...way] }] : []
  })
}

/**
 * Applications that name this one in `dependsOn` and are to stay. Under the lock of those who write `dependsOn`: whoever is
 * about to name it is waited for, and whoever comes later finds it being deleted.
 */
export async function dependantsOf(
  tx: Transaction,
  { projectId, name }: { projectId: string; name: string },
): Promise<{ id: string; name: string }[]> {
  await lockDependencies(tx, projectId)
  return tx.$queryRaw`
    SELECT id, name FROM "Resource"
    WHERE "projectId" = ${projectId} AND kind = 'application' AND "deletionRequestedAt" IS NULL
      AND spec -> 'dependsOn' @> to_jsonb(${name}::text)
    ORDER BY name`
}

function lockDependencies(tx: Transaction, projectId: string): Promise<void> {
  return lockUntilCommit(tx, `depends-on ${projectId}`)
}

/** The shortest way along dependsOn, both ends included; null = there is none. */
function wayBetween(graph: ReadonlyMap<string, Application>, from: string, to: string): string[] | null {
  const cameFrom = new Map<string, string | null>([[from, null]])
  for (const name of cameFrom.keys()) {
    if (name === to) return backFrom(cameFrom, to)
    for (const next of graph.get(name)?.dependsOn ?? []) if (!cameFrom.has(next)) cameFrom.set(next, name)
  }
  return null
}

function backFrom(cameFrom: ReadonlyMap<string, string | null>, end: string): string[] {
  const way: string[] = []
  for (let at: string | null = end; at !== null; at = cameFrom.get(at) ?? null) way.unshift(at)
  return way
}

function changed(before: ApplicationSpec | null, spec: ApplicationSpec, fields: (keyof ApplicationSpec)[]): boolean {
  return before === null || fields.some((field) => canonicalJson(before[field] ?? null) !== canonicalJson(spec[field] ?? null))
}

/** Every claim of the same name waits here until this transaction has ended, and then sees what it wrote. */
async function lockUntilCommit(tx: Transaction, claim: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${claim}, 0))`
}
