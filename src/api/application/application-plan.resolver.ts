import { Inject } from '@nestjs/common'
import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql'
import { GraphQLError } from 'graphql'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import { applicationSpecSchema, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { withoutHashes } from '../../reconcile/ingress/without-hashes.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { hashPasswords } from '../domain/passwords.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { checkCreate, onArgument, type ApplicationError } from './application-checks.js'
import { ApplicationCreateInput, ApplicationUpdateInput } from './application-spec.input.js'
import { ApplicationPlanPayload } from './application.payload.js'
import { patchOf } from './application.resolver.js'
import { referenceErrors } from './reference-errors.js'
import { PreviewUnavailable, type PreviewRequest, type PreviewResult } from './preview.port.js'

@Resolver()
export class ApplicationPlanResolver {
  constructor(@Inject(API_OPTIONS) private readonly options: ApiOptions) {}

  @Query(() => ApplicationPlanPayload, {
    description:
      'What would follow, step by step, from what is there now: for an application as it is desired (`id`), as a change would make it (`id` and `changes`), or for a new one (`input`). Writes nothing.',
  })
  async applicationPlan(
    @Args('id', { type: () => ID, nullable: true, description: 'An application that exists.' }) id: string | null | undefined,
    @Args('changes', {
      type: () => ApplicationUpdateInput,
      nullable: true,
      description: 'A change of it, as applicationUpdate would take it.',
    })
    changes: ApplicationUpdateInput | null | undefined,
    @Args('input', {
      type: () => ApplicationCreateInput,
      nullable: true,
      description: 'A new one, as applicationCreate would take it.',
    })
    input: ApplicationCreateInput | null | undefined,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPlanPayload> {
    if ((id === null || id === undefined) === (input === null || input === undefined) || (changes && !id))
      return refused([{ field: null, message: 'give either `id` (with `changes` or without) or `input`', code: 'INVALID' }])
    const asked = input ? await newOne(input, context) : await existing(id ?? '', changes, context)
    if ('errors' in asked) return refused(asked.errors)
    const { projectId, spec } = asked.request
    const unknown = input || changes ? await referenceErrors(this.options.database, projectId, spec) : []
    if (unknown.length > 0) return refused(onArgument(input ? 'input' : 'changes', unknown))
    return { plan: await this.preview(asked.request), userErrors: [] }
  }

  private async preview(request: PreviewRequest): Promise<PreviewResult> {
    const { previews } = this.options
    try {
      if (!previews) throw new PreviewUnavailable('previews are not available in this process')
      return await previews.preview({ ...request, spec: withoutHashes(request.spec) })
    } catch (error) {
      if (!(error instanceof PreviewUnavailable)) throw error
      throw new GraphQLError(error.message, { extensions: { code: 'NOT_AVAILABLE' } })
    }
  }
}

type Asked = { request: PreviewRequest & { spec: ApplicationSpec } } | { errors: ApplicationError[] }

async function newOne(input: ApplicationCreateInput, { loaders }: GraphqlContext): Promise<Asked> {
  const { spec, errors } = await checkCreate(input)
  const project = await loaders.project.load(input.projectId)
  const all: ApplicationError[] = [...errors]
  if (!project)
    all.push({ field: ['input', 'projectId'], message: `there is no project ${input.projectId}`, code: 'PROJECT_NOT_FOUND' })
  if (all.length > 0 || !spec || !project) return { errors: all }
  return { request: { resourceId: null, projectId: project.id, project: project.name, name: input.name, spec } }
}

async function existing(
  id: string,
  changes: ApplicationUpdateInput | null | undefined,
  { loaders }: GraphqlContext,
): Promise<Asked> {
  const row: ResourceRow | null = await loaders.resource.load(id)
  if (row?.kind !== 'application')
    return { errors: [{ field: ['id'], message: `there is no application ${id}`, code: 'NOT_FOUND' }] }
  const { name, ...patch } = changes ?? {}
  const hashed = await hashPasswords(patch, ['changes'])
  if (hashed.errors.length > 0) return { errors: hashed.errors }
  const changed = patchOf(name, hashed.input)(row.spec, row)
  if ('refused' in changed) return { errors: changed.refused.map(inChanges) }
  const spec = applicationSpecSchema.safeParse(changed.spec)
  if (!spec.success) return { errors: invalidErrors(spec.error, ['changes']) }
  const project = await loaders.project.load(row.projectId)
  return {
    request: {
      resourceId: id,
      projectId: row.projectId,
      project: project?.name ?? '',
      name: row.name,
      spec: spec.data,
    },
  }
}

/** Errors name the argument of applicationUpdate; here it is called otherwise. */
function inChanges(error: ApplicationError): ApplicationError {
  return { ...error, field: error.field && ['changes', ...error.field.slice(1)] }
}

function refused(userErrors: ApplicationError[]): ApplicationPlanPayload {
  return { plan: null, userErrors }
}
