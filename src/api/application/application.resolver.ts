import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import type { EndpointRow } from '../../persistence/application.repository.js'
import { ResourceRepository, type ResourceRow } from '../../persistence/resource.repository.js'
import { applicationDefaults, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { expectedGenerationArgument, idArgument, idempotencyKeyArgument } from '../graphql/arguments.js'
import { withoutPasswords } from '../domain/passwords.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor, numberCursor } from '../graphql/cursor.js'
import { keyErrors } from '../graphql/write-context.js'
import { checkCreate, type ApplicationError } from './application-checks.js'
import { ApplicationCreateInput, ApplicationUpdateInput } from './application-spec.input.js'
import { ApplicationWriter } from './application-writer.service.js'
import { Application, ApplicationConnection, Endpoint, Release, ReleaseConnection, Replicas } from './application.model.js'
import { ApplicationPayload } from './application.payload.js'
import { askedUpdate } from './asked-update.js'

const kind = 'application'

@Resolver(() => Application)
export class ApplicationResolver {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(ApplicationWriter) private readonly writer: ApplicationWriter,
  ) {}

  @Query(() => Application, { nullable: true, description: 'One application; null when there is none with this id.' })
  async application(@Args('id', idArgument) id: string, @Context() { loaders }: GraphqlContext) {
    const row = await loaders.resource.load(id)
    return row?.kind === kind ? row : null
  }

  @Query(() => ApplicationConnection, { name: 'applications', description: 'Applications, by name.' })
  async list(
    @Args() args: PageArgs,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
    @Args('name', { type: () => String, nullable: true, description: 'Only those with this name.' })
    name: string | null | undefined,
  ) {
    const filter = { kind, projectId: projectId ?? undefined, name: name ?? undefined } as const
    const page = await this.resources.list(filter, { first: pageSize(args), after: decodeCursor(nameCursor, args.after) })
    return toConnection(page, args, (r) => ({ name: r.name, id: r.id }))
  }

  @Mutation(() => ApplicationPayload, { description: 'Declares an application. It runs as soon as its loop has looked.' })
  async applicationCreate(
    @Args('input', { type: () => ApplicationCreateInput, description: 'What is wanted.' }) input: ApplicationCreateInput,
    @Args('idempotencyKey', idempotencyKeyArgument) key: string | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const { spec, errors } = await checkCreate(input)
    const userErrors: ApplicationError[] = [...keyErrors(key), ...errors]
    if (userErrors.length > 0 || !spec) return { application: null, userErrors }
    const { projectId, name } = input
    const asked = { operation: 'applicationCreate', projectId, name, spec, key, argument: 'input' }
    return this.writer.create({ ...asked, input: withoutPasswords(input) }, context)
  }

  @Mutation(() => ApplicationPayload, {
    description: 'Changes what is desired. The ability deploy is enough for a new image; other fields need write.',
  })
  async applicationUpdate(
    @Args('id', idArgument) id: string,
    @Args('input', { type: () => ApplicationUpdateInput, description: 'What is wanted.' }) input: ApplicationUpdateInput,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const asked = await askedUpdate(id, input, 'input', expectedGeneration)
    return 'errors' in asked ? { application: null, userErrors: asked.errors } : this.writer.change(asked, context)
  }

  @Mutation(() => ApplicationPayload, {
    description:
      'Asks for its deletion: containers, addresses and records go, step by step, as its conditions tell. Refused while others depend on it. Its volumes stay, unless `removeVolumes` says otherwise.',
  })
  async applicationDelete(
    @Args('id', idArgument) id: string,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: number | null | undefined,
    @Args('removeVolumes', {
      type: () => Boolean,
      nullable: true,
      description:
        'Removes its volumes with what they hold, on every node where it has any, as soon as its containers are gone. Not given: as an earlier call said, or else they stay. May be said anew as long as the deletion is not over.',
    })
    removesVolumes: boolean | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    return this.writer.delete({ id, expectedGeneration, removesVolumes }, context)
  }

  @ResolveField(() => Replicas, { description: 'How many replicas there are.' })
  async replicas(row: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<Replicas> {
    const endpoints = await loaders.endpoints.load(row.id)
    return {
      desired: row.deletionRequestedAt ? 0 : ((row.spec as ApplicationSpec).replicas ?? applicationDefaults.replicas),
      ready: endpoints.filter((e) => e.state === 'ready').length,
    }
  }

  @ResolveField(() => [Endpoint], { description: 'Its replicas and their addresses, old releases first.' })
  endpoints(row: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.endpoints.load(row.id)
  }

  @ResolveField(() => Release, {
    nullable: true,
    description: 'The newest release that served and was not given up; null before the first one.',
  })
  servingRelease(row: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.servingRelease.load(row.id)
  }

  @ResolveField(() => ReleaseConnection, { description: 'Its releases, newest first.' })
  async releases(@Parent() row: ResourceRow, @Args() args: PageArgs, @Context() { loaders }: GraphqlContext) {
    const page = await loaders.releases({ first: pageSize(args), after: decodeCursor(numberCursor, args.after) }).load(row.id)
    return toConnection(page, args, (r) => String(r.number))
  }
}

@Resolver(() => Endpoint)
export class EndpointResolver {
  @ResolveField(() => ID, { description: 'Id of the node that it runs on.' })
  nodeId(endpoint: EndpointRow): string {
    return endpoint.node
  }
}
