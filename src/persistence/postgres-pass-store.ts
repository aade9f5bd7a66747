import type { ApplicationRecord } from '../reconcile/application/desired.js'
import type { ResourceView } from '../reconcile/controller.js'
import { controllerOf } from '../reconcile/controllers.js'
import type { IngressRecord } from '../reconcile/ingress/desired.js'
import { reconciledKinds } from '../reconcile/kind.js'
import type { Decision } from '../reconcile/loop.js'
import type { Database, Transaction } from './database.js'
import { Prisma } from './generated/client.js'
import { writeIngressRecord } from './ingress-records.js'
import { writeOutcome } from './pass-outcome.js'
import type { ClaimedPass, DueResource, OpenPass, PassStep, PassStore } from './pass-store.js'
import { writeApplicationRecord } from './records.js'
import { readDraft, readSnapshot, type Snapshot, type ToldDomain } from './snapshot.js'

const day = 86_400_000
/** Longer than any late attempt of a creation can live. */
const tombstoneDays = 30
const eventDays = 30
const idempotencyDays = 1
/** Of configurations that an ingress was given: each is stored again when it is to be loaded again. */
const configDays = 1
const configsKept = 5

/**
 * Ingress said something of the domain `d` that no pass of its owner has seen: that is the owner's outbox. A pass takes away
 * exactly what it saw; times of two transactions say nothing of which one saw the other.
 */
const toldUnseen = Prisma.sql`d."toldAt" IS NOT NULL`

/** Passes in PostgreSQL: one statement claims, one transaction decides. */
export class PostgresPassStore implements PassStore {
  constructor(
    private readonly db: Database,
    private readonly options: { dnsTtlSeconds: number },
  ) {}

  async claim(id: string): Promise<ClaimedPass | null> {
    return claimed(await readSnapshot(this.db, id, 'claim', this.options.dnsTtlSeconds))
  }

  async peek(id: string): Promise<ClaimedPass | null> {
    return claimed(await readSnapshot(this.db, id, 'read', this.options.dnsTtlSeconds))
  }

  async draft(projectId: string, name: string, spec: unknown): Promise<ClaimedPass | null> {
    return claimed(await readDraft(this.db, { projectId, name, spec }, this.options.dnsTtlSeconds))
  }

  async decide(id: string, pass: number, now: number, step: PassStep): Promise<Decision | 'superseded'> {
    return this.db.$transaction(
      async (tx) => {
        const snapshot = await readSnapshot(tx, id, 'lock', this.options.dnsTtlSeconds)
        if (!snapshot || snapshot.pass !== pass) return 'superseded'
        if (snapshot.decisionPass === pass && snapshot.decision) return snapshot.decision
        const outcome = await step(openPass(tx, snapshot, now))
        if (outcome === 'superseded') return outcome
        await writeOutcome(tx, snapshot.resource, pass, outcome, now)
        if (outcome.observedGeneration !== null) await forgetTold(tx, snapshot.told)
        return outcome.decision
      },
      { timeout: 4_500, maxWait: 4_500 },
    )
  }

  async dependants(id: string): Promise<DueResource[]> {
    return this.db.$queryRaw<DueResource[]>`
      SELECT r.id, r.kind, p.name AS project, r.name
      FROM "Resource" d JOIN "Resource" r ON r."projectId" = d."projectId" JOIN "Project" p ON p.id = r."projectId"
      WHERE d.id = ${id} AND r.kind = 'application' AND NOT r.paused AND jsonb_exists(r.spec -> 'dependsOn', d.name)
      UNION
      SELECT r.id, r.kind, p.name AS project, r.name
      FROM "Resource" i JOIN "Domain" d ON i.kind = 'ingress' JOIN "Resource" r ON r.id = d."resourceId"
        JOIN "Project" p ON p.id = r."projectId"
      WHERE i.id = ${id} AND NOT r.paused AND ${toldUnseen}
      UNION
      SELECT r.id, r.kind, p.name AS project, r.name
      FROM "Resource" o JOIN "Resource" r ON r."nextPassDueAt" <= o."lastPassAt" JOIN "Project" p ON p.id = r."projectId"
      WHERE o.id = ${id} AND r.kind = 'ingress' AND NOT r.paused
        AND EXISTS (SELECT 1 FROM "Domain" d WHERE d."resourceId" = o.id)
      ORDER BY 1`
  }

  async due(after: string, limit: number, now: number): Promise<DueResource[]> {
    return this.db.$queryRaw<DueResource[]>`
      SELECT r.id, r.kind, p.name AS project, r.name
      FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
      WHERE r.id > ${after} AND NOT r.paused AND r.kind = ANY(${[...reconciledKinds]})
        AND (r.generation <> r."observedGeneration" OR r."deletionRequestedAt" IS NOT NULL
          OR r."nextPassDueAt" IS NULL OR r."nextPassDueAt" < ${new Date(now)}
          OR EXISTS (SELECT 1 FROM "Domain" d WHERE d."resourceId" = r.id AND ${toldUnseen}))
      ORDER BY r.id LIMIT ${limit}`
  }

  async keepHouse(now: number): Promise<void> {
    const before = (days: number) => new Date(now - days * day)
    await this.db.tombstone.deleteMany({ where: { deletedAt: { lt: before(tombstoneDays) } } })
    await this.db.event.deleteMany({ where: { at: { lt: before(eventDays) } } })
    await this.db.conditionTransition.deleteMany({ where: { at: { lt: before(eventDays) } } })
    await this.db.idempotencyKey.deleteMany({ where: { createdAt: { lt: before(idempotencyDays) } } })
    await this.db.$executeRaw`
      DELETE FROM "Artifact" WHERE sha256 IN (
        SELECT sha256 FROM (
          SELECT sha256, "createdAt", row_number() OVER (PARTITION BY "configOf" ORDER BY "createdAt" DESC, sha256) AS nth
          FROM "Artifact" WHERE "configOf" IS NOT NULL) c
        WHERE nth > ${configsKept} AND "createdAt" < ${before(configDays)})`
  }
}

function claimed(snapshot: Snapshot | null): ClaimedPass | null {
  if (!snapshot) return null
  const { pass, resource, desired, paused, nodes } = snapshot
  return { pass, resource, desired, paused, nodes }
}

function openPass(tx: Transaction, snapshot: Snapshot, now: number): OpenPass {
  const { resource, paused, failures, holds, conditions } = snapshot
  let desired = snapshot.desired
  return {
    resource,
    desired,
    paused,
    failures,
    holds,
    conditions,
    async write(records) {
      const controller = controllerOf(resource.kind)
      for (const record of records) {
        const address = await writeRecord(tx, resource, record, now)
        desired = controller?.applyRecord(desired, record, { address, now })
      }
      return desired
    },
  }
}

function writeRecord(tx: Transaction, resource: ResourceView, record: unknown, now: number): Promise<string | null> {
  switch (resource.kind) {
    case 'application':
      return writeApplicationRecord(tx, resource.id, record as ApplicationRecord, now)
    case 'ingress':
      return writeIngressRecord(tx, resource.id, record as IngressRecord, now).then(() => null)
    default:
      throw new Error(`kind ${resource.kind} writes no records, yet its plan asked for ${JSON.stringify(record)}`)
  }
}

/** What an ingress is about to tell anew is left to the next pass: nobody waits for it, so nobody waits for each other. */
async function forgetTold(tx: Transaction, told: ToldDomain[]): Promise<void> {
  if (told.length === 0) return
  await tx.$executeRaw`
    UPDATE "Domain" SET "toldAt" = NULL WHERE (host, path) IN (
      SELECT d.host, d.path FROM "Domain" d
      JOIN jsonb_to_recordset(${JSON.stringify(told)}::jsonb) AS t(host text, path text, "toldAt" text)
        ON t.host = d.host AND t.path = d.path AND t."toldAt"::timestamptz = d."toldAt"
      FOR UPDATE OF d SKIP LOCKED)`
}
