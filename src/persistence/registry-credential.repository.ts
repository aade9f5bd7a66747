import type { Database, Transaction } from './database.js'
import { makeDue } from './due-applications.js'
import { Prisma } from './generated/client.js'
import { newCredentialId } from './id.js'
import { servedOn } from './node-access.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import type { DueResource } from './pass-store.js'
import { credentialPlace, sealUnderKnownKey, type KeyNotKnown, type PlacedValue, type SealableValue } from './sealed.js'
import { auditIdle, auditPlain, transact, type WriteContext } from './write.js'

/** A log-in without its password: the password leaves this repository sealed, and only towards a node. */
export interface CredentialRow {
  id: string
  projectId: string
  name: string
  host: string
  username: string
  createdAt: Date
  updatedAt: Date
}

export interface CredentialDraft {
  projectId: string
  name: string
  host: string
  username: string
}

/** An application whose spec names a credential. */
export interface CredentialUse {
  applicationId: string
  applicationName: string
}

export type CredentialSetResult =
  | { outcome: 'set'; credential: CredentialRow; due: DueResource[] }
  | { outcome: 'unchanged'; credential: CredentialRow }
  | { outcome: 'projectNotFound' }
  | KeyNotKnown

export type CredentialDeleteResult =
  { outcome: 'deleted'; credential: CredentialRow } | { outcome: 'notFound' } | { outcome: 'inUse'; uses: CredentialUse[] }

export type CredentialHandOut =
  | { outcome: 'sealed'; host: string; username: string; password: PlacedValue }
  /** `served` false: the application is none of this node's; true: its spec names another credential, or none. */
  | { outcome: 'forbidden'; served: boolean }
  | { outcome: 'missing' }

const credentialColumns = { id: true, projectId: true, name: true, host: true, username: true, createdAt: true, updatedAt: true } as const

export class RegistryCredentialRepository {
  constructor(private readonly db: Database) {}

  /** Of one project, ascending by name. */
  async list(projectId: string, { first, after }: PageRequest<string>): Promise<Page<CredentialRow>> {
    const rows = await this.db.registryCredential.findMany({
      where: { projectId, ...(after === null ? {} : { name: { gt: after } }) },
      orderBy: { name: 'asc' },
      take: first + 1,
      select: credentialColumns,
    })
    return pageOf(rows, first)
  }

  set(draft: CredentialDraft, password: SealableValue, context: WriteContext): Promise<CredentialSetResult> {
    return transact<CredentialSetResult>(this.db, async (tx) => {
      const { projectId, name, host, username } = draft
      const [project] = await tx.$queryRaw<object[]>`SELECT id FROM "Project" WHERE id = ${projectId} FOR NO KEY UPDATE`
      if (!project) return { outcome: 'projectNotFound' }
      const found = await tx.registryCredential.findUnique({ where: { projectId_name: { projectId, name } } })
      const same = found && password.equals({ ...found, place: credentialPlace(found.id) })
      if (found && same && found.host === host && found.username === username) {
        const { keyId: _, sealed: __, ...credential } = found
        await auditIdle(tx, context, found, 'unchanged')
        return { outcome: 'unchanged', credential }
      }
      const id = found?.id ?? newCredentialId()
      const data = { host, username, updatedAt: context.now, ...(await sealUnderKnownKey(tx, password, credentialPlace(id))) }
      const credential = await tx.registryCredential.upsert({
        where: { projectId_name: { projectId, name } },
        create: { id, projectId, name, createdAt: context.now, ...data },
        update: data,
        select: credentialColumns,
      })
      const before = found && { name, host: found.host, username: found.username }
      await auditPlain(tx, context, id, before, { name, host, username, passwordChanged: !same })
      const due = await makeDue(tx, projectId, Prisma.sql`spec ->> 'registryCredential' = ${name}`, context.now)
      return { outcome: 'set', credential, due }
    })
  }

  delete(id: string, context: WriteContext): Promise<CredentialDeleteResult> {
    return transact<CredentialDeleteResult>(this.db, async (tx) => {
      // Against specs that would begin to name it (references.ts).
      await tx.$queryRaw`SELECT id FROM "Project" WHERE id = (SELECT "projectId" FROM "RegistryCredential" WHERE id = ${id}) FOR UPDATE`
      const credential = await tx.registryCredential.findUnique({ where: { id }, select: credentialColumns })
      if (!credential) return { outcome: 'notFound' }
      const uses = await usesOfCredential(tx, credential)
      if (uses.length > 0) return { outcome: 'inUse', uses }
      await tx.registryCredential.delete({ where: { id }, select: { id: true } })
      const { name, host, username } = credential
      await auditPlain(tx, context, id, { name, host, username }, null)
      return { outcome: 'deleted', credential }
    })
  }

  /** The log-in that an application's spec names, for a node that runs it. What is handed out is audited in the same transaction. */
  handOut(node: string, resource: string, name: string, context: WriteContext): Promise<CredentialHandOut> {
    return transact<CredentialHandOut>(this.db, async (tx) => {
      const application = await servedOn(tx, node, resource)
      if (application?.spec.registryCredential !== name) return { outcome: 'forbidden', served: application !== null }
      const { projectId } = application
      const found = await tx.registryCredential.findUnique({ where: { projectId_name: { projectId, name } } })
      if (!found) return { outcome: 'missing' }
      const { id, host, username, keyId, sealed } = found
      await auditPlain(tx, context, resource, null, { registryCredential: name, host, username })
      return { outcome: 'sealed', host, username, password: { keyId, sealed, place: credentialPlace(id) } }
    })
  }
}

function usesOfCredential(tx: Transaction, { projectId, name }: CredentialRow): Promise<CredentialUse[]> {
  return tx.$queryRaw<CredentialUse[]>`
    SELECT id AS "applicationId", name AS "applicationName" FROM "Resource"
    WHERE "projectId" = ${projectId} AND kind = 'application' AND "deletionRequestedAt" IS NULL AND spec ->> 'registryCredential' = ${name}
    ORDER BY name`
}
