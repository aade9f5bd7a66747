import { GraphQLError } from 'graphql'
import { z } from 'zod'
import type { LogStreamName } from '../../agent/protocol.js'

/**
 * How far one stream of one container was read: the time of the last line, and how many lines of that very time were
 * read. Within one stream times do not go back; between stdout and stderr lines may be a little out of order.
 */
export interface StreamPosition {
  at: string
  count: number
}
export type ReplicaPosition = Record<LogStreamName, StreamPosition>

/** Where a reader stands: behind what it has read of each replica. */
export interface LogPosition {
  /** Replicas that are not named are read from here on; null = from their beginning. */
  from: string | null
  /** By `<release>.<replica>`. */
  replicas: Map<string, ReplicaPosition>
}

const streamSchema = z.tuple([z.string(), z.number().int().nonnegative()])
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/
const cursorSchema = z.object({
  i: z.string(),
  f: z.string().regex(time).nullable(),
  r: z.record(z.string(), z.tuple([streamSchema, streamSchema])),
})
/** More replicas than an application can have. */
const cursorMost = 64 * 1024

export function encodePosition(id: string, { from, replicas }: LogPosition): string {
  const r = Object.fromEntries(
    [...replicas].map(([key, { stdout, stderr }]) => [
      key,
      [
        [stdout.at, stdout.count],
        [stderr.at, stderr.count],
      ],
    ]),
  )
  return Buffer.from(JSON.stringify({ i: id, f: from, r })).toString('base64url')
}

/** The position in a cursor of the same application's log. */
export function decodePosition(id: string, cursor: string): LogPosition {
  const parsed = cursor.length > cursorMost ? null : cursorSchema.safeParse(jsonOf(cursor))
  if (!parsed?.success || parsed.data.i !== id)
    throw new GraphQLError('"after" is no cursor of this application\'s log', { extensions: { code: 'BAD_USER_INPUT' } })
  const { f, r } = parsed.data
  const replicas = Object.entries(r).map(([key, [out, err]]) => [key, { stdout: position(out), stderr: position(err) }] as const)
  return { from: f, replicas: new Map(replicas) }
}

function position([at, count]: [string, number]): StreamPosition {
  // A time that Docker could not read would fail each call; from the beginning is right, if slow.
  return time.test(at) ? { at, count } : { at: '', count: 0 }
}

function jsonOf(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}

export const nothingRead = (from: string | null): ReplicaPosition => ({
  stdout: { at: from ?? '', count: 0 },
  stderr: { at: from ?? '', count: 0 },
})

/** Two copiers in the engine stamp lines before they take turns to write them: they differ by far less than this. */
const overlapMs = 2_000

/** From when on Docker has to be asked so that nothing behind the position is left out; null = from the beginning. */
export function sinceOf({ stdout, stderr }: ReplicaPosition): string | null {
  const [older, newer] = [stdout.at, stderr.at].sort() as [string, string]
  if (!time.test(newer)) return null
  const before = timeBefore(newer, overlapMs)
  return dockerTime(older > before ? older : before)
}

/** RFC 3339 with nanoseconds as Docker's `since`. */
function dockerTime(at: string): string {
  return `${Date.parse(`${at.slice(0, 19)}Z`) / 1_000}.${at.slice(20, 29)}`
}

function timeBefore(at: string, ms: number): string {
  const whole = new Date(Date.parse(`${at.slice(0, 19)}Z`) - ms).toISOString().slice(0, 19)
  return `${whole}${at.slice(19)}`
}

/** A moment as the times of lines are written. */
export function lineTime(moment: Date): string {
  return `${moment.toISOString().slice(0, 23)}000000Z`
}
