import { Field, ID, InputType, Int, ObjectType, registerEnumType } from '@nestjs/graphql'

export const LogStream = { stdout: 'stdout', stderr: 'stderr' } as const
registerEnumType(LogStream, {
  name: 'LogStream',
  description: 'What a line was written to.',
  valuesMap: {
    stdout: { description: 'Standard output; with a terminal also the error output.' },
    stderr: { description: 'Standard error output.' },
  },
})

export const LogStreams = { stdout: 'stdout', stderr: 'stderr', both: 'both' } as const
export type LogStreams = (typeof LogStreams)[keyof typeof LogStreams]
registerEnumType(LogStreams, {
  name: 'LogStreams',
  description: 'Which lines of a container are wanted.',
  valuesMap: {
    stdout: { description: 'Those of its standard output.' },
    stderr: { description: 'Those of its standard error output.' },
    both: { description: 'All.' },
  },
})

export const LogNoticeReason = {
  NODE_AWAY: 'NODE_AWAY',
  NODE_BACK: 'NODE_BACK',
  READ_FAILED: 'READ_FAILED',
  DROPPED: 'DROPPED',
  REPLICA_JOINED: 'REPLICA_JOINED',
  REPLICA_ENDED: 'REPLICA_ENDED',
} as const
registerEnumType(LogNoticeReason, {
  name: 'LogNoticeReason',
  description: 'What a log has to say beside its lines.',
  valuesMap: {
    NODE_AWAY: { description: "The node's agent is not connected; the replica's lines are missing until it is back." },
    NODE_BACK: { description: 'It is connected again, and the lines go on where they were.' },
    READ_FAILED: { description: "The node's engine did not give the log; the message says why." },
    DROPPED: { description: 'Lines were left out, because they were not read fast enough; the message counts them.' },
    REPLICA_JOINED: { description: "A new replica's lines come from now on." },
    REPLICA_ENDED: { description: 'A replica is gone; nothing more comes from it.' },
  },
})

@InputType({ description: 'Which lines are wanted.' })
export class LogGrepInput {
  @Field(() => String, { description: 'Lines that hold this text, byte for byte unless the other fields say otherwise.' })
  text!: string

  @Field(() => Boolean, {
    nullable: true,
    description: 'The text is a regular expression in the syntax of RE2: no look-ahead, no back references.',
  })
  regex?: boolean | null

  @Field(() => Boolean, { nullable: true, description: 'Capital and small letters are the same.' })
  ignoreCase?: boolean | null
}

@ObjectType({ description: 'One line of one replica.' })
export class LogLine {
  @Field(() => Int, { description: 'Counted from 0 in each release.' })
  replica!: number

  @Field(() => Int, { description: 'The release that it runs.' })
  release!: number

  @Field(() => ID, { description: 'Id of the node that it runs on.' })
  nodeId!: string

  @Field(() => LogStream, { description: 'What it was written to.' })
  stream!: keyof typeof LogStream

  @Field(() => String, { description: "When it was written, by the node's clock: RFC 3339 in UTC with nanoseconds." })
  at!: string

  @Field(() => String, { description: 'The line without its end; one of more than 64 KB comes in parts.' })
  text!: string

  @Field(() => String, {
    description: "Its place: `after` this begins behind it. An event's own cursor costs less than one a line.",
  })
  cursor!: string
}

@ObjectType({ description: 'What a log has to say beside its lines, so that a gap is no silence.' })
export class LogNotice {
  @Field(() => LogNoticeReason, { description: 'In a form for programs.' })
  reason!: keyof typeof LogNoticeReason

  @Field(() => String, { description: 'In words.' })
  message!: string

  @Field(() => Int, { nullable: true, description: 'The release of the replica that it is about.' })
  release!: number | null

  @Field(() => Int, { nullable: true, description: 'The replica that it is about.' })
  replica!: number | null

  @Field(() => ID, { nullable: true, description: 'The node that it is about.' })
  nodeId!: string | null
}

@ObjectType({ description: 'Lines in the order of their time, or a notice.' })
export class LogEvent {
  @Field(() => [LogLine], { description: 'Lines, oldest first; none beside a notice.' })
  lines!: LogLine[]

  @Field(() => LogNotice, { nullable: true, description: 'What there is to say beside lines; null beside lines.' })
  notice!: LogNotice | null

  @Field(() => String, {
    description: 'The place behind all that was told so far: `after` this goes on without loss or repetition.',
  })
  cursor!: string
}

@ObjectType({ description: 'A piece of a log.' })
export class LogTail {
  @Field(() => [LogLine], { description: 'Lines, oldest first.' })
  lines!: LogLine[]

  @Field(() => [LogNotice], { description: 'What is missing, and why.' })
  notices!: LogNotice[]

  @Field(() => String, { description: 'The place behind the last line, for the next call or for the subscription.' })
  cursor!: string
}
