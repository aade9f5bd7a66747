import { Field, InputType } from '@nestjs/graphql'

@InputType({ description: 'A new project.' })
export class ProjectCreateInput {
  @Field(() => String, {
    description: 'A DNS label: a-z, 0-9 and -, beginning with a letter, at most 63 characters. Cannot be changed later.',
  })
  name!: string
}
