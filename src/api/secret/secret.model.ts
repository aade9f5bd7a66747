import { Field, ID, Int, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({ description: 'Who names a secret: an application by its present spec, or by a release that still has replicas.' })
export class SecretUse {
  @Field(() => ID, { description: 'Id of the application.' })
  applicationId!: string

  @Field(() => String, { description: 'Name of the application.' })
  applicationName!: string

  @Field(() => Int, { nullable: true, description: 'The release that runs with it; null = the present spec names it.' })
  release!: number | null

  @Field(() => Int, { nullable: true, description: 'The version that is named; null = the newest one, whichever that is.' })
  version!: number | null
}

@ObjectType({ description: 'One value that a secret had. The value itself is never told.' })
export class SecretVersion {
  @Field(() => Int, { description: 'Counted from 1.' })
  version!: number

  @Field(() => ID, { description: 'Id of the token that set it.' })
  createdBy!: string

  @Field(() => Date, { description: 'When it was set.' })
  createdAt!: Date

  @Field(() => [SecretUse], { description: 'Who uses this version, whether by its number or as the newest.' })
  usedBy!: SecretUse[]
}

@ObjectType({ description: 'A value that applications of a project take by name. It can be set and used, and never read again.' })
export class Secret {
  @Field(() => ID, { description: 'Never changes.' })
  id!: string

  @Field(() => ID, { description: 'Id of its project.' })
  projectId!: string

  @Field(() => String, { description: 'What specs call it.' })
  name!: string

  @Field(() => Date, { description: 'When its first version was set.' })
  createdAt!: Date
}

export const SecretConnection = connectionOf(Secret, 'Secret')
