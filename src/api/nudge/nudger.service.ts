import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import type { DueResource } from '../../persistence/pass-store.js'
import { ResourceRepository, type ResourceRow } from '../../persistence/resource.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { GraphqlContext } from '../graphql/context.js'

/** While Temporal is away, one line a minute says so, and not one a nudge. */
const logEveryMs = 60_000
/** Nudges at one time when many resources are nudged. */
const atOnceMost = 16
/** Until what neither Temporal nor the database took is tried again. */
const againMs = 1_000

/**
 * Nudges after a commit, or because an agent saw something. Nobody waits for them and none fails anything: what is not
 * reached is marked, and the sweep finds it. No row would tell it of what an agent saw. What cannot be marked either is kept
 * here and tried again.
 */
@Injectable()
export class Nudger implements OnApplicationShutdown {
  private readonly running = new Set<Promise<void>>()
  private loggedAt = -Infinity
  private failedSince = 0
  /** What neither Temporal nor the database took, by id: nudged again. */
  private readonly kept = new Map<string, DueResource>()
  private again: NodeJS.Timeout | undefined
  private stopped = false

  constructor(
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
  ) {}

  soon(resource: DueResource): void {
    const nudge = this.once(resource).then(() => void this.running.delete(nudge))
    this.running.add(nudge)
  }

  /** After a write: the resource itself, and whom the write made due. */
  async written(
    { resource, due }: { resource: ResourceRow; due: readonly DueResource[] },
    { loaders }: GraphqlContext,
  ): Promise<void> {
    const project = await loaders.project.load(resource.projectId)
    this.soon({ id: resource.id, kind: resource.kind, project: project?.name ?? '', name: resource.name })
    this.allSoon(due)
  }

  /** Nudges many, a few at a time, without anybody waiting. */
  allSoon(resources: readonly DueResource[]): void {
    const queue = [...resources]
    const drain = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) await this.once(next)
    }
    for (let n = 0; n < Math.min(atOnceMost, resources.length); n++) {
      const worker = drain().then(() => void this.running.delete(worker))
      this.running.add(worker)
    }
  }

  /** Resolves when nothing is being nudged. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running)
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true
    clearTimeout(this.again)
    await this.settled()
  }

  private async once(resource: DueResource): Promise<void> {
    try {
      await this.options.nudges.nudge(resource)
    } catch (error) {
      const now = this.options.clock()
      await this.resources.lookSoon(resource.id, new Date(now)).catch(() => this.keep(resource))
      this.failedSince++
      if (now - this.loggedAt < logEveryMs) return
      this.options.log.warn(
        { err: error, resource: resource.id, failed: this.failedSince },
        'could not nudge; the sweep finds what is out of step',
      )
      this.loggedAt = now
      this.failedSince = 0
    }
  }

  /** Nothing else knows of it while the database is away as well. */
  private keep(resource: DueResource): void {
    this.kept.set(resource.id, resource)
    if (this.stopped) return
    this.again ??= setTimeout(() => {
      this.again = undefined
      const resources = [...this.kept.values()]
      this.kept.clear()
      this.allSoon(resources)
    }, againMs).unref()
  }
}
