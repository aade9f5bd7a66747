import { Field, ID, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Application } from './application.model.js'

export const applicationCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  NAME_TAKEN: sharedCodes.NAME_TAKEN,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
  NODE_NOT_FOUND: 'The placement names a node that does not exist.',
  SECRET_NOT_FOUND: 'It names a secret, or a version of one, that the project does not have.',
  CREDENTIAL_NOT_FOUND: 'It names a registry credential that the project does not have.',
  STALE_GENERATION: sharedCodes.STALE_GENERATION,
  BEING_DELETED: sharedCodes.BEING_DELETED,
  NAME_IMMUTABLE: sharedCodes.NAME_IMMUTABLE,
  ABILITY_MISSING: 'The token may change the image only; this field needs the ability write.',
  IDEMPOTENCY_KEY_REUSED: sharedCodes.IDEMPOTENCY_KEY_REUSED,
  IDEMPOTENCY_RESULT_GONE: sharedCodes.IDEMPOTENCY_RESULT_GONE,
} as const
export type ApplicationCode = keyof typeof applicationCodes
export const ApplicationUserError = userErrorOf('Application', applicationCodes)

@ObjectType({ description: 'The answer of the mutations on an application.' })
export class ApplicationPayload {
  @Field(() => Application, {
    nullable: true,
    description: 'The application as it is desired now; null when there are userErrors and it does not exist.',
  })
  application!: object | null

  @Field(() => [ApplicationUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof ApplicationUserError>[]
}

@ObjectType({ description: 'One step of a plan.' })
export class PlanStep {
  @Field(() => ID, { description: 'The node that it runs on.' })
  nodeId!: string

  @Field(() => String, { description: 'What it does, in one line.' })
  summary!: string

  @Field(() => String, { description: 'Its verb, for programs.' })
  verb!: string
}

@ObjectType({ description: 'All steps that would follow, from what is there now until nothing is left to do.' })
export class ApplicationPlan {
  @Field(() => [PlanStep], { description: 'In their order; empty = nothing would change.' })
  steps!: PlanStep[]

  @Field(() => Boolean, { description: 'False when planning found no end.' })
  converges!: boolean

  @Field(() => [String], { description: 'What the plan could not know, e.g. a node that did not answer.' })
  notes!: string[]
}

@ObjectType({ description: 'The answer of applicationPlan.' })
export class ApplicationPlanPayload {
  @Field(() => ApplicationPlan, { nullable: true, description: 'The plan; null when there are userErrors.' })
  plan!: ApplicationPlan | null

  @Field(() => [ApplicationUserError], { description: 'Why there is no plan; empty on success.' })
  userErrors!: InstanceType<typeof ApplicationUserError>[]
}
