import { Field, ID, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({ description: "A log-in at a registry, for pulls of a project's applications that name it. Its password is never told." })
export class RegistryCredential {
  @Field(() => ID, { description: 'Never changes.' })
  id!: string

  @Field(() => ID, { description: 'Id of its project.' })
  projectId!: string

  @Field(() => String, { description: 'What specs call it.' })
  name!: string

  @Field(() => String, { description: 'The registry: host or host:port, as image references name it.' })
  host!: string

  @Field(() => String, { description: 'Who logs in.' })
  username!: string

  @Field(() => Date, { description: 'When it was set first.' })
  createdAt!: Date

  @Field(() => Date, { description: 'When it was changed last.' })
  updatedAt!: Date
}

export const RegistryCredentialConnection = connectionOf(RegistryCredential, 'RegistryCredential')
