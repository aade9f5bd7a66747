import { Inject } from '@nestjs/common'
import { Args, ArgsType, Context, Field, ID, Int, Query, Resolver, Subscription } from '@nestjs/graphql'
import { GraphQLError } from 'graphql'
import type { GraphqlContext } from '../graphql/context.js'
import type { LogEvent as LogEventValue, Notice, TextLine } from './log-merge.js'
import { LogEvent, LogGrepInput, LogStreams, LogTail } from './log.model.js'
import { badInput, Logs, type LogRequest } from './log.service.js'

const tailMost = 10_000
const tailDefault = 100
const linesMost = 1_000
const replicasMost = 100
/** A query answers with what has come by then. */
const queryMs = 10_000

@ArgsType()
class LogArgs {
  @Field(() => ID, { description: 'The application.' })
  id!: string

  @Field(() => Date, { nullable: true, description: 'Only lines from then on.' })
  since?: Date | null

  @Field(() => LogStreams, { defaultValue: LogStreams.both, description: 'Which output is wanted.' })
  stream!: LogStreams

  @Field(() => LogGrepInput, { nullable: true, description: 'Only lines that match.' })
  grep?: LogGrepInput | null

  @Field(() => String, {
    nullable: true,
    description: 'Begin behind this cursor, without loss or repetition; `since` and `tail` then say nothing.',
  })
  after?: string | null

  @Field(() => [Int], { nullable: true, description: 'Only replicas with these numbers, of whichever release.' })
  replicas?: number[] | null
}

@ArgsType()
class LogFollowArgs extends LogArgs {
  @Field(() => Boolean, { defaultValue: true, description: 'Goes on with what comes; else it ends with what is there now.' })
  follow!: boolean

  @Field(() => Int, {
    nullable: true,
    description: `How many of the wanted lines before now, at most ${tailMost}. When neither this nor since nor after is given: ${tailDefault}.`,
  })
  tail?: number | null
}

@ArgsType()
class LogTailArgs extends LogArgs {
  @Field(() => Int, {
    defaultValue: tailDefault,
    description: `How many lines, at most ${linesMost}: the last ones, or with \`after\` the next ones.`,
  })
  lines!: number
}

@Resolver()
export class LogResolver {
  constructor(@Inject(Logs) private readonly logs: Logs) {}

  @Subscription(() => LogEvent, {
    description:
      "Lines of all replicas in the order of their time, and notices about what is missing. New replicas' lines join in. Goes on by `after` where another one broke off.",
  })
  async applicationLogs(
    @Args() args: LogFollowArgs,
    @Context() context: GraphqlContext,
  ): Promise<AsyncIterableIterator<{ applicationLogs: LogEventValue }>> {
    const { tail, follow } = args
    if (tail !== null && tail !== undefined && (tail < 0 || tail > tailMost))
      throw badInput(`"tail" must be between 0 and ${tailMost}`)
    const request = requestOf(args, follow, tail ?? (args.since ? null : tailDefault))
    if (!(await exists(request.id, context)))
      throw new GraphQLError(`there is no application ${request.id}`, { extensions: { code: 'NOT_FOUND' } })
    return named(await this.logs.read(request, context.actor))
  }

  @Query(() => LogTail, {
    nullable: true,
    description: 'The last lines of all replicas, or with `after` the next ones; null when there is no application with this id.',
  })
  async applicationLogTail(@Args() args: LogTailArgs, @Context() context: GraphqlContext): Promise<LogTail | null> {
    const { lines } = args
    if (lines < 1 || lines > linesMost) throw badInput(`"lines" must be between 1 and ${linesMost}`)
    const request = requestOf(args, false, lines)
    if (!(await exists(request.id, context))) return null
    return gathered(await this.logs.read(request, context.actor), request, lines)
  }
}

function requestOf(args: LogArgs, follow: boolean, tail: number | null): LogRequest {
  const { id, since = null, stream, grep, after = null, replicas = null } = args
  if (replicas && replicas.length > replicasMost) throw badInput(`"replicas" may have ${replicasMost} entries`)
  const wanted = grep ? { text: grep.text, regex: grep.regex === true, ignoreCase: grep.ignoreCase === true } : null
  return { id, follow, since, tail, stream, grep: wanted, after, replicas }
}

async function exists(id: string, { loaders }: GraphqlContext): Promise<boolean> {
  return (await loaders.resource.load(id))?.kind === 'application'
}

/** As many lines as are wanted; what is behind them comes with the cursor. */
async function gathered(reader: AsyncIterableIterator<LogEventValue>, request: LogRequest, most: number): Promise<LogTail> {
  const lines: TextLine[] = []
  const notices: Notice[] = []
  let last: { readonly cursor: string } | undefined
  const timer = setTimeout(() => {
    const message = `not all of the log came within ${queryMs / 1_000} s`
    notices.push({ reason: 'READ_FAILED', message, release: null, replica: null, nodeId: null })
    void reader.return?.()
  }, queryMs)
  try {
    for await (const event of reader) {
      const fits = event.lines.slice(0, most - lines.length)
      lines.push(...fits)
      if (event.notice) notices.push(event.notice)
      last = fits.length < event.lines.length ? fits.at(-1) : event
      if (lines.length >= most) break
    }
  } finally {
    clearTimeout(timer)
  }
  return { lines, notices, cursor: last?.cursor ?? request.after ?? '' }
}

/** No generator: returning it must end a reader that waits for a line which may never come. */
function named(reader: AsyncIterableIterator<LogEventValue>): AsyncIterableIterator<{ applicationLogs: LogEventValue }> {
  return {
    async next() {
      const read = await reader.next()
      return read.done ? { done: true, value: undefined } : { done: false, value: { applicationLogs: read.value } }
    },
    async return() {
      await reader.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
