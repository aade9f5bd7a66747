import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, ResolveField, Resolver } from '@nestjs/graphql'
import { z } from 'zod'
import { ProjectRepository } from '../../persistence/project.repository.js'
import { applicationSpecSchema } from '../../reconcile/application/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { EnvInput } from '../application/application-spec.input.js'
import { Env } from '../application/application-spec.model.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { Project } from './project.model.js'
import { ProjectEnvPayload } from './project.payload.js'

/**
 * Bytes of a project's env on the wire. It comes on top of what an application says itself (settingsBytesMost), and both
 * together have to fit into one action.
 */
export const projectEnvBytesMost = 12 * 1024

const envSchema = applicationSpecSchema.shape.env.unwrap().superRefine((env, ctx) => {
  const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify(env)))
  if (bytes > projectEnvBytesMost)
    ctx.addIssue({
      code: 'custom',
      message: `takes ${bytes} bytes on the wire, more than ${projectEnvBytesMost}: put what is big into the applications that need it`,
    })
}) satisfies z.ZodType

@Resolver(() => Project)
export class ProjectEnvResolver {
  constructor(
    @Inject(ProjectRepository) private readonly projects: ProjectRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @ResolveField(() => [Env], { description: 'Env of all its applications, by name; what an application names itself wins.' })
  env({ id }: Project, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.projectEnv.load(id)
  }

  @Mutation(() => ProjectEnvPayload, {
    description: 'Sets the env of all applications of a project, as a whole list. They roll over to it.',
  })
  async projectEnvSet(
    @Args('projectId', { type: () => ID, description: 'The project.' }) projectId: string,
    @Args('env', { type: () => [EnvInput], description: 'The whole list; what is not in it is gone.' }) env: EnvInput[],
    @Context() { actor }: GraphqlContext,
  ): Promise<ProjectEnvPayload> {
    const checked = envSchema.safeParse(env)
    if (!checked.success) return { project: null, userErrors: invalidErrors(checked.error, ['env']) }
    const result = await this.projects.setEnv(projectId, checked.data, writeContext('projectEnvSet', actor, this.options.clock()))
    if (result.outcome === 'notFound')
      return {
        project: null,
        userErrors: [{ field: ['projectId'], message: `there is no project ${projectId}`, code: 'NOT_FOUND' }],
      }
    if (result.outcome === 'set') this.nudger.allSoon(result.due)
    return { project: result.project, userErrors: [] }
  }
}
