import { Field, ID, Int, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Condition } from './condition.model.js'
import { Reconciled } from './reconciled.model.js'

export const resourceCodes = { INVALID: sharedCodes.INVALID, NOT_FOUND: sharedCodes.NOT_FOUND } as const
export const ResourceUserError = userErrorOf('Resource', resourceCodes)

@ObjectType({ description: 'The answer of mutations that work on every kind with a loop.' })
export class ResourcePayload {
  @Field(() => Reconciled, { nullable: true, description: 'The resource; null when there are userErrors.' })
  resource!: object | null

  @Field(() => [ResourceUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof ResourceUserError>[]
}

@ObjectType({ description: 'The answer of restoreConfirm.' })
export class RestoreConfirmPayload {
  @Field(() => Int, { description: 'How many resources go on.' })
  resources!: number

  @Field(() => [ResourceUserError], { description: 'Always empty.' })
  userErrors!: InstanceType<typeof ResourceUserError>[]
}

@ObjectType({ description: 'The answer of resyncAll.' })
export class ResyncAllPayload {
  @Field(() => Int, { description: 'How many resources will be looked at; paused ones are left alone.' })
  resources!: number

  @Field(() => [ResourceUserError], { description: 'Always empty.' })
  userErrors!: InstanceType<typeof ResourceUserError>[]
}

@ObjectType({ description: 'What the last pass of a resource came to. Empty and without error for one that has not run yet.' })
export class LastResult {
  @Field(() => ID, { description: 'The resource.' })
  resourceId!: string

  @Field(() => String, { description: "The controller's name: <kind>/<name>. Never changes." })
  controller!: string

  @Field(() => Int, { description: 'The generation that it looked at; 0 = none yet.' })
  generation!: number

  @Field(() => Int, { description: 'Its number; 0 = it has not run yet.' })
  pass!: number

  @Field(() => Date, { nullable: true, description: 'When it was decided; null = it has not run yet.' })
  at!: Date | null

  @Field(() => [Condition], { description: 'What it observed.' })
  conditions!: object[]

  @Field(() => String, { nullable: true, description: 'What keeps the resource back; null when nothing does.' })
  error!: string | null
}

@ObjectType({ description: 'A resource that changed, as it is now.' })
export class ResourceChange {
  @Field(() => ID, { description: 'Which one.' })
  id!: string

  @Field(() => Reconciled, { nullable: true, description: 'As it is now; null = it is gone.' })
  resource!: object | null
}
