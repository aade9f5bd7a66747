import { Inject } from '@nestjs/common'
import { Args, Context, ID, Int, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import type { ReleaseRow, EndpointRow } from '../../persistence/application.repository.js'
import { namesOthers } from '../../persistence/references.js'
import { ResourceRepository, type ResourceRow } from '../../persistence/resource.repository.js'
import { applicationDefaults, applicationSpecSchema, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { nameSchema } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'
import { may } from '../auth/actor.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor, numberCursor } from '../graphql/cursor.js'
import { merged, withoutNulls } from '../graphql/patch.js'
import { invalidErrors, type UserErrorValue } from '../graphql/user-error.js'
import { keyErrors, writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { changeErrors, createErrors } from '../resource/change-errors.js'
import { ApplicationCreateInput, ApplicationUpdateInput } from './application-spec.input.js'
import {
  Application,
  ApplicationConnection,
  Endpoint,
  Release,
  ReleaseConnection,
  Replicas,
  Verdict,
} from './application.model.js'
import { ApplicationPayload, type ApplicationCode } from './application.payload.js'
import { referenceErrors, withReferences } from './reference-errors.js'

type ApplicationError = UserErrorValue<ApplicationCode>
const kind = 'application'

@Resolver(() => Application)
export class ApplicationResolver {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => Application, { nullable: true, description: 'One application; null when there is none with this id.' })
  async application(@Args('id', { type: () => ID, description: 'Its id.' }) id: string, @Context() { loaders }: GraphqlContext) {
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
    @Args('idempotencyKey', {
      type: () => String,
      nullable: true,
      description: 'A repeated call with the same key and input answers as the first one, for a day.',
    })
    key: string | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const checked = checkCreate(input)
    const errors: ApplicationError[] = [...keyErrors(key), ...checked.errors]
    if (checked.spec) errors.push(...(await this.placementErrors(checked.spec)))
    if (errors.length > 0 || !checked.spec) return { application: null, userErrors: errors }
    const { projectId, name } = input
    const { spec } = checked
    const write = writeContext('applicationCreate', context.actor, this.options.clock(), { key, input })
    const draft = { kind, projectId, name, spec } as const
    const made = namesOthers(spec)
      ? await this.resources.createChecked(draft, (tx) => referenceErrors(tx, projectId, spec), write)
      : await this.resources.create(draft, write)
    if (made.outcome === 'refused') return { application: null, userErrors: made.refused }
    if (!('resource' in made)) return { application: null, userErrors: createErrors(made, input) }
    if (made.outcome === 'created') await this.nudge(made.resource, context)
    return { application: made.resource, userErrors: [] }
  }

  @Mutation(() => ApplicationPayload, {
    description: 'Changes what is desired. The ability deploy is enough for a new image; other fields need write.',
  })
  async applicationUpdate(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Args('input', { type: () => ApplicationUpdateInput, description: 'What is wanted.' }) input: ApplicationUpdateInput,
    @Args('expectedGeneration', {
      type: () => Int,
      nullable: true,
      description: 'Refuse when somebody has changed it since this generation.',
    })
    expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const { name, ...patch } = input
    const abilityErrors = imageOnlyErrors(patch, context.actor)
    if (abilityErrors.length > 0) return { application: null, userErrors: abilityErrors }
    if (patch.placement) {
      const errors = await this.placementErrors({ placement: patch.placement })
      if (errors.length > 0) return { application: null, userErrors: errors }
    }
    const write = writeContext('applicationUpdate', context.actor, this.options.clock())
    const result = await this.resources.patch<ApplicationError[]>(
      { id, kind },
      expectedGeneration ?? null,
      withReferences(changeOf(name, patch)),
      write,
    )
    if (result.outcome === 'refused') return { application: await context.loaders.resource.load(id), userErrors: result.refused }
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { application: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    if (result.outcome === 'changed') await this.nudge(result.resource, context)
    return { application: result.resource, userErrors: [] }
  }

  @Mutation(() => ApplicationPayload, {
    description: 'Asks for its deletion: containers, addresses and records go, step by step, as its conditions tell.',
  })
  async applicationDelete(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Args('expectedGeneration', {
      type: () => Int,
      nullable: true,
      description: 'Refuse when somebody has changed it since this generation.',
    })
    expectedGeneration: number | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const write = writeContext('applicationDelete', context.actor, this.options.clock())
    const result = await this.resources.requestDeletion({ id, kind }, expectedGeneration ?? null, write)
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { application: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    await this.nudge(result.resource, context)
    return { application: result.resource, userErrors: [] }
  }

  @ResolveField(() => Replicas, { description: 'How many replicas there are.' })
  async replicas(@Parent() row: ResourceRow, @Context() { loaders }: GraphqlContext): Promise<Replicas> {
    const endpoints = await loaders.endpoints.load(row.id)
    return {
      desired: row.deletionRequestedAt ? 0 : ((row.spec as ApplicationSpec).replicas ?? applicationDefaults.replicas),
      ready: endpoints.filter((e) => e.state === 'ready').length,
    }
  }

  @ResolveField(() => [Endpoint], { description: 'Its replicas and their addresses, old releases first.' })
  endpoints(@Parent() row: ResourceRow, @Context() { loaders }: GraphqlContext) {
    return loaders.endpoints.load(row.id)
  }

  @ResolveField(() => Release, {
    nullable: true,
    description: 'The newest release that served and was not given up; null before the first one.',
  })
  servingRelease(@Parent() row: ResourceRow, @Context() { loaders }: GraphqlContext) {
    return loaders.servingRelease.load(row.id)
  }

  @ResolveField(() => ReleaseConnection, { description: 'Its releases, newest first.' })
  async releases(@Parent() row: ResourceRow, @Args() args: PageArgs, @Context() { loaders }: GraphqlContext) {
    const page = await loaders.releases({ first: pageSize(args), after: decodeCursor(numberCursor, args.after) }).load(row.id)
    return toConnection(page, args, (r) => String(r.number))
  }

  private async nudge(row: ResourceRow, { loaders }: GraphqlContext): Promise<void> {
    const project = await loaders.project.load(row.projectId)
    this.nudger.soon({ id: row.id, kind, project: project?.name ?? '', name: row.name })
  }

  private async placementErrors({ placement }: Pick<ApplicationSpec, 'placement'>): Promise<ApplicationError[]> {
    if (!placement || !nameSchema.safeParse(placement.node).success) return [] // the spec's schema says what is wrong
    const { rows } = await this.resources.list({ kind: 'node', name: placement.node }, { first: 1, after: null })
    if (rows.length > 0) return []
    return [{ field: ['input', 'placement', 'node'], message: `there is no node «${placement.node}»`, code: 'NODE_NOT_FOUND' }]
  }
}

@Resolver(() => Release)
export class ReleaseResolver {
  @ResolveField(() => Verdict, { nullable: true, description: 'Why it was given up; null for one that was not.' })
  verdict(@Parent() { verdictReason, verdictMessage }: ReleaseRow): Verdict | null {
    return verdictReason === null ? null : { reason: verdictReason, message: verdictMessage ?? '' }
  }
}

@Resolver(() => Endpoint)
export class EndpointResolver {
  @ResolveField(() => ID, { description: 'Id of the node that it runs on.' })
  nodeId(@Parent() endpoint: EndpointRow): string {
    return endpoint.node
  }
}

/** A create's input as a spec, or what is wrong with it. */
export function checkCreate(input: ApplicationCreateInput): {
  spec: ApplicationSpec | null
  errors: UserErrorValue<'INVALID'>[]
} {
  const { projectId: _, name, ...given } = input
  const checkedName = nameSchema.safeParse(name)
  const spec = applicationSpecSchema.safeParse(withoutNulls(given))
  const errors = [
    ...(checkedName.success ? [] : invalidErrors(checkedName.error, ['input', 'name'])),
    ...(spec.success ? [] : invalidErrors(spec.error, ['input'])),
  ]
  return { spec: spec.data ?? null, errors }
}

/** How an update changes a spec: merged, then checked as a whole, because fields depend on each other. */
export function changeOf(name: string | null | undefined, patch: Omit<ApplicationUpdateInput, 'name'>) {
  return (current: unknown, row: ResourceRow): { spec: ApplicationSpec } | { refused: ApplicationError[] } => {
    if (name !== undefined && name !== row.name)
      return {
        refused: [
          {
            field: ['input', 'name'],
            message: `a name does not change: this one stays «${row.name}»; create another application instead`,
            code: 'NAME_IMMUTABLE',
          },
        ],
      }
    const spec = applicationSpecSchema.safeParse(merged(current, patch))
    return spec.success ? { spec: spec.data } : { refused: invalidErrors(spec.error, ['input']) }
  }
}

/** A token with `deploy` alone may bring a new image and nothing else. */
function imageOnlyErrors(patch: object, actor: Actor): ApplicationError[] {
  if (may(actor, 'write')) return []
  return Object.entries(patch)
    .filter(([field, value]) => field !== 'image' && value !== undefined)
    .map(([field]) => ({
      field: ['input', field],
      message: 'this token may change the image only; this field needs the ability write',
      code: 'ABILITY_MISSING',
    }))
}
