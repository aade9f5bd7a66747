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
  CERTIFICATE_UNFIT: 'The secret holds no certificate that serves the host now; the message says what is wrong with it.',
  CREDENTIAL_NOT_FOUND: 'It names a registry credential that the project does not have.',
  STALE_GENERATION: sharedCodes.STALE_GENERATION,
  BEING_DELETED: sharedCodes.BEING_DELETED,
  NAME_IMMUTABLE: sharedCodes.NAME_IMMUTABLE,
  ABILITY_MISSING: 'This field needs a stronger ability than the token has: write, or admin for what reaches the node itself.',
  HOST_PORT_TAKEN: sharedCodes.HOST_PORT_TAKEN,
  DOMAIN_TAKEN: sharedCodes.DOMAIN_TAKEN,
  DEPENDENCY_NOT_FOUND: 'It would depend on an application that the project does not have.',
  DEPENDENCY_CYCLE: 'It would wait for itself.',
  HAS_DEPENDANTS: 'Other applications name it in dependsOn, and are not being deleted.',
  RELEASE_NOT_FOUND: 'The application has no release with this number.',
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

@ObjectType({ description: 'The answer of applicationClone.' })
export class ApplicationClonePayload {
  @Field(() => Application, { nullable: true, description: 'The new application; null when there are userErrors.' })
  application!: object | null

  @Field(() => [String], { description: 'What the new one does not have of the old one, in words.' })
  leftOut!: string[]

  @Field(() => [ApplicationUserError], { description: 'Why nothing was made; empty on success.' })
  userErrors!: InstanceType<typeof ApplicationUserError>[]
}

@ObjectType({ description: 'One difference between two releases.' })
export class ReleaseDifference {
  @Field(() => [String], {
    description: 'Where: a field, and in lists the name, key or path of the entry, e.g. ["env", "LOG_LEVEL"].',
  })
  field!: string[]

  @Field(() => String, { nullable: true, description: 'In the release `from`: text as it is, all else as JSON; null = nothing.' })
  before!: string | null

  @Field(() => String, { nullable: true, description: 'In the release `to`, alike.' })
  after!: string | null
}

@ObjectType({ description: 'The answer of applicationReleaseDiff.' })
export class ReleaseDiffPayload {
  @Field(() => [ReleaseDifference], { nullable: true, description: 'Empty = the same; null when there are userErrors.' })
  differences!: ReleaseDifference[] | null

  @Field(() => [ApplicationUserError], { description: 'Why there is no answer; empty on success.' })
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

  @Field(() => [String], {
    description:
      'What a person has to know of it: a node that did not answer, a strategy that cannot be kept, data that does not follow to another node.',
  })
  notes!: string[]
}

@ObjectType({ description: 'The answer of applicationPlan.' })
export class ApplicationPlanPayload {
  @Field(() => ApplicationPlan, { nullable: true, description: 'The plan; null when there are userErrors.' })
  plan!: ApplicationPlan | null

  @Field(() => [ApplicationUserError], { description: 'Why there is no plan; empty on success.' })
  userErrors!: InstanceType<typeof ApplicationUserError>[]
}
