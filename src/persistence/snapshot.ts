import type { ApplicationDesired, Dependency, Endpoint, EndpointState, Release } from '../reconcile/application/desired.js'
import type { ApplicationSpec, ReleaseTemplate } from '../reconcile/application/spec.js'
import type { Failure } from '../reconcile/backoff.js'
import type { Condition, ConditionStatus } from '../reconcile/condition.js'
import type { ResourceView } from '../reconcile/controller.js'
import type { DomainState, IngressDesired } from '../reconcile/ingress/desired.js'
import type { IngressSpec, IngressTarget } from '../reconcile/ingress/spec.js'
import type { Decision } from '../reconcile/loop.js'
import type { NginxdemoDesired, NginxdemoSpec } from '../reconcile/nginxdemo/spec.js'
import type { Database, Transaction } from './database.js'
import { joinedFirst, livingNodes } from './first-node.js'
import type { NodeState } from './pass-store.js'

/** Everything that one pass needs of one resource, read by one statement: passes are what an idle fleet costs. */
export interface Snapshot {
  resource: ResourceView
  desired: unknown
  pass: number
  decision: Decision | null
  decisionPass: number
  paused: boolean
  failures: Failure[]
  holds: Set<string>
  conditions: Condition[]
  nodes: NodeState[]
  told: ToldDomain[]
}

/** News of a domain that its owner has not looked at, as this snapshot sees it. */
export interface ToldDomain {
  host: string
  path: string
  /** As the database writes it: it is compared as it is. */
  toldAt: string
}

interface Row {
  id: string
  kind: string
  projectId: string
  project: string
  name: string
  spec: unknown
  publishedOn: string[]
  volumesOn: string[]
  removesVolumes: boolean
  generation: number
  passNumber: number
  decision: Decision | null
  decisionPass: number
  paused: boolean
  deleting: boolean
  releases: ReleaseRow[]
  endpoints: EndpointRow[]
  failures: Failure[]
  holds: string[]
  conditions: (Omit<Condition, 'status'> & { status: ConditionStatus })[]
  nodes: NodeState[]
  projectEnv: { name: string; value: string }[]
  secretVersions: Record<string, number>
  dependencies: Dependency[]
  domains: DomainState[]
  told: ToldDomain[]
  targets: TargetRow[]
}

/** Something with domains, as its own row says it. */
interface TargetRow {
  resource: string
  kind: string
  title: string
  spec: ApplicationSpec | NginxdemoSpec
  publishedOn: string[]
  secretVersions: Record<string, number>
}

type ReleaseRow = Omit<Release, 'verdict' | 'template'> & {
  template: ReleaseTemplate
  verdictReason: string | null
  verdictMessage: string | null
}
type EndpointRow = Omit<Endpoint, 'state'> & { state: EndpointState }

/** How many of the newest releases a pass looks at, beside those that still have replicas and the one that served last. */
const releasesRead = 10

/**
 * `claim`: takes the next pass number in the same statement. `lock`: holds the row to the end of the transaction.
 * The two differ only in how the row is reached, so the rest of the statement is one text.
 */
export async function readSnapshot(
  db: Database | Transaction,
  id: string,
  how: 'claim' | 'lock' | 'read',
  dnsTtlSeconds: number,
): Promise<Snapshot | null> {
  const reach = {
    claim: `UPDATE "Resource" SET "passNumber" = "passNumber" + 1 WHERE id = $1 RETURNING *`,
    lock: `SELECT * FROM "Resource" WHERE id = $1 FOR UPDATE`,
    read: `SELECT * FROM "Resource" WHERE id = $1`,
  }[how]
  const rows = await db.$queryRawUnsafe<Row[]>(`WITH r AS (${reach}) ${snapshotText}`, id)
  const [row] = rows
  return row ? toSnapshot(row, dnsTtlSeconds) : null
}

/** A snapshot of an application that nobody has created yet, as if its row stood there. */
export async function readDraft(
  db: Database | Transaction,
  draft: { projectId: string; name: string; spec: unknown },
  dnsTtlSeconds: number,
): Promise<Snapshot | null> {
  const row = `SELECT $1::text AS id, 'application'::text AS kind, $2::text AS "projectId", $3::text AS name, $4::jsonb AS spec,
    '{}'::text[] AS "publishedOn", '{}'::text[] AS "volumesOn", false AS "removesVolumes", 1 AS generation, 0 AS "passNumber", NULL::jsonb AS decision, 0 AS "decisionPass", false AS paused,
    NULL::timestamptz AS "deletionRequestedAt"`
  const values = ['app_preview', draft.projectId, draft.name, JSON.stringify(draft.spec)]
  const rows = await db.$queryRawUnsafe<Row[]>(`WITH r AS (${row}) ${snapshotText}`, ...values)
  return rows[0] ? toSnapshot(rows[0], dnsTtlSeconds) : null
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

const snapshotText = `
SELECT r.id, r.kind, r."projectId", p.name AS project, r.name, r.spec, r."publishedOn", r."volumesOn", r."removesVolumes", r.generation, r."passNumber",
  r.decision, r."decisionPass", r.paused, r."deletionRequestedAt" IS NOT NULL AS deleting,
  coalesce((SELECT json_agg(x ORDER BY x.number) FROM (
    SELECT number, generation, hash, "templateHash", template, "resolvedImage", "resolvedFrom",
      "verdictReason", "verdictMessage", "verdictLog", ${ms('"servingAt"')} AS "servingAt", ${ms('"preDeployedAt"')} AS "preDeployedAt"
    FROM "Release" l WHERE "resourceId" = r.id AND (
      number > (SELECT max(number) FROM "Release" WHERE "resourceId" = r.id) - ${releasesRead}
      OR number = (SELECT max(number) FROM "Release" WHERE "resourceId" = r.id AND "servingAt" IS NOT NULL AND "verdictReason" IS NULL)
      OR EXISTS (SELECT 1 FROM "Endpoint" e WHERE e."resourceId" = r.id AND e.release = l.number))) x), '[]') AS releases,
  coalesce((SELECT json_agg(x ORDER BY x.release, x.replica) FROM (
    SELECT release, replica, node, address, state,
      ${ms('"stateAt"')} AS "stateAt", ${ms('"readyAt"')} AS "readyAt", ${ms('"unroutedAt"')} AS "unroutedAt"
    FROM "Endpoint" WHERE "resourceId" = r.id) x), '[]') AS endpoints,
  coalesce((SELECT json_agg(x ORDER BY x.key) FROM (
    SELECT key, generation, count, reason, message, retryable, ${ms('"nextTryAt"')} AS "nextTryAt"
    FROM "ActionFailure" WHERE "resourceId" = r.id) x), '[]') AS failures,
  coalesce((SELECT json_agg(key ORDER BY key) FROM "ActionHold" h WHERE h."resourceId" = r.id AND h.generation = r.generation), '[]') AS holds,
  coalesce((SELECT json_agg(x ORDER BY x.type) FROM (
    SELECT type, status, reason, message, "observedGeneration", ${ms('"lastTransitionAt"')} AS "lastTransitionAt"
    FROM "Condition" WHERE "resourceId" = r.id) x), '[]') AS conditions,
  coalesce((SELECT json_agg(json_build_object('id', n.id, 'name', n.name, 'lastSeenAt', ${ms('s."lastSeenAt"')}) ${joinedFirst})
    ${livingNodes}), '[]') AS nodes,
  coalesce((SELECT json_agg(x ORDER BY x.name) FROM (
    SELECT name, value FROM "ProjectEnv" e WHERE e."projectId" = r."projectId" AND r.kind = 'application') x), '[]') AS "projectEnv",
  coalesce((SELECT json_object_agg(s.name, (SELECT max(v.version) FROM "SecretVersion" v WHERE v."secretId" = s.id))
    FROM "Secret" s WHERE s."projectId" = r."projectId" AND r.kind = 'application'), '{}') AS "secretVersions",
  coalesce((SELECT json_agg(x) FROM (
    SELECT d.name, json_build_object('status', coalesce(c.status, 'Unknown'), 'reason', coalesce(c.reason, ''),
      'message', coalesce(c.message, ''), 'current', coalesce(c."observedGeneration" = d.generation, false)) AS ready
    FROM "Resource" d LEFT JOIN "Condition" c ON c."resourceId" = d.id AND c.type = 'Ready'
    WHERE d."projectId" = r."projectId" AND d.kind = 'application' AND d.name IN (
      SELECT jsonb_array_elements_text(r.spec -> 'dependsOn'))) x), '[]') AS dependencies,
  coalesce((SELECT json_agg(x ORDER BY x.host, x.path) FROM (
    SELECT host, path, "resourceId" AS resource, ${ms('"changedAt"')} AS "changedAt", routed, reason, message,
      CASE WHEN "certificateSeenAt" IS NOT NULL THEN json_build_object('issuer', "certificateIssuer",
        'notAfter', ${ms('"certificateNotAfter"')}, 'error', "certificateError", 'seenAt', ${ms('"certificateSeenAt"')}) END AS certificate,
      CASE WHEN "refusedAt" IS NOT NULL THEN json_build_object('message', "refusedMessage", 'part', "refusedPart",
        'at', ${ms('"refusedAt"')}) END AS refusal
    FROM "Domain" WHERE r.kind = 'ingress' OR "resourceId" = r.id) x), '[]') AS domains,
  coalesce((SELECT json_agg(x) FROM (
    SELECT host, path, "toldAt"::text AS "toldAt" FROM "Domain" WHERE "resourceId" = r.id AND "toldAt" IS NOT NULL) x), '[]') AS told,
  coalesce((SELECT json_agg(x ORDER BY x.resource) FROM (
    SELECT t.id AS resource, t.kind, q.name || '/' || t.name AS title, t.spec, t."publishedOn",
      coalesce((SELECT json_object_agg(s.name, (SELECT max(v.version) FROM "SecretVersion" v WHERE v."secretId" = s.id))
        FROM "Secret" s WHERE s."projectId" = t."projectId" AND s.name IN (
          SELECT d ->> 'certificate' FROM jsonb_array_elements(t.spec -> 'domains') d)), '{}') AS "secretVersions"
    FROM "Resource" t JOIN "Project" q ON q.id = t."projectId"
    WHERE r.kind = 'ingress' AND t."deletionRequestedAt" IS NULL
      AND EXISTS (SELECT 1 FROM "Domain" d WHERE d."resourceId" = t.id)) x), '[]') AS targets
FROM r JOIN "Project" p ON p.id = r."projectId"`

function toSnapshot(row: Row, dnsTtlSeconds: number): Snapshot {
  return {
    resource: {
      id: row.id,
      kind: row.kind,
      projectId: row.projectId,
      project: row.project,
      name: row.name,
      generation: row.generation,
      deleting: row.deleting,
    },
    desired: desiredOf(row, dnsTtlSeconds),
    pass: row.passNumber,
    decision: row.decision,
    decisionPass: row.decisionPass,
    paused: row.paused,
    failures: row.failures,
    holds: new Set(row.holds),
    conditions: row.conditions,
    nodes: row.nodes,
    told: row.told,
  }
}

function desiredOf(row: Row, dnsTtlSeconds: number): unknown {
  switch (row.kind) {
    case 'application': {
      const spec = row.spec as ApplicationSpec
      const desired: ApplicationDesired = {
        spec,
        context: { projectEnv: row.projectEnv, secretVersions: row.secretVersions },
        dependencies: (spec.dependsOn ?? []).map((name) => row.dependencies.find((d) => d.name === name) ?? { name, ready: null }),
        node: placedOn(row.nodes, spec.placement?.node),
        releases: row.releases.map(({ verdictReason, verdictMessage, ...release }) => ({
          ...release,
          verdict: verdictReason === null ? null : { reason: verdictReason, message: verdictMessage ?? '' },
        })),
        endpoints: row.endpoints,
        domains: row.domains,
        publishedOn: row.publishedOn.toSorted(),
        volumesOn: row.volumesOn.toSorted(),
        removesVolumes: row.removesVolumes,
        dnsTtlSeconds,
        addressesExhausted: false,
      }
      return desired
    }
    case 'ingress': {
      const spec = row.spec as IngressSpec
      const node = placedOn(row.nodes, spec.node)
      const targets = row.targets.filter((t) => isServedOn(t, node, row.nodes)).map(targetOf)
      const served = new Set(targets.map((t) => t.resource))
      const desired: IngressDesired = { spec, node, targets, domains: row.domains.filter((d) => served.has(d.resource)), stored: null }
      return desired
    }
    case 'nginxdemo': {
      const desired: NginxdemoDesired = { spec: row.spec as NginxdemoSpec, node: placedOn(row.nodes, undefined) }
      return desired
    }
    default:
      return null
  }
}

/** Its replicas are or may be on the node, or are to be: an ingress reaches those of its own node. */
function isServedOn({ kind, spec, publishedOn }: TargetRow, node: string, nodes: NodeState[]): boolean {
  const placement = kind === 'application' ? (spec as ApplicationSpec).placement?.node : undefined
  return placedOn(nodes, placement) === node || publishedOn.includes(node)
}

function targetOf({ resource, kind, title, spec, secretVersions }: TargetRow): IngressTarget {
  if (kind === 'nginxdemo') {
    const { host, hostPort } = spec as NginxdemoSpec
    const domains = host === undefined ? [] : [{ host, tls: 'off' as const }]
    return { resource, title, domains, ports: [hostPort], dial: `127.0.0.1:${hostPort}`, secretVersions }
  }
  const { domains, ports } = spec as ApplicationSpec
  return { resource, title, domains: domains ?? [], ports: ports ?? [], dial: null, secretVersions }
}

/** The node that is named, else the one that joined first; '' while there is none. */
export function placedOn(nodes: NodeState[], name: string | undefined): string {
  const node = name === undefined ? nodes[0] : nodes.find((n) => n.name === name)
  return node?.id ?? ''
}
