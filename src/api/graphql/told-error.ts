import { unwrapResolverError } from '@apollo/server/errors'
import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { unrepeated } from './unrepeated.js'

/**
 * Top-level errors are authentication, permission, malformed input, and bugs. The first three are told as they are;
 * a bug is logged under a number, and the caller gets only the number: its text may name hosts, queries or values.
 */
export function toldError(formatted: GraphQLFormattedError, error: unknown, log: Logger): GraphQLFormattedError {
  const original = unwrapResolverError(error)
  const code = formatted.extensions?.['code']
  if (code !== 'INTERNAL_SERVER_ERROR' && (original instanceof GraphQLError || error instanceof GraphQLError))
    return { ...formatted, message: unrepeated(formatted.message, error instanceof GraphQLError ? error.originalError?.message : undefined) }
  const incident = randomBytes(4).toString('hex')
  log.error({ err: original, incident, path: formatted.path }, 'an operation failed')
  return {
    message: `this failed inside Evenkeel; its log has the reason under incident ${incident}`,
    ...(formatted.path ? { path: formatted.path } : {}),
    extensions: { code: 'INTERNAL', incident },
  }
}
