import { Field, ID, InputType } from '@nestjs/graphql'

@InputType({ description: 'A log-in at a registry. One of the same name is replaced.' })
export class RegistryCredentialSetInput {
  @Field(() => ID, { description: 'The project that it belongs to.' })
  projectId!: string

  @Field(() => String, { description: 'What specs call it: a-z, 0-9 and -, beginning with a letter.' })
  name!: string

  @Field(() => String, { description: 'host or host:port, as image references name it; docker.io for Docker Hub.' })
  host!: string

  @Field(() => String, { description: 'Who logs in.' })
  username!: string

  @Field(() => String, { description: 'The password or access token. It can be used, and never read again.' })
  password!: string
}
