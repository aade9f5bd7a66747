import { Inject } from '@nestjs/common'
import { Args, Context, ID, Parent, ResolveField, Resolver } from '@nestjs/graphql'
import type { TransitionRow } from '../../persistence/condition.repository.js'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import { isReconciledKind, workflowIdOf } from '../../reconcile/kind.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { EventConnection } from '../event/event.model.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, numberCursor } from '../graphql/cursor.js'
import { Project } from '../project/project.model.js'
import { nodeConditions } from '../node/node-conditions.js'
import { Condition, ConditionTransition, ConditionTransitionConnection } from './condition.model.js'
import { Pass, Reconciled, Reconciler } from './reconciled.model.js'

/** The fields that every kind has. */
@Resolver(() => Reconciled)
export class ReconciledResolver {
  constructor(@Inject(API_OPTIONS) private readonly options: ApiOptions) {}

  @ResolveField(() => Project, { description: 'The project that it is in.' })
  project(row: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.project.load(row.projectId)
  }

  @ResolveField(() => [Condition], { description: 'What was observed, by type. Empty before the first pass.' })
  async conditions(row: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    if (row.kind === 'node') return nodeConditions(row, await loaders.nodeStatus.load(row.id), this.options.clock())
    return loaders.conditions.load(row.id)
  }

  @ResolveField(() => Pass, { nullable: true, description: 'The last pass of its loop; null before the first one.' })
  lastPass(row: ResourceRow): Pass | null {
    return row.lastPassAt ? { number: row.passNumber, at: row.lastPassAt, error: row.lastError } : null
  }

  @ResolveField(() => Reconciler, { nullable: true, description: 'The workflow that owns it; null for kinds without a loop.' })
  reconciler({ kind, id }: ResourceRow): Reconciler | null {
    if (!isReconciledKind(kind)) return null
    const { temporalUiUrl, temporalNamespace } = this.options.settings
    const workflowId = workflowIdOf(kind, id)
    return {
      workflowId,
      temporalUrl: `${temporalUiUrl}/namespaces/${temporalNamespace}/workflows/${encodeURIComponent(workflowId)}`,
    }
  }

  @ResolveField(() => ConditionTransitionConnection, { description: 'How its conditions changed, newest first.' })
  async transitions(@Parent() row: ResourceRow, @Args() args: PageArgs, @Context() { loaders }: GraphqlContext) {
    const page = await loaders.transitions({ first: pageSize(args), after: decodeCursor(numberCursor, args.after) }).load(row.id)
    return toConnection(page, args, (t) => String(t.id))
  }

  @ResolveField(() => EventConnection, { description: 'What happened to it, newest first.' })
  async events(@Parent() row: ResourceRow, @Args() args: PageArgs, @Context() { loaders }: GraphqlContext) {
    const page = await loaders.events({ first: pageSize(args), after: decodeCursor(numberCursor, args.after) }).load(row.id)
    return toConnection(page, args, (e) => String(e.id))
  }
}

@Resolver(() => ConditionTransition)
export class TransitionResolver {
  @ResolveField(() => ID, { description: 'Its number; later ones are higher.' })
  id({ id }: TransitionRow): string {
    return String(id)
  }
}
