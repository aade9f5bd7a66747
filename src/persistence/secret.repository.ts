import { hostsCertifiedBy, type CertifiedHost } from './certificate-secrets.js'
import type { Database, Transaction } from './database.js'
import { makeIngressesDue } from './domain-claims.js'
import { makeDue } from './due-applications.js'
import { Prisma } from './generated/client.js'
import { newSecretId } from './id.js'
import { servedOn } from './node-access.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import type { DueResource } from './pass-store.js'
import {
  sealUnderKnownKey,
  secretPlace,
  type KeyNotKnown,
  type PlacedValue,
  type SealableValue,
  type SealedValue,
} from './sealed.js'
import { entriesOf, specEntriesOf, usesOf, type SecretUse } from './secret-uses.js'
import { auditIdle, auditPlain, transact, type WriteContext } from './write.js'

export interface SecretRow {
  id: string
  projectId: string
  name: string
  createdAt: Date
}

/** A version without its value: the value leaves this repository sealed, and only towards a node. */
export interface SecretVersionRow {
  secretId: string
  version: number
  createdBy: string
  createdAt: Date
}

export type SecretSetResult =
  | { outcome: 'set'; secret: SecretRow; due: DueResource[] }
  | { outcome: 'unchanged'; secret: SecretRow }
  | { outcome: 'projectNotFound' }
  | KeyNotKnown

export type SecretDeleteResult =
  { outcome: 'deleted'; secret: SecretRow } | { outcome: 'notFound' } | { outcome: 'inUse'; uses: SecretUse[] }

export type SecretVersionDeleteResult =
  | { outcome: 'deleted'; secret: SecretRow }
  | { outcome: 'notFound' | 'versionNotFound' }
  /** Numbers are counted on from the newest one, so that none ever names two values. */
  | { outcome: 'newest' }
  | { outcome: 'inUse'; uses: SecretUse[] }

export interface SecretRef {
  secret: string
  version: number
}

export type SecretHandOut =
  | { outcome: 'sealed'; values: PlacedValue[] }
  /** `ref` null: the resource is none of this node's. */
  | { outcome: 'forbidden'; ref: SecretRef | null }
  | { outcome: 'missing'; ref: SecretRef }

const secretColumns = { id: true, projectId: true, name: true, createdAt: true } as const

export class SecretRepository {
  constructor(private readonly db: Database) {}

  /** Of each project, ascending by name. */
  async listOfEach(projectIds: readonly string[], { first, after }: PageRequest<string>): Promise<Map<string, Page<SecretRow>>> {
    const rows = await this.db.$queryRaw<SecretRow[]>`
      SELECT x.* FROM unnest(${[...projectIds]}::text[]) AS p(id) CROSS JOIN LATERAL (
        SELECT id, "projectId", name, "createdAt" FROM "Secret"
        WHERE "projectId" = p.id AND (${after}::text IS NULL OR name > ${after}::text) ORDER BY name LIMIT ${first + 1}) x
      ORDER BY x.name`
    const byProject = Map.groupBy(rows, (r) => r.projectId)
    return new Map(projectIds.map((id) => [id, pageOf(byProject.get(id) ?? [], first)]))
  }

  /** Newest first. */
  async versionsOfMany(secretIds: readonly string[]): Promise<SecretVersionRow[]> {
    return this.db.$queryRaw`
      SELECT "secretId", version, "createdBy", "createdAt" FROM "SecretVersion"
      WHERE "secretId" = ANY(${[...secretIds]}::text[]) ORDER BY version DESC`
  }

  usesOfMany(secretIds: readonly string[]): Promise<SecretUse[]> {
    return usesOf(this.db, secretIds)
  }

  hostsCertifiedBy(projectId: string, name: string): Promise<CertifiedHost[]> {
    return hostsCertifiedBy(this.db, projectId, name)
  }

  /** Makes a new version, unless the newest one holds this very value: setting twice restarts nothing. */
  set(
    { projectId, name }: { projectId: string; name: string },
    value: SealableValue,
    context: WriteContext,
  ): Promise<SecretSetResult> {
    return transact<SecretSetResult>(this.db, async (tx) => {
      // Not the stronger lock: specs of the project may be written meanwhile.
      const [project] = await tx.$queryRaw<object[]>`SELECT id FROM "Project" WHERE id = ${projectId} FOR NO KEY UPDATE`
      if (!project) return { outcome: 'projectNotFound' }
      const known = await tx.secret.findUnique({ where: { projectId_name: { projectId, name } }, select: secretColumns })
      const newest = known && (await newestVersion(tx, known.id))
      if (known && newest && value.equals(newest)) {
        await auditIdle(tx, context, known, 'unchanged')
        return { outcome: 'unchanged', secret: known }
      }
      const { actor: createdBy, now: createdAt } = context
      const id = known?.id ?? newSecretId()
      const version = (newest?.version ?? 0) + 1
      const sealed = await sealUnderKnownKey(tx, value, secretPlace(id, version))
      const secret = known ?? (await tx.secret.create({ data: { id, projectId, name, createdAt }, select: secretColumns }))
      await tx.secretVersion.create({
        data: { secretId: id, version, createdBy, createdAt, ...sealed },
        select: { version: true },
      })
      await auditPlain(tx, context, id, newest && { name, version: newest.version }, { name, version })
      const due = await makeDue(tx, projectId, followsNewest(name), createdAt)
      const isCertificate = (await hostsCertifiedBy(tx, projectId, name)).length > 0
      return { outcome: 'set', secret, due: isCertificate ? [...due, ...(await makeIngressesDue(tx, createdAt))] : due }
    })
  }

  delete(id: string, context: WriteContext): Promise<SecretDeleteResult> {
    return transact<SecretDeleteResult>(this.db, async (tx) => {
      const secret = await lockAgainstUse(tx, id)
      if (!secret) return { outcome: 'notFound' }
      const uses = await usesOf(tx, [id])
      if (uses.length > 0) return { outcome: 'inUse', uses }
      const versions = await tx.secretVersion.findMany({
        where: { secretId: id },
        orderBy: { version: 'asc' },
        select: { version: true },
      })
      await tx.secret.delete({ where: { id }, select: { id: true } })
      await auditPlain(tx, context, id, { name: secret.name, versions: versions.map((v) => v.version) }, null)
      return { outcome: 'deleted', secret }
    })
  }

  deleteVersion(id: string, version: number, context: WriteContext): Promise<SecretVersionDeleteResult> {
    return transact<SecretVersionDeleteResult>(this.db, async (tx) => {
      const secret = await lockAgainstUse(tx, id)
      if (!secret) return { outcome: 'notFound' }
      const found = await tx.secretVersion.findUnique({
        where: { secretId_version: { secretId: id, version } },
        select: { version: true },
      })
      if (!found) return { outcome: 'versionNotFound' }
      if ((await newestVersion(tx, id))?.version === version) return { outcome: 'newest' }
      const uses = (await usesOf(tx, [id])).filter((u) => u.version === version)
      if (uses.length > 0) return { outcome: 'inUse', uses }
      await tx.secretVersion.delete({ where: { secretId_version: { secretId: id, version } }, select: { version: true } })
      await auditPlain(tx, context, id, { name: secret.name, version }, null)
      return { outcome: 'deleted', secret }
    })
  }

  /**
   * What a node asks for an application of its own, and never more than a release or the present spec names. What is
   * handed out is audited in the same transaction.
   */
  handOut(node: string, resource: string, refs: readonly SecretRef[], context: WriteContext): Promise<SecretHandOut> {
    return transact<SecretHandOut>(this.db, async (tx) => {
      const application = await servedOn(tx, node, resource)
      if (!application) return { outcome: 'forbidden', ref: null }
      const found = await findRefs(tx, resource, application.projectId, refs)
      const foreign = found.find((f) => !f.named)
      if (foreign) return { outcome: 'forbidden', ref: { secret: foreign.secret, version: foreign.version } }
      const missing = found.find((f) => f.sealed === null)
      if (missing) return { outcome: 'missing', ref: { secret: missing.secret, version: missing.version } }
      await auditPlain(tx, context, resource, null, { refs: refs.map(({ secret, version }) => ({ secret, version })) })
      const values = found.flatMap(({ secretId, version, keyId, sealed }) =>
        secretId !== null && keyId !== null && sealed !== null ? [{ keyId, sealed, place: secretPlace(secretId, version) }] : [],
      )
      return { outcome: 'sealed', values }
    })
  }
}

/** Applications that take the newest version of a secret, and so a new one. */
function followsNewest(name: string): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT 1 FROM ${entriesOf('spec')} AS entry WHERE entry ->> 'secret' = ${name} AND entry ->> 'version' IS NULL)`
}

async function newestVersion(tx: Transaction, secretId: string): Promise<(PlacedValue & { version: number }) | null> {
  const row = await tx.secretVersion.findFirst({
    where: { secretId },
    orderBy: { version: 'desc' },
    select: { version: true, keyId: true, sealed: true },
  })
  return row && { ...row, place: secretPlace(secretId, row.version) }
}

/** Locks the project against specs that would begin to name one of its secrets (references.ts). */
async function lockAgainstUse(tx: Transaction, id: string): Promise<SecretRow | null> {
  await tx.$queryRaw`
    SELECT id FROM "Project" WHERE id = (SELECT "projectId" FROM "Secret" WHERE id = ${id}) FOR UPDATE`
  return tx.secret.findUnique({ where: { id }, select: secretColumns })
}

type FoundRef = SecretRef & { named: boolean; secretId: string | null } & { [K in keyof SealedValue]: SealedValue[K] | null }

/** In the order of `refs`. A spec without a version names the newest one, and one that is not there yet. */
function findRefs(tx: Transaction, resource: string, projectId: string, refs: readonly SecretRef[]): Promise<FoundRef[]> {
  return tx.$queryRaw<FoundRef[]>`
    SELECT q.secret, q.version, s.id AS "secretId", v."keyId", v.sealed,
      EXISTS (
        SELECT 1 FROM "Release" l CROSS JOIN LATERAL ${entriesOf('l.template')} AS entry
        WHERE l."resourceId" = ${resource} AND entry ->> 'secret' = q.secret AND entry ->> 'version' = q.version::text)
      OR EXISTS (
        SELECT 1 FROM "Resource" r CROSS JOIN LATERAL ${specEntriesOf('r.spec')} AS entry
        WHERE r.id = ${resource} AND entry ->> 'secret' = q.secret AND (entry ->> 'version' = q.version::text
          OR (entry ->> 'version' IS NULL AND (v.version IS NULL OR
            v.version = (SELECT max(w.version) FROM "SecretVersion" w WHERE w."secretId" = s.id))))) AS named
    FROM unnest(${refs.map((r) => r.secret)}::text[], ${refs.map((r) => r.version)}::int[]) WITH ORDINALITY AS q(secret, version, n)
      LEFT JOIN "Secret" s ON s."projectId" = ${projectId} AND s.name = q.secret
      LEFT JOIN "SecretVersion" v ON v."secretId" = s.id AND v.version = q.version
    ORDER BY q.n`
}
