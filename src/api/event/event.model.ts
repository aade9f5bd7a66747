import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

export const EventSeverity = { Normal: 'Normal', Warning: 'Warning' } as const
export type EventSeverity = (typeof EventSeverity)[keyof typeof EventSeverity]
registerEnumType(EventSeverity, {
  name: 'EventSeverity',
  description: 'Whether an event needs attention.',
  valuesMap: {
    Normal: { description: 'As it should be.' },
    Warning: { description: 'Something went wrong; what is done about it follows by itself.' },
  },
})

@ObjectType({ description: 'Something that happened to a resource. Kept for 30 days.' })
export class Event {
  @Field(() => ID, { description: 'Its number; later events have higher ones.' })
  id!: string

  @Field(() => ID, { description: 'The resource that it happened to; it may be gone by now.' })
  resourceId!: string

  @Field(() => ID, { description: 'The project that the resource is in.' })
  projectId!: string

  @Field(() => EventSeverity, { description: 'Whether it needs attention.' })
  severity!: EventSeverity

  @Field(() => String, { description: 'One CamelCase word.' })
  reason!: string

  @Field(() => String, { description: 'What happened, in words.' })
  message!: string

  @Field(() => Int, { description: "The resource's generation at that time." })
  generation!: number

  @Field(() => Date, { description: "When, by the control plane's clock." })
  at!: Date
}

export const EventConnection = connectionOf(Event, 'Event')
