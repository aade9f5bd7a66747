import { Inject } from '@nestjs/common'
import { Args, ID, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { AuditRepository, type AuditRow } from '../../persistence/audit.repository.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, numberCursor } from '../graphql/cursor.js'
import { AuditEntry, AuditEntryConnection } from './audit.model.js'

@Resolver(() => AuditEntry)
export class AuditResolver {
  constructor(@Inject(AuditRepository) private readonly repository: AuditRepository) {}

  @Query(() => AuditEntryConnection, { description: 'Who asked for what, newest first.' })
  async audit(
    @Args() args: PageArgs,
    @Args('resourceId', { type: () => ID, nullable: true, description: 'Only what was about this resource, project or token.' })
    resourceId: string | null | undefined,
    @Args('actor', { type: () => ID, nullable: true, description: 'Only what this token asked for.' })
    actor: string | null | undefined,
  ) {
    const filter = { resourceId: resourceId ?? undefined, actor: actor ?? undefined }
    const page = await this.repository.list(filter, { first: pageSize(args), after: decodeCursor(numberCursor, args.after) })
    return toConnection(page, args, (e) => String(e.id))
  }

  @ResolveField(() => ID, { description: 'Its number; later ones are higher.' })
  id({ id }: AuditRow): string {
    return String(id)
  }

  @ResolveField(() => String, { nullable: true, description: "The token's name; null when no token asked." })
  async actorName({ actor }: AuditRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<string | null> {
    return (await loaders.token.load(actor))?.name ?? null
  }

  @ResolveField(() => String, { nullable: true, description: 'What was desired before, as JSON.' })
  before({ before }: AuditRow): string | null {
    return before === null ? null : JSON.stringify(before)
  }

  @ResolveField(() => String, { nullable: true, description: 'What is desired since, as JSON.' })
  after({ after }: AuditRow): string | null {
    return after === null ? null : JSON.stringify(after)
  }
}
