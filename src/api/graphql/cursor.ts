import { GraphQLError } from 'graphql'
import { z } from 'zod'

/** Cursors are opaque to callers: the list's sort key as JSON in base64url. */
export function encodeCursor(key: unknown): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

export const nameCursor = z.object({ name: z.string(), id: z.string() })
export const projectCursor = z.object({ name: z.string() })
export const domainCursor = z.object({ host: z.string(), path: z.string() })
export const orphanCursor = z.object({ node: z.string(), resourceId: z.string() })
/** Numbers that grow: events, transitions, releases, audit entries. */
export const numberCursor = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)

/** The key in a cursor; null for no cursor. A cursor of another list, or no cursor at all, is the caller's mistake. */
export function decodeCursor<T>(schema: z.ZodType<T>, cursor: string | null | undefined): T | null {
  if (cursor === null || cursor === undefined) return null
  const parsed = schema.safeParse(jsonOf(Buffer.from(cursor, 'base64url').toString()))
  if (parsed.success) return parsed.data
  throw new GraphQLError('"after" is no cursor of this list: use an endCursor or a cursor that the same list gave', {
    extensions: { code: 'BAD_USER_INPUT' },
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
