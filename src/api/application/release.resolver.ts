import { Args, Context, Int, Query, ResolveField, Resolver } from '@nestjs/graphql'
import type { ReleaseRow } from '../../persistence/application.repository.js'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import { may } from '../auth/actor.js'
import { idArgument } from '../graphql/arguments.js'
import type { GraphqlContext } from '../graphql/context.js'
import type { ApplicationError } from './application-checks.js'
import { ApplicationFile, ReleaseTemplate } from './application-spec.model.js'
import { Release, ReleaseLog, Verdict } from './application.model.js'
import { ReleaseDiffPayload } from './application.payload.js'
import { releaseDifferences } from './release-diff.js'

@Resolver(() => Release)
export class ReleaseResolver {
  @Query(() => ReleaseDiffPayload, {
    description:
      'What differs between two releases of an application: settings that each froze, and the images. Secrets are told by version only.',
  })
  async applicationReleaseDiff(
    @Args('id', idArgument) id: string,
    @Args('from', { type: () => Int, description: 'Number of one release.' }) from: number,
    @Args('to', { type: () => Int, description: 'Number of the other one.' }) to: number,
    @Context() { loaders, actor }: GraphqlContext,
  ): Promise<ReleaseDiffPayload> {
    if ((await loaders.resource.load(id))?.kind !== 'application')
      return refused([{ field: ['id'], message: `there is no application ${id}`, code: 'NOT_FOUND' }])
    const [before, after] = await Promise.all(
      [from, to].map((number) => loaders.releaseTemplate.load({ resourceId: id, number })),
    )
    if (before && after) return { differences: releaseDifferences(before, after, may(actor, 'write')), userErrors: [] }
    return refused([...(before ? [] : [missing('from', from)]), ...(after ? [] : [missing('to', to)])])
  }

  @ResolveField(() => Verdict, { nullable: true, description: 'Why it was given up; null for one that was not.' })
  verdict({ verdictReason, verdictMessage }: ReleaseRow): Verdict | null {
    return verdictReason === null ? null : { reason: verdictReason, message: verdictMessage ?? '' }
  }

  @ResolveField(() => ReleaseLog, {
    nullable: true,
    description: 'The last lines of what made it fail; null where none were kept.',
  })
  async verdictLog({ verdictLog }: ReleaseRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<ReleaseLog | null> {
    const artifact = verdictLog === null ? null : await loaders.artifact.load(verdictLog)
    return artifact && { lines: linesOf(artifact.content) }
  }

  @ResolveField(() => ReleaseTemplate, { description: 'The settings that it froze.' })
  async template(release: ReleaseRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return (await loaders.releaseTemplate.load(release))?.template
  }

  @ResolveField(() => String, {
    nullable: true,
    description: 'Id of the token that asked for its generation; null when nobody knows.',
  })
  async actor(release: ReleaseRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<string | null> {
    return (await loaders.releaseActor.load(release))?.actor ?? null
  }

  @ResolveField(() => String, { nullable: true, description: "That token's name; null when no token asked." })
  async actorName(release: ReleaseRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<string | null> {
    const asked = await loaders.releaseActor.load(release)
    return asked && ((await loaders.token.load(asked.actor))?.name ?? null)
  }
}

type File = NonNullable<ApplicationSpec['files']>[number]

/** Files often hold what env should not: their contents are for those who may change them. */
@Resolver(() => ApplicationFile)
export class ApplicationFileResolver {
  @ResolveField(() => String, {
    nullable: true,
    description: 'Its text, for tokens with the ability write; null for all others, and for a secret.',
  })
  content({ content }: File, _noArguments: unknown, { actor }: GraphqlContext): string | null {
    return may(actor, 'write') ? (content ?? null) : null
  }

  @ResolveField(() => Int, { nullable: true, description: 'Length of its text in bytes; null for a secret.' })
  contentBytes({ content }: File): number | null {
    return content === undefined ? null : Buffer.byteLength(content)
  }
}

function linesOf(content: Uint8Array): string[] {
  const text = Buffer.from(content).toString('utf8').replace(/\n$/, '')
  return text === '' ? [] : text.split('\n')
}

function missing(argument: string, number: number): ApplicationError {
  return { field: [argument], message: `there is no release ${number} of it`, code: 'RELEASE_NOT_FOUND' }
}

function refused(userErrors: ApplicationError[]): ReleaseDiffPayload {
  return { differences: null, userErrors }
}
