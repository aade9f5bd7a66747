import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql'
import { lockHostPorts } from '../../persistence/application-claims.js'
import type { Transaction } from '../../persistence/database.js'
import { ResourceRepository, type ResourceRow, type SpecChange } from '../../persistence/resource.repository.js'
import { nameSchema } from '../../reconcile/name.js'
import { ingressSpecSchema, type IngressSpec } from '../../reconcile/ingress/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { expectedGenerationArgument, idArgument, idempotencyKeyArgument } from '../graphql/arguments.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor } from '../graphql/cursor.js'
import { merged, withoutNulls } from '../graphql/patch.js'
import { invalidErrors } from '../graphql/user-error.js'
import { keyErrors, writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { changeErrors, createErrors, nameErrors } from '../resource/change-errors.js'
import { IngressCreateInput, IngressUpdateInput } from './ingress.input.js'
import { Ingress, IngressConnection } from './ingress.model.js'
import { ingressConflicts, type IngressError } from './ingress-checks.js'
import { IngressPayload } from './ingress.payload.js'

const kind = 'ingress'

@Resolver(() => Ingress)
export class IngressResolver {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => Ingress, { nullable: true, description: 'One ingress; null when there is none with this id.' })
  async ingress(@Args('id', idArgument) id: string, @Context() { loaders }: GraphqlContext) {
    const row = await loaders.resource.load(id)
    return row?.kind === kind ? row : null
  }

  @Query(() => IngressConnection, { name: 'ingresses', description: 'Ingresses, by name.' })
  async list(
    @Args() args: PageArgs,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
  ) {
    const filter = { kind, projectId: projectId ?? undefined } as const
    const page = await this.resources.list(filter, { first: pageSize(args), after: decodeCursor(nameCursor, args.after) })
    return toConnection(page, args, (r) => ({ name: r.name, id: r.id }))
  }

  @Mutation(() => IngressPayload, { description: 'Declares the ingress of a node.' })
  async ingressCreate(
    @Args('input', { type: () => IngressCreateInput, description: 'What is wanted.' }) input: IngressCreateInput,
    @Args('idempotencyKey', idempotencyKeyArgument) key: string | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<IngressPayload> {
    const { projectId, name, ...given } = input
    const checkedName = nameSchema.safeParse(name)
    const spec = ingressSpecSchema.safeParse(withoutNulls(given))
    const errors: IngressError[] = [
      ...keyErrors(key),
      ...(checkedName.success ? [] : invalidErrors(checkedName.error, ['input', 'name'])),
      ...(spec.success ? [] : invalidErrors(spec.error, ['input'])),
    ]
    if (errors.length > 0 || !spec.data) return { ingress: null, userErrors: errors }
    const write = writeContext('ingressCreate', context.actor, this.options.clock(), { key, input })
    const wanted = spec.data
    const made = await this.resources.create({ kind, projectId, name, spec: wanted }, write, (tx) =>
      ingressConflicts(tx, null, null, wanted),
    )
    if (made.outcome === 'refused') return { ingress: null, userErrors: made.refused }
    if (!('resource' in made)) return { ingress: null, userErrors: createErrors(made, input) }
    if (made.outcome === 'created') await this.nudger.written(made, context)
    return { ingress: made.resource, userErrors: [] }
  }

  @Mutation(() => IngressPayload, { description: 'Changes what is desired of an ingress.' })
  async ingressUpdate(
    @Args('id', idArgument) id: string,
    @Args('input', { type: () => IngressUpdateInput, description: 'What is wanted.' }) input: IngressUpdateInput,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<IngressPayload> {
    const write = writeContext('ingressUpdate', context.actor, this.options.clock())
    const result = await this.resources.patch<IngressError[]>(
      { id, kind },
      expectedGeneration ?? null,
      changeOf(input),
      write,
      lockHostPorts,
    )
    if (result.outcome === 'refused') return { ingress: await context.loaders.resource.load(id), userErrors: result.refused }
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { ingress: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    if (result.outcome === 'changed') await this.nudger.written(result, context)
    return { ingress: result.resource, userErrors: [] }
  }

  @Mutation(() => IngressPayload, {
    description: 'Asks for its deletion. Domains of its node are served no more; their certificates stay on the node.',
  })
  async ingressDelete(
    @Args('id', idArgument) id: string,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<IngressPayload> {
    const write = writeContext('ingressDelete', context.actor, this.options.clock())
    const result = await this.resources.requestDeletion({ id, kind }, expectedGeneration ?? null, write)
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { ingress: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    await this.nudger.written({ due: [], ...result }, context)
    return { ingress: result.resource, userErrors: [] }
  }
}

function changeOf({ name, ...patch }: IngressUpdateInput) {
  return async (current: unknown, row: ResourceRow, tx: Transaction): Promise<SpecChange<IngressError[]>> => {
    const renamed = nameErrors(name, row, 'input', 'ingress')
    if (renamed.length > 0) return { refused: renamed }
    const spec = ingressSpecSchema.safeParse(merged(current, patch))
    if (!spec.success) return { refused: invalidErrors(spec.error, ['input']) }
    const conflicts = await ingressConflicts(tx, row.id, current as IngressSpec, spec.data)
    return conflicts ? { refused: conflicts } : { spec: spec.data }
  }
}
