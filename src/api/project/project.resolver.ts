import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql'
import { ProjectRepository } from '../../persistence/project.repository.js'
import { nameSchema } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, projectCursor } from '../graphql/cursor.js'
import { invalidErrors } from '../graphql/user-error.js'
import { goneSinceError, keyErrors, keyReusedError, writeContext } from '../graphql/write-context.js'
import { ProjectCreateInput } from './project.input.js'
import { Project, ProjectConnection } from './project.model.js'
import { ProjectCreatePayload, ProjectDeletePayload } from './project.payload.js'

@Resolver(() => Project)
export class ProjectResolver {
  constructor(
    @Inject(ProjectRepository) private readonly projects: ProjectRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => Project, { nullable: true, description: 'One project; null when there is none with this id.' })
  project(@Args('id', { type: () => ID, description: 'Its id.' }) id: string, @Context() { loaders }: GraphqlContext) {
    return loaders.project.load(id)
  }

  @Query(() => ProjectConnection, { name: 'projects', description: 'All projects, by name.' })
  async list(
    @Args() args: PageArgs,
    @Args('name', { type: () => String, nullable: true, description: 'Only the one with this name.' })
    name: string | null | undefined,
  ) {
    const after = decodeCursor(projectCursor, args.after)?.name ?? null
    const page = await this.projects.list({ name: name ?? undefined }, { first: pageSize(args), after })
    return toConnection(page, args, (p) => ({ name: p.name }))
  }

  @Mutation(() => ProjectCreatePayload, { description: 'Makes a project.' })
  async projectCreate(
    @Args('input', { type: () => ProjectCreateInput, description: 'What is wanted.' }) input: ProjectCreateInput,
    @Args('idempotencyKey', {
      type: () => String,
      nullable: true,
      description: 'A repeated call with the same key and input answers as the first one, for a day.',
    })
    key: string | null | undefined,
    @Context() { actor }: GraphqlContext,
  ): Promise<ProjectCreatePayload> {
    const name = nameSchema.safeParse(input.name)
    const errors = [...keyErrors(key), ...(name.success ? [] : invalidErrors(name.error, ['input', 'name']))]
    if (errors.length > 0) return { project: null, userErrors: errors }
    const made = await this.projects.create(
      input.name,
      writeContext('projectCreate', actor, this.options.clock(), { key, input }),
    )
    switch (made.outcome) {
      case 'created':
      case 'repeated':
        return { project: made.project, userErrors: [] }
      case 'nameTaken':
        return {
          project: null,
          userErrors: [
            { field: ['input', 'name'], message: `the name «${input.name}» is taken by another project`, code: 'NAME_TAKEN' },
          ],
        }
      case 'keyReused':
        return { project: null, userErrors: [keyReusedError(made.operation)] }
      case 'goneSince':
        return { project: null, userErrors: [goneSinceError(made.id)] }
    }
  }

  @Mutation(() => ProjectDeletePayload, { description: 'Removes a project without resources; its secrets, registry credentials and env go with it.' })
  async projectDelete(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { actor }: GraphqlContext,
  ): Promise<ProjectDeletePayload> {
    const result = await this.projects.delete(id, writeContext('projectDelete', actor, this.options.clock()))
    switch (result.outcome) {
      case 'deleted':
        return { deletedId: id, userErrors: [] }
      case 'notFound':
        return { deletedId: null, userErrors: [{ field: ['id'], message: `there is no project ${id}`, code: 'NOT_FOUND' }] }
      case 'platform':
        return {
          deletedId: null,
          userErrors: [
            { field: ['id'], message: 'the platform project holds the nodes and cannot be deleted', code: 'PLATFORM' },
          ],
        }
      case 'notEmpty': {
        const named = result.resources.map((r) => `${r.kind} ${r.name}`).join(', ')
        return {
          deletedId: null,
          userErrors: [{ field: ['id'], message: `it still holds ${named}: delete them first`, code: 'NOT_EMPTY' }],
        }
      }
    }
  }
}
