import { Field, ID, InputType } from '@nestjs/graphql'

@InputType({ description: "A secret's new value, given as text or as base64." })
export class SecretSetInput {
  @Field(() => ID, { description: 'The project that it belongs to.' })
  projectId!: string

  @Field(() => String, { description: 'What specs call it: a-z, 0-9 and -, beginning with a letter. Made when there is none of this name.' })
  name!: string

  @Field(() => String, { nullable: true, description: 'The value, byte for byte: at most 64 KB of text without NUL.' })
  value?: string | null

  @Field(() => String, { nullable: true, description: 'Instead of value: the same in base64 of UTF-8 text.' })
  valueBase64?: string | null
}
