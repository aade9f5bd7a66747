import type { Database } from './database.js'
import { announce } from './announce.js'
import { platformProject } from './project.repository.js'
import { createResource } from './resource.repository.js'
import { firstFreeSubnet, liesInPool } from './subnet.js'
import { refuse, transact } from './write.js'

/** What an agent tells of its node when it connects. */
export interface NodeFacts {
  protocolVersion: number
  agentVersion: string
  architecture: string
  engineVersion: string | null
  cpuCount: number
  memoryBytes: number
  /** CIDRs that the node's own network must not overlap. */
  hostRoutes: readonly string[]
  /** The network that the node's bridge has already, when the agent found one. */
  currentSubnet: string | null
  conditions: readonly ReportedCondition[]
}

export interface NodeBeat {
  diskTotalBytes: number
  diskFreeBytes: number
  clockOffsetMs: number | null
  conditions: readonly ReportedCondition[]
}

export interface ReportedCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
}

export interface NodeStatusRow {
  resourceId: string
  subnet: string | null
  lastSeenAt: Date | null
  protocolVersion: number | null
  agentVersion: string | null
  architecture: string | null
  engineVersion: string | null
  cpuCount: number | null
  memoryBytes: bigint | null
  diskTotalBytes: bigint | null
  diskFreeBytes: bigint | null
  clockOffsetMs: number | null
  reported: ReportedCondition[]
}

export type HelloResult =
  | { outcome: 'welcome'; subnet: string }
  | { outcome: 'unknownNode' }
  /** No /20 of the pool is free of the host's routes and of other nodes. */
  | { outcome: 'poolExhausted' }

const statusColumns = {
  resourceId: true,
  subnet: true,
  lastSeenAt: true,
  protocolVersion: true,
  agentVersion: true,
  architecture: true,
  engineVersion: true,
  cpuCount: true,
  memoryBytes: true,
  diskTotalBytes: true,
  diskFreeBytes: true,
  clockOffsetMs: true,
  reported: true,
} as const

export class NodeRepository {
  constructor(private readonly db: Database) {}

  async statusOfMany(ids: readonly string[]): Promise<NodeStatusRow[]> {
    const rows = await this.db.nodeStatus.findMany({ where: { resourceId: { in: [...ids] } }, select: statusColumns })
    return rows.map((row) => ({ ...row, reported: (row.reported as ReportedCondition[] | null) ?? [] }))
  }

  /** The node that a channel token belongs to; null for an unknown token and for a node that is being removed. */
  async findByChannelToken(hash: string): Promise<{ id: string; name: string } | null> {
    return this.db.resource.findFirst({
      where: { kind: 'node', deletionRequestedAt: null, nodeStatus: { channelTokenHash: hash } },
      select: { id: true, name: true },
    })
  }

  /** Writes what an agent told, and gives the node its network the first time: never renumbered after that. */
  hello(id: string, facts: NodeFacts, pool: string, now: Date): Promise<HelloResult> {
    return transact<HelloResult>(this.db, async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('evenkeel:subnets'))`
      const row = await tx.nodeStatus.findUnique({ where: { resourceId: id }, select: { subnet: true } })
      if (!row) return { outcome: 'unknownNode' }
      const { hostRoutes, currentSubnet, memoryBytes, conditions, ...told } = facts
      const subnet = row.subnet ?? (await this.freeSubnet(tx, pool, hostRoutes, currentSubnet))
      await tx.nodeStatus.update({
        where: { resourceId: id },
        data: {
          ...told,
          memoryBytes: BigInt(Math.round(memoryBytes)),
          reported: conditions.map((condition) => ({ ...condition })),
          lastSeenAt: now,
          ...(subnet ? { subnet } : {}),
        },
        select: { resourceId: true },
      })
      await announce(tx, id)
      return subnet ? { outcome: 'welcome', subnet } : { outcome: 'poolExhausted' }
    })
  }

  /** By the control plane's clock alone. Announced only when something other than numbers changed. */
  async heartbeat(id: string, beat: NodeBeat, now: Date): Promise<void> {
    const { diskTotalBytes, diskFreeBytes, clockOffsetMs, conditions } = beat
    const reported = JSON.stringify(conditions)
    await this.db.$queryRaw`
      WITH before AS (SELECT "resourceId", reported, "lastSeenAt" FROM "NodeStatus" WHERE "resourceId" = ${id} FOR UPDATE),
      written AS (
        UPDATE "NodeStatus" s SET "lastSeenAt" = ${now}, "diskTotalBytes" = ${BigInt(Math.round(diskTotalBytes))},
          "diskFreeBytes" = ${BigInt(Math.round(diskFreeBytes))}, "clockOffsetMs" = ${clockOffsetMs === null ? null : Math.round(clockOffsetMs)}::int,
          reported = ${reported}::jsonb
        FROM before WHERE s."resourceId" = before."resourceId"
        RETURNING s."resourceId", before.reported IS DISTINCT FROM s.reported AS changed
      )
      SELECT pg_notify('evenkeel_changes', "resourceId")::text FROM written WHERE changed`
  }

  /**
   * The row of the machine that this control plane runs on. It is found by the id that its agent's file names, else
   * by its name; else it is made, with that id when there is one, so that records which name the node go on being true.
   */
  ensureLocal(wanted: { id: string | null; name: string }, now: Date): Promise<{ id: string; name: string }> {
    return transact(this.db, async (tx) => {
      const nodes = await tx.resource.findMany({
        where: { kind: 'node', OR: [{ id: wanted.id ?? '' }, { projectId: platformProject.id, name: wanted.name }] },
        select: { id: true, name: true },
      })
      const known = nodes.find((n) => n.id === wanted.id) ?? nodes[0]
      const node = known ?? (await makeNode())
      await tx.nodeStatus.upsert({ where: { resourceId: node.id }, create: { resourceId: node.id }, update: {} })
      return { id: node.id, name: node.name }

      async function makeNode(): Promise<{ id: string; name: string }> {
        const taken = await tx.resource.findFirst({
          where: { projectId: platformProject.id, name: wanted.name },
          select: { id: true },
        })
        const draft = {
          kind: 'node',
          projectId: platformProject.id,
          name: taken ? `${wanted.name.slice(0, 58)}-node` : wanted.name,
          spec: {},
          ...(wanted.id === null ? {} : { id: wanted.id }),
        } as const
        const made = await createResource(tx, draft, { actor: 'up', ability: 'admin', operation: 'initialise', now })
        if (made.outcome !== 'created') refuse(made)
        return made.resource
      }
    })
  }

  async setChannelToken(id: string, hash: string): Promise<void> {
    await this.db.nodeStatus.updateMany({
      where: { resourceId: id, OR: [{ channelTokenHash: null }, { NOT: { channelTokenHash: hash } }] },
      data: { channelTokenHash: hash },
    })
  }

  /** Seconds since each node was seen, for metrics; null = never. */
  async ages(now: Date): Promise<{ id: string; name: string; ageSeconds: number | null }[]> {
    return this.db.$queryRaw`
      SELECT n.id, n.name, extract(epoch from ${now}::timestamptz - s."lastSeenAt")::float8 AS "ageSeconds"
      FROM "Resource" n JOIN "NodeStatus" s ON s."resourceId" = n.id WHERE n.kind = 'node'`
  }

  private async freeSubnet(
    tx: Pick<Database, 'nodeStatus'>,
    pool: string,
    hostRoutes: readonly string[],
    current: string | null,
  ): Promise<string | null> {
    const others = await tx.nodeStatus.findMany({ where: { subnet: { not: null } }, select: { subnet: true } })
    const taken = others.flatMap((o) => (o.subnet ? [o.subnet] : []))
    // After the loss of the database the node's network is still there: its containers keep their addresses.
    if (current && liesInPool(pool, current) && !taken.includes(current)) return current
    return firstFreeSubnet(pool, [...taken, ...hostRoutes])
  }
}
