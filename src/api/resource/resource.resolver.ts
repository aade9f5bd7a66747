import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql'
import { GraphQLError } from 'graphql'
import { z } from 'zod'
import { AuditRepository } from '../../persistence/audit.repository.js'
import { ResourceRepository, type ChangeResult, type ResourceRow } from '../../persistence/resource.repository.js'
import { isReconciledKind } from '../../reconcile/kind.js'
import { isPlainText, plainTextRule } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { ChangeFeed, expanded, orEnd, type Told } from '../change/change-feed.service.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { Reconciled } from './reconciled.model.js'
import { LastResult, ResourceChange, ResourcePayload, RestoreConfirmPayload, ResyncAllPayload } from './resource.payload.js'

const oneLine = (most: number) =>
  z.string().min(1, 'must not be empty').max(most, `must have at most ${most} characters`).refine(isPlainText, plainTextRule)

/** A listener that was deaf is told at most this many resources that changed meanwhile. */
const caughtUpMost = 10_000
const watchedIdsMost = 100

/** What is done alike to every kind. */
@Resolver()
export class ResourceResolver {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(ChangeFeed) private readonly changes: ChangeFeed,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => Reconciled, { nullable: true, description: 'A resource of any kind; null when there is none with this id.' })
  resource(@Args('id', { type: () => ID, description: 'Its id.' }) id: string, @Context() { loaders }: GraphqlContext) {
    return loaders.resource.load(id)
  }

  @Query(() => LastResult, {
    nullable: true,
    description: 'What the last pass of a resource came to; null for what has no loop or does not exist.',
  })
  async lastResult(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { loaders }: GraphqlContext,
  ): Promise<LastResult | null> {
    const row = await loaders.resource.load(id)
    if (!row || !isReconciledKind(row.kind)) return null
    return {
      resourceId: id,
      controller: `${row.kind}/${row.name}`,
      generation: row.observedGeneration,
      pass: row.lastPassAt ? row.passNumber : 0,
      at: row.lastPassAt,
      conditions: await loaders.conditions.load(id),
      error: row.lastError,
    }
  }

  @Mutation(() => ResourcePayload, {
    description: 'Stops the loop of a resource: what runs goes on running, and nothing is repaired or changed.',
  })
  async resourcePause(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Args('reason', { type: () => String, nullable: true, description: 'Told to whoever finds it paused.' })
    reason: string | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ResourcePayload> {
    const checked = oneLine(500).nullish().safeParse(reason)
    if (!checked.success) return { resource: null, userErrors: invalidErrors(checked.error, ['reason']) }
    const write = writeContext('resourcePause', context.actor, this.options.clock())
    return this.answer(id, await this.resources.setPaused({ id, kind: null }, true, reason ?? null, write), context)
  }

  @Mutation(() => ResourcePayload, { description: 'Starts the loop of a paused resource again.' })
  async resourceResume(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() context: GraphqlContext,
  ): Promise<ResourcePayload> {
    const write = writeContext('resourceResume', context.actor, this.options.clock())
    return this.answer(id, await this.resources.setPaused({ id, kind: null }, false, null, write), context)
  }

  @Mutation(() => RestoreConfirmPayload, {
    description:
      'Resumes every resource that a restore paused. What a person paused stays paused. Look at the plans and the orphans first.',
  })
  async restoreConfirm(@Context() { actor }: GraphqlContext): Promise<RestoreConfirmPayload> {
    const write = writeContext('restoreConfirm', actor, this.options.clock())
    const ids = await this.resources.pausedByRestore()
    for (const id of ids) await this.resources.setPaused({ id, kind: null }, false, null, write)
    this.nudger.allSoon(await this.resources.addressesOf(ids))
    return { resources: ids.length, userErrors: [] }
  }

  @Mutation(() => ResourcePayload, {
    description:
      'Cancels one action of a resource, by the key that its workflow shows. It is not tried again before the resource changes.',
  })
  async actionCancel(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Args('key', { type: () => String, description: "The action's key, e.g. pull:node_ab12:nginx:1.28." }) key: string,
    @Context() context: GraphqlContext,
  ): Promise<ResourcePayload> {
    const checked = oneLine(1_000).safeParse(key)
    if (!checked.success) return { resource: null, userErrors: invalidErrors(checked.error, ['key']) }
    const write = writeContext('actionCancel', context.actor, this.options.clock())
    return this.answer(id, await this.resources.holdAction({ id, kind: null }, key, write), context)
  }

  @Mutation(() => ResyncAllPayload, { description: 'Makes every loop look again now. Changes nothing that is as it should be.' })
  async resyncAll(@Context() { actor }: GraphqlContext): Promise<ResyncAllPayload> {
    const { ability, now } = writeContext('resyncAll', actor, this.options.clock())
    const due = await this.resources.makeAllDue(now)
    await this.audit.record({
      actor: actor.tokenId,
      ability,
      operation: 'resyncAll',
      resourceId: null,
      workflowId: null,
      outcome: 'ok',
      at: now,
    })
    this.nudger.allSoon(due)
    return { resources: due.length, userErrors: [] }
  }

  @Subscription(() => ResourceChange, {
    description:
      'Tells resources that changed, each as it is by then; changes that follow each other quickly come as one. With `ids` the present state comes first. Without arguments all resources.',
  })
  async resourceChanged(
    @Args('ids', { type: () => [ID], nullable: true, description: `Only these, at most ${watchedIdsMost}.` })
    ids: string[] | null | undefined,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
  ): Promise<AsyncIterableIterator<{ resourceChanged: ResourceChange }>> {
    if (ids && ids.length > watchedIdsMost)
      throw new GraphQLError(`"ids" may name at most ${watchedIdsMost} resources: subscribe to their project instead`, {
        extensions: { code: 'BAD_USER_INPUT' },
      })
    const filter: Filter = { ids: ids ? new Set(ids) : null, projectId: projectId ?? null }
    // Followed first, then read: what changes in between comes twice rather than never.
    const followed = this.changes.follow()
    const first = ids ? await orEnd(followed, this.read(ids, filter)) : []
    return expanded(followed, (told) => this.changed(told, filter), first)
  }

  private async changed({ ids, missedSince }: Told, filter: Filter): Promise<{ resourceChanged: ResourceChange }[]> {
    const missed = missedSince
      ? await this.resources.changedSince(
          new Date(missedSince.getTime() - 5_000), // the break may be older than its discovery
          {
            ...(filter.ids ? { ids: [...filter.ids] } : {}),
            ...(filter.projectId === null ? {} : { projectId: filter.projectId }),
          },
          caughtUpMost,
        )
      : []
    return this.read([...new Set([...ids, ...missed])], filter)
  }

  private async read(ids: readonly string[], filter: Filter): Promise<{ resourceChanged: ResourceChange }[]> {
    const wanted = filter.ids ? ids.filter((id) => filter.ids?.has(id)) : [...ids]
    if (wanted.length === 0) return []
    const rows = new Map((await this.resources.getMany(wanted)).map((r) => [r.id, r]))
    const changes: { resourceChanged: ResourceChange }[] = []
    for (const id of wanted) {
      const resource: ResourceRow | null = rows.get(id) ?? null
      if (filter.projectId !== null && (resource?.projectId ?? (await this.resources.projectIdOf(id))) !== filter.projectId)
        continue
      changes.push({ resourceChanged: { id, resource } })
    }
    return changes
  }

  private async answer(id: string, result: ChangeResult, { loaders }: GraphqlContext): Promise<ResourcePayload> {
    if (!('resource' in result))
      return {
        resource: null,
        userErrors: [{ field: ['id'], message: `there is no resource ${id} that has a loop`, code: 'NOT_FOUND' }],
      }
    const { kind, projectId, name } = result.resource
    const project = await loaders.project.load(projectId)
    this.nudger.soon({ id, kind, project: project?.name ?? '', name })
    return { resource: result.resource, userErrors: [] }
  }
}

interface Filter {
  ids: Set<string> | null
  projectId: string | null
}
