import { buildSchema, Kind, parse, type OperationDefinitionNode } from 'graphql'
import { describe, expect, it } from 'vitest'
import { defaultLimits } from './limits.js'
import { refuseHeavy } from './operation-weight.js'

const schema = buildSchema(`
  type Query { thing: Thing things(first: Int! = 20): Things list: [Thing!]! }
  type Things { nodes: [Thing!]! }
  type Thing { id: ID! name: String inner: Thing things(first: Int! = 20): Things list: [Thing!]! }
`)

function weigh(query: string, variables: Record<string, unknown> = {}): void {
  const document = parse(query)
  const operation = document.definitions.find((d): d is OperationDefinitionNode => d.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('no operation')
  refuseHeavy(
    { schema, document, operation, variables },
    { ...defaultLimits, depth: 5, introspectionDepth: 7, complexity: 1_000, rootFields: 4 },
  )
}
const nested = (depth: number) => `{ thing { ${'inner { '.repeat(depth - 2)}id${' }'.repeat(depth - 2)} } }`

describe('refuseHeavy', () => {
  it.each([
    ['depth at the limit', nested(5), null],
    ['depth above it', nested(6), 'nests 6 deep'],
    [
      'depth hidden in fragments',
      `{ thing { ...A } } fragment A on Thing { inner { ...B } } fragment B on Thing { inner { inner { inner { id } } } }`,
      'nests 6 deep',
    ],
    [
      'depth hidden in inline fragments',
      `{ thing { ... on Thing { inner { ... { inner { inner { inner { id } } } } } } } }`,
      'nests 6 deep',
    ],
    ['introspection deeper than that', `{ __schema { types { fields { type { ofType { ofType { name } } } } } } }`, null],
    [
      'introspection above its own limit',
      `{ __schema { types { fields { type { ofType { ofType { ofType { name } } } } } } } }`,
      'nests 8 deep',
    ],
    [
      'deep introspection beside something else',
      `{ thing { id } __schema { types { fields { type { ofType { ofType { name } } } } } } }`,
      'nests 7 deep',
    ],
    ['four fields at the top', '{ a: thing { id } b: thing { id } c: thing { id } d: thing { id } }', null],
    [
      'five fields at the top',
      '{ a: thing { id } b: thing { id } c: thing { id } d: thing { id } e: thing { id } }',
      '5 fields at its top',
    ],
    ['one page', '{ things(first: 100) { nodes { id name } } }', null],
    ['pages in pages', '{ things(first: 50) { nodes { things(first: 50) { nodes { id } } } } }', 'asks for about'],
    ['default page sizes', '{ things { nodes { things { nodes { things { nodes { id } } } } } } }', 'nests'],
    ['plain lists in pages', '{ things(first: 100) { nodes { list { id name } } } }', 'asks for about'],
  ])('%s', (_what, query, message) => {
    if (message === null) expect(() => weigh(query)).not.toThrow()
    else expect(() => weigh(query)).toThrow(message)
  })

  it('page size in a variable -> as given, as its default in the schema when absent', () => {
    const query = 'query ($n: Int!) { things(first: $n) { nodes { id things(first: $n) { nodes { id } } } } }'
    expect(() => weigh(query, { n: 10 })).not.toThrow()
    expect(() => weigh(query, { n: 50 })).toThrow('asks for about')
    expect(() => weigh(query, { n: -5 })).not.toThrow()
  })

  it('fragments that double thirty times -> refused in no time', () => {
    const doubling = (field: string) =>
      Array.from({ length: 30 }, (_, n) => `fragment A${n} on ${field} { ...A${n + 1} ...A${n + 1} }`).join(' ')
    expect(() => weigh(`{ ...A0 } ${doubling('Query')} fragment A30 on Query { thing { id } }`)).toThrow('fields at its top')
    expect(() => weigh(`{ thing { ...A0 } } ${doubling('Thing')} fragment A30 on Thing { id }`)).toThrow('asks for about')
  })

  it('fragments in a circle -> an end', () => {
    expect(() => weigh('{ ...A } fragment A on Query { thing { id } ...B } fragment B on Query { ...A }')).not.toThrow()
    expect(() => weigh('{ thing { ...A } } fragment A on Thing { inner { ...A } }')).not.toThrow()
  })
})
