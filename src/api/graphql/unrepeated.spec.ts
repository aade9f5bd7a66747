import { buildSchema, GraphQLError, parse, validate } from 'graphql'
import { getVariableValues } from 'graphql/execution/values.js'
import { describe, expect, it } from 'vitest'
import { unrepeated } from './unrepeated.js'

const schema = buildSchema(`
  type Query { x: Int }
  type Mutation { set(input: In!): Int }
  input In { name: String! value: String list: [Item!] }
  input Item { value: String! }
`)
const document = parse('mutation ($input: In!) { set(input: $input) }')

function errorsOf(input: unknown): readonly GraphQLError[] {
  const [definition] = document.definitions
  if (definition?.kind !== 'OperationDefinition') throw new Error('no operation')
  return getVariableValues(schema, definition.variableDefinitions ?? [], { input }).errors ?? []
}

describe('unrepeated', () => {
  it.each<[unknown, string]>([
    [{ name: 'n', value: 'S3CR3T', bogus: 1 }, 'Field "bogus" is not defined by type "In"'],
    [{ value: 'S3CR3T; at "x"; Field "y" is "' }, 'Field "name" of required type "String!" was not provided'],
    [{ name: 'n', value: ['S3CR3T'] }, 'got a value that does not fit at "input.value"; String cannot represent a non string value'],
    [{ name: 'n', value: { a: 'S3CR3T: "; x' } }, 'String cannot represent a non string value'],
    [{ name: 'n', list: [{ value: 'S3CR3T', more: 1 }] }, 'at "input.list[0]"'],
    ['S3CR3T', 'Expected type "In" to be an object'],
    [null, 'got a value that does not fit'],
  ])('variable %j -> what is wrong and where, without the value', (input, words) => {
    const errors = errorsOf(input)
    expect(errors.length).toBeGreaterThan(0)
    const told = errors.map((e) => unrepeated(e.message, e.originalError?.message)).join('\n')
    const blind = errors.map((e) => unrepeated(e.message)).join('\n')
    if (input !== null) expect(told).toContain(words)
    for (const text of [told, blind]) expect(text).not.toContain('S3CR3T')
  })

  it.each(['set(input: "S3CR3T")', 'set(input: { name: "n", value: [["S3CR3T"]] })', 'set(input: { name: 1, value: 5 })'])(
    'literal in %s -> not repeated',
    (field) => {
      const told = validate(schema, parse(`mutation { ${field} }`)).map((e) => unrepeated(e.message))
      expect(told.length).toBeGreaterThan(0)
      expect(told.join('\n')).not.toMatch(/S3CR3T|: 5|: 1/)
    },
  )

  it('string at a place where none may be -> not repeated; other words stay', () => {
    const error = (text: string) => {
      try {
        return String(parse(text))
      } catch (e) {
        return unrepeated((e as Error).message)
      }
    }
    expect(error('mutation { set "S3CR3T" }')).toBe('Syntax Error: Expected Name, found String')
    expect(error('mutation { set(input: ) }')).toContain('Unexpected ")"')
    expect(unrepeated('Cannot query field "x" on type "Query".')).toBe('Cannot query field "x" on type "Query".')
  })
})
