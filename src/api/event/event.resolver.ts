import { Inject } from '@nestjs/common'
import { Args, ID, Query, ResolveField, Resolver, Subscription } from '@nestjs/graphql'
import { EventRepository, type EventFilter, type EventRow } from '../../persistence/event.repository.js'
import { ChangeFeed, expanded, orEnd, type Told } from '../change/change-feed.service.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import { decodeCursor, numberCursor } from '../graphql/cursor.js'
import { Event, EventConnection } from './event.model.js'

/** After a break this many numbers are read again: a transaction may commit an older number after a newer one. */
const overlap = 500n

@Resolver(() => Event)
export class EventResolver {
  constructor(
    @Inject(EventRepository) private readonly repository: EventRepository,
    @Inject(ChangeFeed) private readonly changes: ChangeFeed,
  ) {}

  @Query(() => Event, { nullable: true, description: 'One event; null when there is none with this id.' })
  async event(@Args('id', { type: () => ID, description: 'Its id.' }) id: string) {
    const number = numberCursor.safeParse(id)
    return number.success ? this.repository.get(number.data) : null
  }

  @Query(() => EventConnection, { name: 'events', description: 'Events, newest first.' })
  async list(
    @Args() args: PageArgs,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
    @Args('resourceId', { type: () => ID, nullable: true, description: 'Only those of this resource.' })
    resourceId: string | null | undefined,
  ) {
    const filter = { projectId: projectId ?? undefined, resourceId: resourceId ?? undefined }
    const page = await this.repository.list(filter, { first: pageSize(args), after: decodeCursor(numberCursor, args.after) })
    return toConnection(page, args, (e) => String(e.id))
  }

  @Subscription(() => Event, {
    name: 'events',
    description:
      'Events as they happen, oldest first. With `after` (a cursor of the query `events`) it begins with those that came since.',
  })
  async follow(
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
    @Args('resourceId', { type: () => ID, nullable: true, description: 'Only those of this resource.' })
    resourceId: string | null | undefined,
    @Args('after', { type: () => String, nullable: true, description: 'Begin behind this event.' })
    after: string | null | undefined,
  ): Promise<AsyncIterableIterator<{ events: EventRow }>> {
    const filter = { projectId: projectId ?? undefined, resourceId: resourceId ?? undefined }
    const cursor = decodeCursor(numberCursor, after)
    const followed = this.changes.follow()
    const reader = new EventReader(this.repository, filter, cursor ?? (await orEnd(followed, this.repository.newestId())))
    const first = cursor === null ? [] : await orEnd(followed, reader.missed(0n))
    return expanded(followed, (told) => reader.read(told), first)
  }

  @ResolveField(() => ID, { description: 'Its number; later events have higher ones.' })
  id({ id }: EventRow): string {
    return String(id)
  }
}

/**
 * Which events one subscription has seen. Events of one resource are written under its row's lock, so within a
 * resource numbers come in order; between resources they need not. So there is one mark a resource.
 */
class EventReader {
  private readonly marks = new Map<string, bigint>()
  private newest: bigint

  constructor(
    private readonly repository: EventRepository,
    private readonly filter: EventFilter,
    private readonly start: bigint,
  ) {
    this.newest = start
  }

  async read({ ids, missedSince }: Told): Promise<{ events: EventRow }[]> {
    if (missedSince) return this.missed(overlap)
    const { resourceId } = this.filter
    const told = resourceId === undefined ? ids : ids.filter((id) => id === resourceId)
    if (told.length === 0) return []
    const marks = told.map((id) => ({ resourceId: id, after: this.marks.get(id) ?? this.start }))
    return this.mark(await this.repository.afterEach(marks, this.filter.projectId))
  }

  /** Everything behind the newest mark less `again`, whatever resource it is of. */
  async missed(again: bigint): Promise<{ events: EventRow }[]> {
    const from = this.newest - again
    return this.mark(await this.repository.after(this.filter, from < 0n ? 0n : from))
  }

  private mark(rows: EventRow[]): { events: EventRow }[] {
    return rows.flatMap((row) => {
      if (row.id <= (this.marks.get(row.resourceId) ?? this.start)) return []
      this.marks.set(row.resourceId, row.id)
      if (row.id > this.newest) this.newest = row.id
      return [{ events: row }]
    })
  }
}
