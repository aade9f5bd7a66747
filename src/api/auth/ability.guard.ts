import { Injectable, Inject, type CanActivate, type ExecutionContext } from '@nestjs/common'
import { GqlExecutionContext } from '@nestjs/graphql'
import { GraphQLError, type GraphQLResolveInfo } from 'graphql'
import { AuditRepository } from '../../persistence/audit.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { GraphqlContext } from '../graphql/context.js'
import { abilityOf } from './ability.js'
import { may } from './actor.js'

/** Asks the table what an operation needs. Guards run at the root fields only, so everything below is covered by them. */
@Injectable()
export class AbilityGuard implements CanActivate {
  constructor(
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  async canActivate(execution: ExecutionContext): Promise<boolean> {
    if (execution.getType<string>() !== 'graphql') return true
    const graphql = GqlExecutionContext.create(execution)
    const { parentType, fieldName } = graphql.getInfo<GraphQLResolveInfo>()
    if (!isRoot(parentType.name)) return true
    const { actor } = graphql.getContext<GraphqlContext>()
    const needed = abilityOf[parentType.name][fieldName]
    if (needed !== undefined && may(actor, needed)) return true
    if (parentType.name === 'Mutation') {
      const { id } = graphql.getArgs<{ id?: string }>()
      await this.audit.record({
        actor: actor.tokenId,
        ability: needed ?? 'admin',
        operation: fieldName,
        resourceId: id ?? null,
        workflowId: null,
        outcome: 'refused: FORBIDDEN',
        at: new Date(this.options.clock()),
      })
    }
    throw new GraphQLError(
      `${fieldName} needs the ability ${needed ?? 'admin'}, and this token has ${actor.abilities.join(', ') || 'none'}`,
      {
        extensions: { code: 'FORBIDDEN' },
      },
    )
  }
}

function isRoot(name: string): name is keyof typeof abilityOf {
  return name in abilityOf
}
