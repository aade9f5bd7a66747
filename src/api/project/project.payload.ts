import { Field, ID, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Project } from './project.model.js'

export const projectCodes = {
  INVALID: sharedCodes.INVALID,
  NAME_TAKEN: 'Another project has this name already.',
  NOT_FOUND: sharedCodes.NOT_FOUND,
  NOT_EMPTY: 'It still holds resources: deleting is never a cascade.',
  PLATFORM: 'The platform project holds the nodes and stays.',
  IDEMPOTENCY_KEY_REUSED: sharedCodes.IDEMPOTENCY_KEY_REUSED,
  IDEMPOTENCY_RESULT_GONE: sharedCodes.IDEMPOTENCY_RESULT_GONE,
} as const
export const ProjectUserError = userErrorOf('Project', projectCodes)

@ObjectType({ description: 'The answer of projectCreate.' })
export class ProjectCreatePayload {
  @Field(() => Project, { nullable: true, description: 'The new project; null when there are userErrors.' })
  project!: Project | null

  @Field(() => [ProjectUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof ProjectUserError>[]
}

@ObjectType({ description: 'The answer of projectEnvSet.' })
export class ProjectEnvPayload {
  @Field(() => Project, { nullable: true, description: 'The project; null when there are userErrors.' })
  project!: Project | null

  @Field(() => [ProjectUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof ProjectUserError>[]
}

@ObjectType({ description: 'The answer of projectDelete.' })
export class ProjectDeletePayload {
  @Field(() => ID, { nullable: true, description: 'Id of the project that is gone; null when there are userErrors.' })
  deletedId!: string | null

  @Field(() => [ProjectUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof ProjectUserError>[]
}
