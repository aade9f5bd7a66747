import { openDatabase, type Database } from '../../src/persistence/database.js'
import { lookThere, OrphanRepository } from '../../src/persistence/orphan.repository.js'
import { ResourceRepository } from '../../src/persistence/resource.repository.js'
import { PostgresPassStore } from '../../src/persistence/postgres-pass-store.js'
import { readSnapshot } from '../../src/persistence/snapshot.js'
import type { ApplicationDesired } from '../../src/reconcile/application/desired.js'
import { domainKey } from '../../src/reconcile/ingress/domain.js'
import { claimedBy, newDomain, type DesiredState, type NewResource, type StoredResource } from '../simulation/desired-state.js'
import type { AnyStore } from '../simulation/world.js'
import { createTestDatabase } from '../setup/test-database.js'

const dnsTtlSeconds = 5

/** A fresh database of the suite's PostgreSQL, with what people do to it. */
export async function openPostgresStore(): Promise<{ store: AnyStore; close(): Promise<void> }> {
  const database = await createTestDatabase()
  const db = openDatabase(database.url)
  return {
    store: new PostgresStore(db),
    close: async () => {
      await db.$disconnect()
      await database.drop()
    },
  }
}

class PostgresStore extends PostgresPassStore implements DesiredState {
  constructor(private readonly database: Database) {
    super(database, { dnsTtlSeconds })
  }

  async addNode({ id, name, subnet }: { id: string; name: string; subnet: string }, now: number): Promise<void> {
    const projectId = await this.project('platform')
    await this.database.resource.create({
      data: { id, kind: 'node', projectId, name, spec: {}, createdAt: new Date(now), nodeStatus: { create: { subnet } } },
    })
  }

  async seen(nodeId: string, at: number): Promise<void> {
    await this.database.nodeStatus.update({ where: { resourceId: nodeId }, data: { lastSeenAt: new Date(at) } })
  }

  async create({ id, kind, project, name, spec }: NewResource, now: number): Promise<void> {
    const projectId = await this.project(project)
    await this.database.resource.create({ data: { id, kind, projectId, name, spec: spec as object, createdAt: new Date(now) } })
    await this.claimHosts({ id, kind, spec, before: null }, now)
  }

  async change(id: string, spec: unknown, now: number): Promise<void> {
    const row = await this.database.resource.findUnique({ where: { id } })
    if (!row) return
    await this.database.resource.updateMany({ where: { id }, data: { spec: spec as object, generation: { increment: 1 } } })
    await this.claimHosts({ id, kind: row.kind, spec, before: row.spec }, now)
  }

  private async claimHosts(
    { id, kind, spec, before }: { id: string; kind: string; spec: unknown; before: unknown },
    now: number,
  ): Promise<void> {
    const had = new Map(before === null ? [] : claimedBy(kind, before).map((d) => [domainKey(d), JSON.stringify(d)]))
    const claimed = claimedBy(kind, spec)
    if (claimed.length === 0 && had.size === 0) return
    const rows = claimed.map((d) => ({ domain: d, ...newDomain(d, id, now) }))
    const owned = await this.database.domain.findMany({ where: { resourceId: id } })
    for (const { host, path } of owned)
      if (!rows.some((r) => r.host === host && r.path === path)) await this.database.domain.delete({ where: { host_path: { host, path } } })
    for (const { host, path, domain } of rows) {
      const fresh = { resourceId: id, changedAt: new Date(now), routed: false, reason: 'Pending', message: '', toldAt: null }
      const mine = owned.some((o) => o.host === host && o.path === path)
      const same = had.get(domainKey(domain)) === JSON.stringify(domain)
      const update = mine ? (same ? {} : { changedAt: new Date(now), reason: 'Pending' }) : { ...fresh, certificateSeenAt: null, refusedAt: null }
      await this.database.domain.upsert({ where: { host_path: { host, path } }, create: { host, path, ...fresh }, update })
    }
    await this.database.resource.updateMany({ where: { kind: 'ingress' }, data: { nextPassDueAt: new Date(now) } })
  }

  async artifact(sha256: string): Promise<string | null> {
    const found = await this.database.artifact.findUnique({ where: { sha256 } })
    return found ? Buffer.from(found.content).toString('utf8') : null
  }

  async requestDeletion(id: string, now: number, removesVolumes = false): Promise<void> {
    await this.database.resource.updateMany({
      where: { id, OR: [{ deletionRequestedAt: null }, { removesVolumes: !removesVolumes }] },
      data: { deletionRequestedAt: new Date(now), removesVolumes, paused: false, generation: { increment: 1 } },
    })
    if ((await this.database.domain.count({ where: { resourceId: id } })) > 0)
      await this.database.resource.updateMany({ where: { kind: 'ingress' }, data: { nextPassDueAt: new Date(now) } })
  }

  async setPaused(id: string, paused: boolean): Promise<void> {
    await this.database.resource.updateMany({ where: { id }, data: { paused } })
  }

  async hold(id: string, key: string): Promise<void> {
    const row = await this.database.resource.findUnique({ where: { id }, select: { generation: true } })
    if (row)
      await this.database.actionHold.create({
        data: { resourceId: id, key, generation: row.generation, actor: 'test', createdAt: new Date() },
      })
  }

  async lookSoon(id: string, now: number): Promise<void> {
    await new ResourceRepository(this.database).lookSoon(id, new Date(now))
  }

  async read(id: string): Promise<StoredResource | null> {
    const snapshot = await readSnapshot(this.database, id, 'read', dnsTtlSeconds)
    const row = await this.database.resource.findUnique({ where: { id }, include: { transitions: { orderBy: { id: 'asc' } } } })
    if (!snapshot || !row) return null
    const events = await this.database.event.findMany({ where: { resourceId: id }, orderBy: { id: 'asc' } })
    const { releases = [], endpoints = [], domains = [] } = snapshot.desired as Partial<ApplicationDesired>
    const { generation, observedGeneration, passNumber, lastError, paused, spec } = row
    return {
      generation,
      observedGeneration,
      passNumber,
      lastError,
      paused,
      spec,
      nextPassDueAt: row.nextPassDueAt?.getTime() ?? null,
      lastPassAt: row.lastPassAt?.getTime() ?? null,
      deleting: row.deletionRequestedAt !== null,
      releases,
      endpoints,
      domains: domains.filter((d) => d.resource === id),
      failures: snapshot.failures,
      conditions: snapshot.conditions,
      transitions: row.transitions,
      events,
    }
  }

  foundOn(node: string, ids: string[], now: number): Promise<string[]> {
    return this.database.$transaction((tx) => lookThere(tx, node, ids, new Date(now)))
  }

  async buried(id: string): Promise<boolean> {
    return (
      (await this.database.tombstone.count({ where: { resourceId: id } })) > 0 &&
      (await this.database.resource.count({ where: { id } })) === 0
    )
  }

  async revive(late: { id: string; kind: string; node: string }, now: number): Promise<void> {
    const spec = late.kind === 'application' ? { image: 'gone', placement: { node: late.node } } : { hostPort: 1 }
    await new OrphanRepository(this.database).revive(
      { id: late.id, kind: late.kind as 'application' | 'nginxdemo' },
      spec,
      new Date(now),
    )
  }

  async addresses(nodeId: string): Promise<{ held: string[]; rested: string[] }> {
    const held = await this.database.endpoint.findMany({ where: { node: nodeId }, select: { address: true } })
    const rested = await this.database.releasedAddress.findMany({ where: { node: nodeId }, select: { address: true } })
    return { held: held.map((e) => e.address), rested: rested.map((r) => r.address) }
  }

  private async project(name: string): Promise<string> {
    const id = `proj_${name}`
    await this.database.project.upsert({ where: { name }, create: { id, name }, update: {} })
    return (await this.database.project.findUniqueOrThrow({ where: { name } })).id
  }
}
