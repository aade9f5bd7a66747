import { Field, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'
import { Reconciled } from '../resource/reconciled.model.js'

export const orphanCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: 'There is no such orphan.',
  KIND_UNKNOWN: 'This Evenkeel does not know the kind of these containers.',
  NAME_TAKEN: sharedCodes.NAME_TAKEN,
  NODE_HAS_INGRESS: 'The node has another ingress already; the message names it.',
  HOST_PORT_TAKEN: sharedCodes.HOST_PORT_TAKEN,
  DOMAIN_TAKEN: sharedCodes.DOMAIN_TAKEN,
  PROJECT_NOT_FOUND: sharedCodes.PROJECT_NOT_FOUND,
} as const
export const OrphanUserError = userErrorOf('Orphan', orphanCodes)

@ObjectType({ description: 'The answer of the mutations on an orphan.' })
export class OrphanPayload {
  @Field(() => Reconciled, {
    nullable: true,
    description:
      'The resource that the orphan became: paused when adopted, being deleted when removed; null when there are userErrors.',
  })
  resource!: object | null

  @Field(() => [OrphanUserError], { description: 'Why nothing was changed; empty on success.' })
  userErrors!: InstanceType<typeof OrphanUserError>[]
}
