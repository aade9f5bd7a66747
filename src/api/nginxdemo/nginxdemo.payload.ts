import { Field, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Nginxdemo } from './nginxdemo.model.js'

export const nginxdemoCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  NAME_TAKEN: sharedCodes.NAME_TAKEN,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
  HOST_PORT_TAKEN: sharedCodes.HOST_PORT_TAKEN,
  DOMAIN_TAKEN: sharedCodes.DOMAIN_TAKEN,
  STALE_GENERATION: sharedCodes.STALE_GENERATION,
  BEING_DELETED: sharedCodes.BEING_DELETED,
  NAME_IMMUTABLE: sharedCodes.NAME_IMMUTABLE,
  IDEMPOTENCY_KEY_REUSED: sharedCodes.IDEMPOTENCY_KEY_REUSED,
  IDEMPOTENCY_RESULT_GONE: sharedCodes.IDEMPOTENCY_RESULT_GONE,
} as const
export type NginxdemoCode = keyof typeof nginxdemoCodes
export const NginxdemoUserError = userErrorOf('Nginxdemo', nginxdemoCodes)

@ObjectType({ description: 'The answer of the mutations on a demo.' })
export class NginxdemoPayload {
  @Field(() => Nginxdemo, {
    nullable: true,
    description: 'The demo as it is desired now; null when there are userErrors and it does not exist.',
  })
  nginxdemo!: object | null

  @Field(() => [NginxdemoUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof NginxdemoUserError>[]
}
