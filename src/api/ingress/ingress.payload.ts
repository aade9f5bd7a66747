import { Field, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Ingress } from './ingress.model.js'

export const ingressCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  NAME_TAKEN: sharedCodes.NAME_TAKEN,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
  NODE_NOT_FOUND: 'It names a node that does not exist.',
  NODE_HAS_INGRESS: 'The node has an ingress already; the message names it.',
  HOST_PORT_TAKEN: sharedCodes.HOST_PORT_TAKEN,
  DOMAIN_TAKEN: sharedCodes.DOMAIN_TAKEN,
  STALE_GENERATION: sharedCodes.STALE_GENERATION,
  BEING_DELETED: sharedCodes.BEING_DELETED,
  NAME_IMMUTABLE: sharedCodes.NAME_IMMUTABLE,
  IDEMPOTENCY_KEY_REUSED: sharedCodes.IDEMPOTENCY_KEY_REUSED,
  IDEMPOTENCY_RESULT_GONE: sharedCodes.IDEMPOTENCY_RESULT_GONE,
} as const
export type IngressCode = keyof typeof ingressCodes
export const IngressUserError = userErrorOf('Ingress', ingressCodes)

@ObjectType({ description: 'The answer of the mutations on an ingress.' })
export class IngressPayload {
  @Field(() => Ingress, {
    nullable: true,
    description: 'The ingress as it is desired now; null when there are userErrors and it does not exist.',
  })
  ingress!: object | null

  @Field(() => [IngressUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof IngressUserError>[]
}
