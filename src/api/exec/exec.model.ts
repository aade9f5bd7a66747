import { ArgsType, Field, ID, Int, ObjectType } from '@nestjs/graphql'
import { sharedCodes, userErrorOf } from '../graphql/user-error.js'

export const execCodes = {
  INVALID: sharedCodes.INVALID,
  NOT_FOUND: sharedCodes.NOT_FOUND,
  REPLICA_NOT_FOUND: 'The application has no such replica, or none at all.',
  NODE_AWAY: "The agent of the replica's node is not connected.",
  TOO_MANY_SESSIONS: 'This token has as many commands open as it may.',
} as const
export type ExecCode = keyof typeof execCodes
export const ExecUserError = userErrorOf('ApplicationExec', execCodes)

@ArgsType()
export class ApplicationExecArgs {
  @Field(() => ID, { description: 'The application.' })
  id!: string

  @Field(() => [String], { description: 'The program and its arguments; no shell reads them.' })
  command!: string[]

  @Field(() => Boolean, { defaultValue: false, description: 'With a terminal: all its output is then stdout.' })
  tty!: boolean

  @Field(() => Int, { nullable: true, description: 'The replica; null = a ready one of the newest release.' })
  replica?: number | null

  @Field(() => Int, { nullable: true, description: 'The release of the replica; null = the newest that has it.' })
  release?: number | null

  @Field(() => String, { nullable: true, description: "User, or user:group, by name or number; null = the container's own." })
  user?: string | null

  @Field(() => String, { nullable: true, description: "An absolute path; null = the container's own." })
  workingDir?: string | null
}

@ObjectType({ description: 'A command that starts when its client attaches.' })
export class ExecSession {
  @Field(() => ID, { description: 'Its id, as in the audit.' })
  id!: string

  @Field(() => Int, { description: 'The release of the replica that it runs in.' })
  release!: number

  @Field(() => Int, { description: 'The replica that it runs in.' })
  replica!: number

  @Field(() => ID, { description: "Id of the replica's node." })
  nodeId!: string

  @Field(() => String, { description: 'Path of its WebSocket on this API; docs/operations.md has the frames.' })
  webSocketPath!: string

  @Field(() => String, { description: 'Opens the WebSocket, once, as its second subprotocol. Shown only here.' })
  token!: string

  @Field(() => Date, { description: 'When the token ends unused.' })
  expiresAt!: Date
}

@ObjectType({ description: 'The answer of applicationExec.' })
export class ApplicationExecPayload {
  @Field(() => ExecSession, { nullable: true, description: 'The session; null when there are userErrors.' })
  session!: ExecSession | null

  @Field(() => [ExecUserError], { description: 'Why there is none; empty on success.' })
  userErrors!: InstanceType<typeof ExecUserError>[]
}
