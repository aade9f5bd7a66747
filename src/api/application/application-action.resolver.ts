import { Inject } from '@nestjs/common'
import { Args, Context, ID, Int, Mutation, Resolver } from '@nestjs/graphql'
import { readReleaseOrigin, type ReleaseOrigin } from '../../persistence/application.repository.js'
import { hostPortText, templateFields, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { domainKey } from '../../reconcile/ingress/domain.js'
import { nameSchema } from '../../reconcile/name.js'
import {
  ChangeArgs,
  expectedGenerationArgument,
  idArgument,
  idempotencyKeyArgument,
  RepeatableChangeArgs,
} from '../graphql/arguments.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { ApplicationWriter, type NewSpec } from './application-writer.service.js'
import { ApplicationClonePayload, ApplicationPayload } from './application.payload.js'

type Maybe<T> = T | null | undefined

/** What people do to an application that runs. Each is a change of what is desired, and goes the one way of all changes. */
@Resolver()
export class ApplicationActionResolver {
  constructor(@Inject(ApplicationWriter) private readonly writer: ApplicationWriter) {}

  @Mutation(() => ApplicationPayload, {
    description:
      'New containers of the same settings, as a release of its own and by the strategy. What a tag means is asked again, as for every release: an image that must not change is named by its digest.',
  })
  applicationRestart(@Args() args: RepeatableChangeArgs, @Context() context: GraphqlContext): Promise<ApplicationPayload> {
    return this.changeAs('applicationRestart', args, again, context)
  }

  @Mutation(() => ApplicationPayload, {
    description: 'A new release of the same settings with what the tag means now, also when that has not changed.',
  })
  applicationRedeploy(@Args() args: RepeatableChangeArgs, @Context() context: GraphqlContext): Promise<ApplicationPayload> {
    return this.changeAs('applicationRedeploy', args, again, context)
  }

  @Mutation(() => ApplicationPayload, { description: 'Changes how many replicas should run. The others go on running.' })
  applicationScale(
    @Args('id', idArgument) id: string,
    @Args('replicas', { type: () => Int, description: '0 to 100.' }) replicas: number,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: Maybe<number>,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const change: NewSpec = (spec) => ({ spec: { ...spec, replicas } })
    return this.writer.change({ operation: 'applicationScale', id, expectedGeneration, argument: 'replicas', change }, context)
  }

  @Mutation(() => ApplicationPayload, {
    description: 'Lets nothing of it run, and keeps everything else: settings, releases, volumes, its name and its host ports.',
  })
  applicationSuspend(@Args() args: ChangeArgs, @Context() context: GraphqlContext): Promise<ApplicationPayload> {
    return this.changeAs('applicationSuspend', args, (spec) => ({ spec: { ...spec, suspended: true } }), context)
  }

  @Mutation(() => ApplicationPayload, { description: 'Lets a suspended application run again.' })
  applicationResume(@Args() args: ChangeArgs, @Context() context: GraphqlContext): Promise<ApplicationPayload> {
    return this.changeAs('applicationResume', args, ({ suspended: _, ...spec }) => ({ spec }), context)
  }

  @Mutation(() => ApplicationPayload, {
    description:
      'Makes the settings of an old release the desired ones again, as a change like any other, with a new release. The image is pinned to what that release ran, where that is name@digest. Replicas, limits, strategy and whatever else needs no new containers stay as they are. Secrets are taken in their newest versions, unless the settings named one.',
  })
  applicationRollback(
    @Args('id', idArgument) id: string,
    @Args('toRelease', { type: () => Int, description: 'Number of the release to go back to.' }) toRelease: number,
    @Args('expectedGeneration', expectedGenerationArgument) expectedGeneration: Maybe<number>,
    @Args('idempotencyKey', idempotencyKeyArgument) key: Maybe<string>,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    const change: NewSpec = async (spec, row, tx) => {
      const origin = await readReleaseOrigin(tx, row.id, toRelease)
      if (origin) return { spec: rolledBack(spec, origin) }
      const message = `there is no release ${toRelease} of it: its releases are told by application.releases`
      return { refused: [{ field: ['toRelease'], message, code: 'RELEASE_NOT_FOUND' }] }
    }
    const asked = {
      operation: 'applicationRollback',
      id,
      expectedGeneration,
      key,
      input: { toRelease },
      argument: 'toRelease',
      change,
    }
    return this.writer.change(asked, context)
  }

  @Mutation(() => ApplicationClonePayload, {
    description:
      'A new application of the same settings. Its volumes are its own and empty. Host ports and domains are left out, because only one application can have them.',
  })
  async applicationClone(
    @Args('id', { type: () => ID, description: 'The application to copy.' }) id: string,
    @Args('name', { type: () => String, description: 'Name of the new one: a DNS label, unique in its project.' }) name: string,
    @Args('projectId', {
      type: () => ID,
      nullable: true,
      description: 'Where the new one goes; the same project when not given.',
    })
    projectId: Maybe<string>,
    @Args('idempotencyKey', idempotencyKeyArgument) key: Maybe<string>,
    @Context() context: GraphqlContext,
  ): Promise<ApplicationClonePayload> {
    const source = await context.loaders.resource.load(id)
    const refused = (userErrors: ApplicationPayload['userErrors']) => ({ application: null, leftOut: [], userErrors })
    if (source?.kind !== 'application')
      return refused([{ field: ['id'], message: `there is no application ${id}`, code: 'NOT_FOUND' }])
    const checkedName = nameSchema.safeParse(name)
    if (!checkedName.success) return refused(invalidErrors(checkedName.error, ['name']))
    const { spec, leftOut } = cloned(source.spec as ApplicationSpec)
    const target = projectId ?? source.projectId
    const input = { id, name, projectId }
    const made = await this.writer.create(
      { operation: 'applicationClone', projectId: target, name, spec, key, input, argument: 'id' },
      context,
    )
    if (made.userErrors.length > 0) return refused(made.userErrors.map(onOwnArgument))
    return { ...made, leftOut }
  }

  private changeAs(
    operation: string,
    { id, expectedGeneration, idempotencyKey: key }: RepeatableChangeArgs,
    change: NewSpec,
    context: GraphqlContext,
  ): Promise<ApplicationPayload> {
    return this.writer.change({ operation, id, expectedGeneration, key, argument: 'id', change }, context)
  }
}

const again: NewSpec = (spec, { generation }) => ({ spec: { ...spec, restartNonce: generation + 1 } })

function rolledBack(spec: ApplicationSpec, origin: ReleaseOrigin): ApplicationSpec {
  const kept = Object.entries(spec).filter(([field]) => !isTemplateField(field) || field === 'restartNonce')
  const old = Object.entries(origin.spec).filter(([field]) => isTemplateField(field) && field !== 'restartNonce')
  // An image id names nothing that another node, or this one after a clean-up, could pull.
  const image = origin.resolvedImage.includes('@') ? origin.resolvedImage : origin.image
  return { ...Object.fromEntries([...kept, ...old]), image }
}

function isTemplateField(field: string): boolean {
  return templateFields.some((f) => f === field)
}

function cloned({ publishedPorts = [], domains = [], restartNonce: _, ...spec }: ApplicationSpec): {
  spec: ApplicationSpec
  leftOut: string[]
} {
  const ports = publishedPorts.map((port) => `host port ${hostPortText(port)}`)
  return { spec, leftOut: [...ports, ...domains.map((domain) => `domain ${domainKey(domain).replace(/\/$/, '')}`)] }
}

/** A clone has no input: what a create calls input.name is its argument name. */
function onOwnArgument<E extends { field: string[] | null }>(error: E): E {
  return error.field?.[0] === 'input' ? { ...error, field: error.field.slice(1) } : error
}
