import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql'
import { heldHostPorts } from '../../persistence/application-claims.js'
import type { Transaction } from '../../persistence/database.js'
import { ResourceRepository, type ResourceRow, type SpecChange } from '../../persistence/resource.repository.js'
import { nameSchema } from '../../reconcile/name.js'
import { nginxdemoSpecSchema, type NginxdemoSpec } from '../../reconcile/nginxdemo/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { expectedGenerationArgument, idArgument, idempotencyKeyArgument } from '../graphql/arguments.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor } from '../graphql/cursor.js'
import { merged, withoutNulls } from '../graphql/patch.js'
import { invalidErrors, type UserErrorValue } from '../graphql/user-error.js'
import { keyErrors, writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { changeErrors, createErrors, nameErrors } from '../resource/change-errors.js'
import { heldMessage } from '../resource/held-port.js'
import { NginxdemoCreateInput, NginxdemoUpdateInput } from './nginxdemo.input.js'
import { Nginxdemo, NginxdemoConnection } from './nginxdemo.model.js'
import { NginxdemoPayload, type NginxdemoCode } from './nginxdemo.payload.js'

type NginxdemoError = UserErrorValue<NginxdemoCode>
const kind = 'nginxdemo'

@Resolver(() => Nginxdemo)
export class NginxdemoResolver {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => Nginxdemo, { nullable: true, description: 'One demo; null when there is none with this id.' })
  async nginxdemo(@Args('id', idArgument) id: string, @Context() { loaders }: GraphqlContext) {
    const row = await loaders.resource.load(id)
    return row?.kind === kind ? row : null
  }

  @Query(() => NginxdemoConnection, { name: 'nginxdemos', description: 'Demos, by name.' })
  async list(
    @Args() args: PageArgs,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
  ) {
    const filter = { kind, projectId: projectId ?? undefined } as const
    const page = await this.resources.list(filter, { first: pageSize(args), after: decodeCursor(nameCursor, args.after) })
    return toConnection(page, args, (r) => ({ name: r.name, id: r.id }))
  }

  @Mutation(() => NginxdemoPayload, { description: 'Declares a demo.' })
  async nginxdemoCreate(
    @Args('input', { type: () => NginxdemoCreateInput, description: 'What is wanted.' }) input: NginxdemoCreateInput,
    @Args('idempotencyKey', idempotencyKeyArgument) key: string | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<NginxdemoPayload> {
    const { projectId, name, ...given } = input
    const checkedName = nameSchema.safeParse(name)
    const spec = nginxdemoSpecSchema.safeParse(withoutNulls(given))
    const errors: NginxdemoError[] = [
      ...keyErrors(key),
      ...(checkedName.success ? [] : invalidErrors(checkedName.error, ['input', 'name'])),
      ...(spec.success ? [] : invalidErrors(spec.error, ['input'])),
    ]
    if (errors.length > 0 || !spec.data) return { nginxdemo: null, userErrors: errors }
    const write = writeContext('nginxdemoCreate', context.actor, this.options.clock(), { key, input })
    const { hostPort } = spec.data
    const made = await this.resources.create({ kind, projectId, name, spec: spec.data }, write, (tx) =>
      portErrors(tx, null, hostPort),
    )
    if (made.outcome === 'refused') return { nginxdemo: null, userErrors: made.refused }
    if (!('resource' in made)) return { nginxdemo: null, userErrors: createErrors(made, input) }
    if (made.outcome === 'created') await this.nudger.written(made, context)
    return { nginxdemo: made.resource, userErrors: [] }
  }

  @Mutation(() => NginxdemoPayload, { description: 'Changes what is desired of a demo.' })
  async nginxdemoUpdate(
    @Args('id', idArgument) id: string,
    @Args('input', { type: () => NginxdemoUpdateInput, description: 'What is wanted.' }) input: NginxdemoUpdateInput,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<NginxdemoPayload> {
    const write = writeContext('nginxdemoUpdate', context.actor, this.options.clock())
    const result = await this.resources.patch<NginxdemoError[]>({ id, kind }, expectedGeneration ?? null, changeOf(input), write)
    if (result.outcome === 'refused') return { nginxdemo: await context.loaders.resource.load(id), userErrors: result.refused }
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { nginxdemo: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    if (result.outcome === 'changed') await this.nudger.written(result, context)
    return { nginxdemo: result.resource, userErrors: [] }
  }

  @Mutation(() => NginxdemoPayload, { description: 'Asks for its deletion.' })
  async nginxdemoDelete(
    @Args('id', idArgument) id: string,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<NginxdemoPayload> {
    const write = writeContext('nginxdemoDelete', context.actor, this.options.clock())
    const result = await this.resources.requestDeletion({ id, kind }, expectedGeneration ?? null, write)
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { nginxdemo: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    await this.nudger.written({ due: [], ...result }, context)
    return { nginxdemo: result.resource, userErrors: [] }
  }
}

/** Looked at when it changes only: what was free once must not keep back a change of something else. */
async function portErrors(tx: Transaction, id: string | null, hostPort: number): Promise<NginxdemoError[] | null> {
  const held = await heldHostPorts(tx, { id, node: undefined, ports: [{ hostPort }] })
  if (held.length === 0) return null
  return held.map((h) => ({ field: ['input', 'hostPort'], message: heldMessage(h), code: 'HOST_PORT_TAKEN' }))
}

function changeOf({ name, ...patch }: NginxdemoUpdateInput) {
  return async (current: unknown, row: ResourceRow, tx: Transaction): Promise<SpecChange<NginxdemoError[]>> => {
    const renamed = nameErrors(name, row, 'input', 'demo')
    if (renamed.length > 0) return { refused: renamed }
    const spec = nginxdemoSpecSchema.safeParse(merged(current, patch))
    if (!spec.success) return { refused: invalidErrors(spec.error, ['input']) }
    const { hostPort } = spec.data
    const held = hostPort === (current as NginxdemoSpec).hostPort ? null : await portErrors(tx, row.id, hostPort)
    return held ? { refused: held } : { spec: spec.data }
  }
}
