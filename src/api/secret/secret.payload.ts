import { Field, ID, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Secret } from './secret.model.js'

export const secretCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
  VERSION_NOT_FOUND: 'The secret has no such version.',
  NEWEST_VERSION: 'The newest version stays for as long as the secret does: set another one first.',
  CERTIFICATE_UNFIT: 'An application serves a host with this secret, and the new value cannot; the message says why.',
  SECRET_IN_USE: 'An application names it, or a release that still has replicas runs with it; the message says which.',
} as const
export const SecretUserError = userErrorOf('Secret', secretCodes)

@ObjectType({ description: 'The answer of secretSet and secretVersionDelete.' })
export class SecretPayload {
  @Field(() => Secret, { nullable: true, description: 'The secret as it is now; null when there are userErrors.' })
  secret!: object | null

  @Field(() => [SecretUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof SecretUserError>[]
}

@ObjectType({ description: 'The answer of secretDelete.' })
export class SecretDeletePayload {
  @Field(() => ID, { nullable: true, description: 'Id of the secret that is gone; null when there are userErrors.' })
  deletedId!: string | null

  @Field(() => [SecretUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof SecretUserError>[]
}
