import { ID, Int, type ArgsOptions } from '@nestjs/graphql'

/** Arguments that many operations share, said alike everywhere. */
export const idArgument: ArgsOptions = { type: () => ID, description: 'Its id.' }

export const expectedGenerationArgument: ArgsOptions = {
  type: () => Int,
  nullable: true,
  description: 'Refuse when somebody has changed it since this generation.',
}

export const idempotencyKeyArgument: ArgsOptions = {
  type: () => String,
  nullable: true,
  description: 'A repeated call with the same key and input answers as the first one, for a day.',
}
