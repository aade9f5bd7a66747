import { GraphQLError } from 'graphql'
import { RE2JS } from 're2js'

export interface Grep {
  text: string
  regex: boolean
  ignoreCase: boolean
}

const patternMost = 500

/**
 * Whether a line is wanted. Patterns are RE2's, which match in linear time whatever they are: JavaScript's own engine
 * tries ways without end for some, nested quantifiers being only the best known of them, and would hold up the whole API.
 * So there are no look-aheads and no back references.
 */
export function lineFilter(grep: Grep | null): (line: string) => boolean {
  if (grep === null) return () => true
  if (grep.text === '' || grep.text.length > patternMost) throw refused(`must have 1 to ${patternMost} characters`)
  if (!grep.regex && !grep.ignoreCase) return (line) => line.includes(grep.text)
  const pattern = compiled(grep)
  return (line) => pattern.test(line)
}

function compiled({ text, regex, ignoreCase }: Grep): RE2JS {
  try {
    return RE2JS.compile(regex ? text : RE2JS.quote(text), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    throw refused(`is no pattern of RE2's syntax: ${(error as Error).message}`)
  }
}

function refused(why: string): GraphQLError {
  return new GraphQLError(`"grep.text" ${why}`, { extensions: { code: 'BAD_USER_INPUT' } })
}
