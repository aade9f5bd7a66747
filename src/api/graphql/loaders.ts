import { Inject, Injectable } from '@nestjs/common'
import DataLoader from 'dataloader'
import {
  ApplicationRepository,
  type EndpointRow,
  type ReleaseActorRow,
  type ReleaseKey,
  type ReleaseRow,
  type ReleaseTemplateRow,
} from '../../persistence/application.repository.js'
import { ArtifactRepository } from '../../persistence/artifact.repository.js'
import { ConditionRepository, type ConditionRow, type TransitionRow } from '../../persistence/condition.repository.js'
import { DomainRepository, type DomainRow, type Doors } from '../../persistence/domain.repository.js'
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
  releaseTemplate: DataLoader<ReleaseKey, ReleaseTemplateRow | null, string>
  releaseActor: DataLoader<ReleaseKey, ReleaseActorRow | null, string>
  /** By SHA-256. */
  artifact: DataLoader<string, { content: Uint8Array } | null>
  domains: DataLoader<string, DomainRow[]>
  /** Read once an operation. */
  doors(): Promise<Doors>
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
    @Inject(ArtifactRepository) private readonly artifacts: ArtifactRepository,
    @Inject(DomainRepository) private readonly domains: DomainRepository,
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
      releaseTemplate: ofRelease((keys) => this.applications.templatesOf(keys)),
      releaseActor: ofRelease((keys) => this.applications.actorsOf(keys)),
      artifact: one(
        (ids) => this.artifacts.getMany(ids),
        (a) => a.sha256,
      ),
      domains: many(
        (ids) => this.domains.ofMany(ids),
        (d) => d.resourceId,
      ),
      doors: once(() => this.domains.doors()),
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

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null
  return () => (reading ??= read())
}

const releaseKey = ({ resourceId, number }: ReleaseKey) => `${resourceId} ${number}`

function ofRelease<Row extends ReleaseKey>(
  read: (keys: readonly ReleaseKey[]) => Promise<Row[]>,
): DataLoader<ReleaseKey, Row | null, string> {
  const batch = async (keys: readonly ReleaseKey[]) => {
    const byKey = new Map((await read(keys)).map((row) => [releaseKey(row), row]))
    return keys.map((key) => byKey.get(releaseKey(key)) ?? null)
  }
  return new DataLoader(batch, { cacheKeyFn: releaseKey })
}

function many<Row>(read: (ids: readonly string[]) => Promise<Row[]>, idOf: (row: Row) => string): DataLoader<string, Row[]> {
  return new DataLoader(async (ids) => {
    const byId = Map.groupBy(await read(ids), idOf)
    return ids.map((id) => byId.get(id) ?? [])
  })
}

function paged<Row, P extends EachPage | PageRequest<string>>(
  read: (ids: readonly string[], page: P) => Promise<Map<string, Page<Row>>>,
) {
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
