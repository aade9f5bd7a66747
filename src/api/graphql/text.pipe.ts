import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common'
import { GraphQLError } from 'graphql'
import { isPlainText, plainTextRule } from '../../reconcile/name.js'

/** Arguments that their mutations check themselves, to answer with a user error. */
const checkedElsewhere = new Set(['reason', 'key', 'idempotencyKey'])

/**
 * PostgreSQL keeps no NUL in a text, so an id or name with one names nothing. The contents of an input are its schema's
 * business; only the ids in it are looked at here.
 */
@Injectable()
export class TextPipe implements PipeTransform {
  transform(value: unknown, { type, data }: ArgumentMetadata): unknown {
    if (type !== 'body') return value
    const wrong = unplainIn(value, data ?? '')
    if (wrong !== null) throw new GraphQLError(`"${wrong}" ${plainTextRule}`, { extensions: { code: 'BAD_USER_INPUT' } })
    return value
  }
}

/** The name of the argument, or of the id in it, that is no plain text. */
function unplainIn(value: unknown, name: string): string | null {
  if (typeof value === 'string') return isPlainText(value) || checkedElsewhere.has(name) ? null : name
  if (Array.isArray(value)) return value.map((item) => unplainIn(item, name)).find((found) => found !== null) ?? null
  if (value === null || typeof value !== 'object' || value instanceof Date) return null
  const bad = Object.entries(value).find(([key, inner]) => key.endsWith('Id') && typeof inner === 'string' && !isPlainText(inner))
  return bad ? `${name}.${bad[0]}` : null
}
