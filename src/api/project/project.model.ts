import { Field, ID, ObjectType } from '@nestjs/graphql'
import { connectionOf } from '../graphql/connection.js'

@ObjectType({ description: 'A group of resources that find each other by short names. No security border: the network is flat.' })
export class Project {
  @Field(() => ID, { description: 'Never changes.' })
  id!: string

  @Field(() => String, { description: 'Part of the DNS names of its resources: <resource>.<project>.internal.' })
  name!: string

  @Field(() => Date, { description: 'When it was created.' })
  createdAt!: Date
}

export const ProjectConnection = connectionOf(Project, 'Project')
