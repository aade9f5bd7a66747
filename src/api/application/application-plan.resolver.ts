import { Inject } from '@nestjs/common'
import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql'
import { GraphQLError } from 'graphql'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import { withoutHashes } from '../../reconcile/ingress/without-hashes.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { GraphqlContext } from '../graphql/context.js'
import { checkCreate, type ApplicationError } from './application-checks.js'
import { ApplicationCreateInput, ApplicationUpdateInput } from './application-spec.input.js'
import { ApplicationWriter, type PlannedChange } from './application-writer.service.js'
import { ApplicationPlanPayload } from './application.payload.js'
import { askedUpdate } from './asked-update.js'
import { PreviewUnavailable, type PreviewRequest, type PreviewResult } from './preview.port.js'

@Resolver()
export class ApplicationPlanResolver {
  constructor(
    @Inject(ApplicationWriter) private readonly writer: ApplicationWriter,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => ApplicationPlanPayload, {
    description:
      'What would follow, step by step, from what is there now: for an application as it is desired (`id`), as a change would make it (`id` and `changes`), or for a new one (`input`). A change is checked as its mutation would check it for this token, with the same userErrors. Writes nothing.',
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
    const asked = input ? await this.newOne(input, context) : await this.existing(id ?? '', changes, context)
    if ('errors' in asked) return refused(asked.errors)
    return { plan: await this.preview(asked.request), userErrors: [] }
  }

  private async newOne(input: ApplicationCreateInput, context: GraphqlContext): Promise<Asked> {
    const { projectId, name } = input
    const { spec, errors } = await checkCreate(input)
    if (errors.length > 0 || !spec) return { errors }
    const unfit = await this.writer.planCreate(
      { operation: 'applicationCreate', projectId, name, spec, argument: 'input' },
      context,
    )
    if (unfit.length > 0) return { errors: unfit }
    return { request: await requestFor({ resourceId: null, projectId, name, spec }, context) }
  }

  private async existing(
    id: string,
    changes: ApplicationUpdateInput | null | undefined,
    context: GraphqlContext,
  ): Promise<Asked> {
    const made = changes ? await this.changed(id, changes, context) : await asItStands(id, context)
    if ('errors' in made) return made
    const { row, spec } = made
    return { request: await requestFor({ resourceId: id, projectId: row.projectId, name: row.name, spec }, context) }
  }

  private async changed(id: string, changes: ApplicationUpdateInput, context: GraphqlContext) {
    const asked = await askedUpdate(id, changes, 'changes')
    return 'errors' in asked ? asked : this.writer.planChange(asked, context)
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

/** What is asked of the preview, with a spec that was checked. */
type Checked = PreviewRequest & { spec: ApplicationSpec }
type Asked = { request: Checked } | { errors: ApplicationError[] }

async function asItStands(id: string, { loaders }: GraphqlContext): Promise<PlannedChange | { errors: ApplicationError[] }> {
  const row = await loaders.resource.load(id)
  if (row?.kind === 'application') return { row, spec: row.spec as ApplicationSpec }
  return { errors: [{ field: ['id'], message: `there is no application ${id}`, code: 'NOT_FOUND' }] }
}

async function requestFor(subject: Omit<Checked, 'project'>, { loaders }: GraphqlContext): Promise<Checked> {
  const project = await loaders.project.load(subject.projectId)
  return { ...subject, project: project?.name ?? '' }
}

function refused(userErrors: ApplicationError[]): ApplicationPlanPayload {
  return { plan: null, userErrors }
}
