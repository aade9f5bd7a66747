import type { Database } from './database.js'
import { makeDue } from './due-applications.js'
import { Prisma } from './generated/client.js'
import { newProjectId } from './id.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import type { DueResource } from './pass-store.js'
import { auditIdle, auditPlain, claimKey, refuse, transact, type WriteContext } from './write.js'

export interface ProjectRow {
  id: string
  name: string
  createdAt: Date
}

/** The project of nodes and of the demo; made at the first start, never deleted. */
export const platformProject = { id: 'prj_platform', name: 'platform' } as const

export type ProjectCreateResult =
  | { outcome: 'created' | 'repeated'; project: ProjectRow }
  | { outcome: 'nameTaken' }
  | { outcome: 'keyReused'; operation: string }
  | { outcome: 'goneSince'; id: string }

export type ProjectDeleteResult =
  | { outcome: 'deleted'; project: ProjectRow }
  | { outcome: 'notFound' }
  | { outcome: 'notEmpty'; resources: { kind: string; name: string }[] }
  | { outcome: 'platform' }

export interface ProjectEnvRow {
  projectId: string
  name: string
  value: string
}

export type ProjectEnvSetResult =
  | { outcome: 'set'; project: ProjectRow; due: DueResource[] }
  | { outcome: 'unchanged'; project: ProjectRow }
  | { outcome: 'notFound' }

/** How many of a project's resources a refused deletion names. */
const namedMost = 5

export class ProjectRepository {
  constructor(private readonly db: Database) {}

  async getMany(ids: readonly string[]): Promise<ProjectRow[]> {
    return this.db.$queryRaw`SELECT id, name, "createdAt" FROM "Project" WHERE id = ANY(${[...ids]}::text[])`
  }

  /** Ascending by name. */
  async list(filter: { name?: string | undefined }, { first, after }: PageRequest<string>): Promise<Page<ProjectRow>> {
    const { name } = filter
    const rows = await this.db.project.findMany({
      where: { AND: [name === undefined ? {} : { name }, after === null ? {} : { name: { gt: after } }] },
      orderBy: { name: 'asc' },
      take: first + 1,
    })
    return pageOf(rows, first)
  }

  create(name: string, context: WriteContext): Promise<ProjectCreateResult> {
    return transact<ProjectCreateResult>(this.db, async (tx) => {
      const id = newProjectId()
      const claim = await claimKey(tx, context, id)
      if (claim.outcome === 'keyReused') return claim
      if (claim.outcome === 'repeated') {
        const project = await tx.project.findUnique({ where: { id: claim.resultId } })
        if (!project) return { outcome: 'goneSince', id: claim.resultId }
        await auditIdle(tx, context, project, 'repeated')
        return { outcome: 'repeated', project }
      }
      const [project] = await tx.project.createManyAndReturn({
        data: [{ id, name, createdAt: context.now }],
        skipDuplicates: true,
      })
      if (!project) refuse({ outcome: 'nameTaken' } satisfies ProjectCreateResult)
      await auditPlain(tx, context, id, null, { name })
      return { outcome: 'created', project }
    })
  }

  /** Ascending by name. */
  async envOfMany(ids: readonly string[]): Promise<ProjectEnvRow[]> {
    return this.db.$queryRaw`SELECT "projectId", name, value FROM "ProjectEnv" WHERE "projectId" = ANY(${[...ids]}::text[]) ORDER BY name`
  }

  /** Replaces the whole list. Audited by names: who may read the audit is not to learn values from it that are gone. */
  setEnv(projectId: string, env: readonly { name: string; value: string }[], context: WriteContext): Promise<ProjectEnvSetResult> {
    return transact<ProjectEnvSetResult>(this.db, async (tx) => {
      // Not the stronger lock: specs of the project may be written meanwhile.
      const [project] = await tx.$queryRaw<ProjectRow[]>`
        SELECT id, name, "createdAt" FROM "Project" WHERE id = ${projectId} FOR NO KEY UPDATE`
      if (!project) return { outcome: 'notFound' }
      const before = new Map((await tx.projectEnv.findMany({ where: { projectId } })).map((e) => [e.name, e.value]))
      const after = new Map(env.map((e) => [e.name, e.value]))
      const changed = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
      if (changed.length === 0) {
        await auditIdle(tx, context, project, 'unchanged')
        return { outcome: 'unchanged', project }
      }
      await tx.projectEnv.deleteMany({ where: { projectId } })
      await tx.projectEnv.createMany({ data: env.map(({ name, value }) => ({ projectId, name, value })) })
      await auditPlain(tx, context, projectId, { names: [...before.keys()].sort() }, { names: [...after.keys()].sort(), changed: changed.sort() })
      return { outcome: 'set', project, due: await makeDue(tx, projectId, Prisma.sql`true`, context.now) }
    })
  }

  /** Only an empty project goes: deleting is never a cascade over resources. Its secrets, credentials and env go with it. */
  delete(id: string, context: WriteContext): Promise<ProjectDeleteResult> {
    return transact<ProjectDeleteResult>(this.db, async (tx) => {
      if (id === platformProject.id) return { outcome: 'platform' }
      const [locked] = await tx.$queryRaw<object[]>`SELECT id FROM "Project" WHERE id = ${id} FOR UPDATE`
      if (!locked) return { outcome: 'notFound' }
      const resources = await tx.resource.findMany({
        where: { projectId: id },
        orderBy: { name: 'asc' },
        take: namedMost,
        select: { kind: true, name: true },
      })
      if (resources.length > 0) return { outcome: 'notEmpty', resources }
      const project = await tx.project.delete({ where: { id } })
      await auditPlain(tx, context, id, { name: project.name }, null)
      return { outcome: 'deleted', project }
    })
  }

  async ensurePlatform(): Promise<void> {
    await this.db.project.upsert({ where: { id: platformProject.id }, create: { ...platformProject }, update: {} })
  }
}
