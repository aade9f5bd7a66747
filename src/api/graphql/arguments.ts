import { ArgsType, Field, ID, Int, type ArgsOptions } from '@nestjs/graphql'

/** Arguments that many operations share, said alike everywhere. */
export const idArgument = { type: () => ID, description: 'Its id.' } satisfies ArgsOptions

export const expectedGenerationArgument = {
  type: () => Int,
  nullable: true,
  description: 'Refuse when somebody has changed it since this generation.',
} satisfies ArgsOptions

export const idempotencyKeyArgument = {
  type: () => String,
  nullable: true,
  description: 'A repeated call with the same key and input answers as the first one, for a day.',
} satisfies ArgsOptions

/** Of a change that needs to know nothing but what it is about. */
@ArgsType()
export class ChangeArgs {
  @Field(idArgument.type, idArgument)
  id!: string

  @Field(expectedGenerationArgument.type, expectedGenerationArgument)
  expectedGeneration?: number | null
}

/** Of one that does something anew each time that it is asked for. */
@ArgsType()
export class RepeatableChangeArgs extends ChangeArgs {
  @Field(idempotencyKeyArgument.type, idempotencyKeyArgument)
  idempotencyKey?: string | null
}
