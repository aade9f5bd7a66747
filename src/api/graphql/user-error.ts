import type { Type } from '@nestjs/common'
import { Field, InterfaceType, ObjectType, registerEnumType } from '@nestjs/graphql'
import type { z } from 'zod'

@InterfaceType({
  description: 'Why a mutation changed nothing, in words for a person. Every mutation has its own closed set of codes.',
})
export abstract class UserError {
  @Field(() => [String], {
    nullable: true,
    description: 'The path to the argument that is wrong, e.g. ["input", "env", "1", "name"]; null when no single one is.',
  })
  field!: string[] | null

  @Field(() => String, { description: 'What is wrong, and what would be right.' })
  message!: string
}

/** A user error as resolvers make it. */
export interface UserErrorValue<Code extends string> {
  field: string[] | null
  message: string
  code: Code
}

/** The user error type of one group of mutations, with its closed set of codes (code → what it means). */
export function userErrorOf<Code extends string>(name: string, codes: Record<Code, string>): Type<UserErrorValue<Code>> {
  // A plain object to Nest's types, which cannot follow a generic one.
  const codeEnum: object = Object.fromEntries(Object.keys(codes).map((code) => [code, code]))
  registerEnumType(codeEnum, {
    name: `${name}ErrorCode`,
    description: `Every reason for which a mutation on ${name} changes nothing.`,
    valuesMap: Object.fromEntries(Object.entries<string>(codes).map(([code, description]) => [code, { description }])),
  })

  @ObjectType(`${name}UserError`, { implements: () => UserError, description: `Why a mutation on ${name} changed nothing.` })
  class UserErrorType extends UserError {
    @Field(() => codeEnum, { description: 'The reason in a form for programs.' })
    code!: Code
  }
  return UserErrorType
}

/** zod's findings as user errors; `root` is the argument that was checked. */
export function invalidErrors(error: z.ZodError, root: readonly string[]): UserErrorValue<'INVALID'>[] {
  return error.issues.map((issue) => ({
    field: [...root, ...issue.path.map(String)],
    message: messageOf(issue),
    code: 'INVALID',
  }))
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message
  if (issue.message.endsWith('received undefined')) return 'must be given'
  return issue.expected === 'int' ? 'must be a whole number' : issue.message
}

/** Meanings of the codes that several groups share. */
export const sharedCodes = {
  INVALID: 'A value is not allowed; `field` names it.',
  NOT_FOUND: 'There is nothing with this id.',
  NAME_TAKEN: 'Another resource has this name already.',
  PROJECT_NOT_FOUND: 'There is no project with this id.',
  DOMAIN_TAKEN: 'Something else has this host and path; the message names it.',
  HOST_PORT_TAKEN: 'Something else on the node has this host port.',
  STALE_GENERATION: 'Somebody else changed it since: the expected generation is not the current one.',
  BEING_DELETED: 'It is being deleted and takes no changes any more.',
  NAME_IMMUTABLE: 'A name is part of DNS names and of records, and does not change.',
  IDEMPOTENCY_KEY_REUSED: 'The idempotency key was used for something else before.',
  IDEMPOTENCY_RESULT_GONE: 'What the first call with this key made was deleted since.',
} as const
