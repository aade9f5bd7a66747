import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { ConditionStatus } from '../../reconcile/condition.js'
import { connectionOf } from '../graphql/connection.js'

registerEnumType(ConditionStatus, {
  name: 'ConditionStatus',
  description: 'The three states of a condition.',
  valuesMap: {
    True: { description: 'It holds: it was observed.' },
    False: { description: 'It does not hold: that was observed.' },
    Unknown: { description: 'Not looked yet, or it cannot be looked at.' },
  },
})

@ObjectType({ description: 'One aspect of a resource as it was observed last, by the rules of Kubernetes conditions.' })
export class Condition {
  @Field(() => String, { description: 'Which aspect, e.g. Ready.' })
  type!: string

  @Field(() => ConditionStatus, { description: 'Whether it holds.' })
  status!: ConditionStatus

  @Field(() => String, { description: "Why: one CamelCase word of the kind's list." })
  reason!: string

  @Field(() => String, { description: 'The same in words, and where something is wrong, what to do.' })
  message!: string

  @Field(() => Int, { description: 'The generation that this was observed for.' })
  observedGeneration!: number

  @Field(() => Date, { description: 'When the status changed last; reason and message may have changed since.' })
  lastTransitionAt!: Date
}

@ObjectType({ description: 'A change of the status of a condition. Kept for 30 days.' })
export class ConditionTransition {
  @Field(() => ID, { description: 'Its number; later ones are higher.' })
  id!: string

  @Field(() => String, { description: 'Which condition.' })
  type!: string

  @Field(() => ConditionStatus, { description: 'The status that it changed to.' })
  status!: ConditionStatus

  @Field(() => String, { description: 'Why, as one word.' })
  reason!: string

  @Field(() => String, { description: 'Why, in words.' })
  message!: string

  @Field(() => Int, { description: 'The generation that it was observed for.' })
  observedGeneration!: number

  @Field(() => Date, { description: 'When.' })
  at!: Date
}

export const ConditionTransitionConnection = connectionOf(ConditionTransition, 'ConditionTransition')
