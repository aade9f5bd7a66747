import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import { GqlExecutionContext } from '@nestjs/graphql'
import type { GraphQLResolveInfo } from 'graphql'
import { from, mergeMap, type Observable } from 'rxjs'
import { AuditRepository } from '../../persistence/audit.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { abilityOf } from '../auth/ability.js'
import type { GraphqlContext } from '../graphql/context.js'
import type { UserErrorValue } from '../graphql/user-error.js'

interface Payload {
  userErrors?: UserErrorValue<string>[]
}

/** Audits mutations that were refused. What was done is audited in the transaction that did it. */
@Injectable()
export class RefusalAudit implements NestInterceptor {
  constructor(
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  intercept(execution: ExecutionContext, next: CallHandler<Payload>): Observable<Payload> {
    if (execution.getType<string>() !== 'graphql') return next.handle()
    const graphql = GqlExecutionContext.create(execution)
    const { parentType, fieldName } = graphql.getInfo<GraphQLResolveInfo>()
    if (parentType.name !== 'Mutation') return next.handle()
    const { actor } = graphql.getContext<GraphqlContext>()
    const { id } = graphql.getArgs<{ id?: string }>()
    return next.handle().pipe(
      mergeMap((payload) => {
        const errors = payload.userErrors ?? []
        if (errors.length === 0) return from([payload])
        const codes = [...new Set(errors.map((e) => (e.field ? `${e.code} ${e.field.join('.')}` : e.code)))]
        const written = this.audit.record({
          actor: actor.tokenId,
          ability: abilityOf.Mutation[fieldName] ?? 'admin',
          operation: fieldName,
          resourceId: id ?? null,
          workflowId: null,
          outcome: `refused: ${codes.join(', ')}`.slice(0, 500),
          at: new Date(this.options.clock()),
        })
        return from(written.then(() => payload))
      }),
    )
  }
}
