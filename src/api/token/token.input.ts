import { Field, InputType } from '@nestjs/graphql'
import type { Ability } from '../auth/ability.js'
import { AbilityName } from './token.model.js'

@InputType({ description: 'A new token.' })
export class TokenCreateInput {
  @Field(() => String, { description: 'What it is for, 1 to 100 characters.' })
  name!: string

  @Field(() => [AbilityName], { description: 'What it may do: nothing that its maker may not.' })
  abilities!: Ability[]

  @Field(() => Date, { nullable: true, description: 'When it ends by itself; never when not given. Not later than its maker.' })
  expiresAt?: Date | null
}
