import { Field, ID, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { RegistryCredential } from './registry-credential.model.js'

export const registryCredentialCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
  CREDENTIAL_IN_USE: 'An application names it; the message says which.',
} as const
export const RegistryCredentialUserError = userErrorOf('RegistryCredential', registryCredentialCodes)

@ObjectType({ description: 'The answer of registryCredentialSet.' })
export class RegistryCredentialPayload {
  @Field(() => RegistryCredential, { nullable: true, description: 'The log-in as it is now; null when there are userErrors.' })
  registryCredential!: RegistryCredential | null

  @Field(() => [RegistryCredentialUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof RegistryCredentialUserError>[]
}

@ObjectType({ description: 'The answer of registryCredentialDelete.' })
export class RegistryCredentialDeletePayload {
  @Field(() => ID, { nullable: true, description: 'Id of the log-in that is gone; null when there are userErrors.' })
  deletedId!: string | null

  @Field(() => [RegistryCredentialUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof RegistryCredentialUserError>[]
}
