import { Inject, Injectable } from '@nestjs/common'
import DataLoader from 'dataloader'
import { ApplicationRepository, type EndpointRow, type ReleaseRow } from '../../persistence/application.repository.js'
import { ConditionRepository, type ConditionRow, type TransitionRow } from '../../persistence/condition.repository.js'
import type { EachPage } from '../../persistence/each-page.js'
import { EventRepository, type EventRow } from '../../persistence/event.repository.js'
import { NodeRepository, type NodeStatusRow } from '../../persistence/node.repository.js'
import type { Page, PageRequest } from '../../persistence/page.js'
import { ProjectRepository, type ProjectEnvRow, type ProjectRow } from '../../persistence/project.repository.js'
import { ResourceRepository, type ResourceRow } from '../../persistence/resource.repository.js'
import { SecretRepository, type SecretRow, type SecretVersionRow } from '../../persistence/secret.repository.js'
import type { SecretUse } from '../../persistence/secret-uses.js'
import { TokenRepository, type TokenRow } from '../../persistence/token.repository.js'

/** Reads of one operation, gathered so that a page of a hundred resources costs as many statements as a page of one. */
export interface Loaders {
  project: DataLoader<string, ProjectRow | null>
  resource: DataLoader<string, ResourceRow | null>
  token: DataLoader<string, TokenRow | null>
  conditions: DataLoader<string, ConditionRow[]>
  endpoints: DataLoader<string, EndpointRow[]>
  servingRelease: DataLoader<string, ReleaseRow | null>
  nodeStatus: DataLoader<string, NodeStatusRow | null>
  projectEnv: DataLoader<string, ProjectEnvRow[]>
  secretVersions: DataLoader<string, SecretVersionRow[]>
  secretUses: DataLoader<string, SecretUse[]>
  /** One loader for each way that the pages are asked for. */
  secrets(page: PageRequest<string>): DataLoader<string, Page<SecretRow>>
  releases(page: EachPage): DataLoader<string, Page<ReleaseRow>>
  transitions(page: EachPage): DataLoader<string, Page<TransitionRow>>
  events(page: EachPage): DataLoader<string, Page<EventRow>>
}

@Injectable()
export class LoaderFactory {
  constructor(
    @Inject(ProjectRepository) private readonly projects: ProjectRepository,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(TokenRepository) private readonly tokens: TokenRepository,
    @Inject(ConditionRepository) private readonly conditions: ConditionRepository,
    @Inject(ApplicationRepository) private readonly applications: ApplicationRepository,
    @Inject(NodeRepository) private readonly nodes: NodeRepository,
    @Inject(EventRepository) private readonly events: EventRepository,
    @Inject(SecretRepository) private readonly secrets: SecretRepository,
  ) {}

  /** Loaders for one operation: they remember what they read, so they must not outlive it. */
  create(): Loaders {
    return {
      project: one(
        (ids) => this.projects.getMany(ids),
        (p) => p.id,
      ),
      resource: one(
        (ids) => this.resources.getMany(ids),
        (r) => r.id,
      ),
      token: one(
        (ids) => this.tokens.getMany(ids),
        (t) => t.id,
      ),
      conditions: many(
        (ids) => this.conditions.ofMany(ids),
        (c) => c.resourceId,
      ),
      endpoints: many(
        (ids) => this.applications.endpointsOfMany(ids),
        (e) => e.resourceId,
      ),
      servingRelease: one(
        (ids) => this.applications.servingReleases(ids),
        (r) => r.resourceId,
      ),
      nodeStatus: one(
        (ids) => this.nodes.statusOfMany(ids),
        (s) => s.resourceId,
      ),
      projectEnv: many(
        (ids) => this.projects.envOfMany(ids),
        (e) => e.projectId,
      ),
      secretVersions: many(
        (ids) => this.secrets.versionsOfMany(ids),
        (v) => v.secretId,
      ),
      secretUses: many(
        (ids) => this.secrets.usesOfMany(ids),
        (u) => u.secretId,
      ),
      secrets: paged((ids, page) => this.secrets.listOfEach(ids, page)),
      releases: paged((ids, page) => this.applications.releasesOfEach(ids, page)),
      transitions: paged((ids, page) => this.conditions.transitionsOfEach(ids, page)),
      events: paged((ids, page) => this.events.ofEach(ids, page)),
    }
  }
}

function one<Row>(read: (ids: readonly string[]) => Promise<Row[]>, idOf: (row: Row) => string): DataLoader<string, Row | null> {
  return new DataLoader(async (ids) => {
    const byId = new Map((await read(ids)).map((row) => [idOf(row), row]))
    return ids.map((id) => byId.get(id) ?? null)
  })
}

function many<Row>(read: (ids: readonly string[]) => Promise<Row[]>, idOf: (row: Row) => string): DataLoader<string, Row[]> {
  return new DataLoader(async (ids) => {
    const byId = Map.groupBy(await read(ids), idOf)
    return ids.map((id) => byId.get(id) ?? [])
  })
}

function paged<Row, P extends EachPage | PageRequest<string>>(read: (ids: readonly string[], page: P) => Promise<Map<string, Page<Row>>>) {
  const loaders = new Map<string, DataLoader<string, Page<Row>>>()
  return (page: P): DataLoader<string, Page<Row>> => {
    const key = page.after === null ? `${page.first}` : `${page.first} ${page.after}`
    const known = loaders.get(key)
    if (known) return known
    const loader = new DataLoader<string, Page<Row>>(async (ids) => {
      const pages = await read(ids, page)
      return ids.map((id) => pages.get(id) ?? { rows: [], hasMore: false })
    })
    loaders.set(key, loader)
    return loader
  }
}
