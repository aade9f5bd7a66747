import {
  GraphQLError,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'
import { pageDefault } from '../graphql/connection.js'
import type { Limits } from './limits.js'

export interface WeighedOperation {
  schema: GraphQLSchema
  document: DocumentNode
  operation: OperationDefinitionNode
  variables: Readonly<Record<string, unknown>>
}

interface Weight {
  depth: number
  cost: number
}

/** Lists that are no connections hold few entries. */
const plainListCost = 5

/** Longest operation that is parsed at all: the rules that follow cost more than linear time. */
export const parsedTokensMost = 10_000

/**
 * Refuses operations that nest too deep, ask for too much, or stack too many fields at the top, before anything is
 * resolved. A connection counts as often as the entries that it is asked for. Fragments are weighed once each, so that
 * fragments of fragments cannot make the weighing itself expensive.
 */
export function refuseHeavy(weighed: WeighedOperation, limits: Limits): void {
  const { schema, operation } = weighed
  const fragments = fragmentsOf(weighed.document)
  const top = topOf(operation.selectionSet, fragments)
  if (top.fields > limits.rootFields)
    throw tooLarge(`the operation has ${top.fields} fields at its top, more than ${limits.rootFields}: send several operations`)
  const { depth, cost } = weigher(weighed, fragments)(
    operation.selectionSet,
    schema.getRootType(operation.operation) ?? undefined,
  )
  const most = top.introspection ? limits.introspectionDepth : limits.depth
  if (depth > most) throw tooLarge(`the operation nests ${depth} deep, more than ${most}`)
  if (cost > limits.complexity)
    throw tooLarge(
      `the operation asks for about ${cost} fields, more than ${limits.complexity}: ask for smaller pages or fewer fields`,
    )
}

function tooLarge(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'OPERATION_TOO_LARGE', http: { status: 400 } } })
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

function fragmentsOf(document: DocumentNode): Fragments {
  return new Map(document.definitions.flatMap((d) => (d.kind === Kind.FRAGMENT_DEFINITION ? [[d.name.value, d] as const] : [])))
}

function weigher({ schema, variables }: WeighedOperation, definitions: Fragments) {
  const fragments = new Map<string, Weight>()
  const open = new Set<string>()

  const weigh = (set: SelectionSetNode, parent: GraphQLNamedType | undefined): Weight => {
    const total: Weight = { depth: 0, cost: 0 }
    for (const selection of set.selections) {
      let weight: Weight
      if (selection.kind === Kind.FIELD) weight = field(selection, parent)
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const named = selection.typeCondition ? schema.getType(selection.typeCondition.name.value) : parent
        weight = weigh(selection.selectionSet, named)
      } else weight = fragment(definitions.get(selection.name.value))
      total.depth = Math.max(total.depth, weight.depth)
      total.cost += weight.cost
    }
    return total
  }

  /** A cycle is another rule's finding; here it only must not be followed. */
  const fragment = (definition: FragmentDefinitionNode | undefined): Weight => {
    if (!definition || open.has(definition.name.value)) return { depth: 0, cost: 0 }
    const name = definition.name.value
    const known = fragments.get(name)
    if (known) return known
    open.add(name)
    const weight = weigh(definition.selectionSet, schema.getType(definition.typeCondition.name.value))
    open.delete(name)
    fragments.set(name, weight)
    return weight
  }

  const field = (node: FieldNode, parent: GraphQLNamedType | undefined): Weight => {
    if (!node.selectionSet) return { depth: 1, cost: 1 }
    const definition = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[node.name.value] : undefined
    const type = definition ? getNamedType(definition.type) : undefined
    const inner = weigh(node.selectionSet, isCompositeType(type) ? type : undefined)
    let times = 1
    if (definition?.args.some((a) => a.name === 'first')) times = pageSizeOf(node, variables)
    else if (String(definition?.type).startsWith('[') && !isEntryList(node)) times = plainListCost
    return { depth: inner.depth + 1, cost: 1 + times * inner.cost }
  }
  return weigh
}

/** The lists inside a connection are already counted by its page size. */
function isEntryList(node: FieldNode): boolean {
  return node.name.value === 'edges' || node.name.value === 'nodes'
}

function pageSizeOf(node: FieldNode, variables: Readonly<Record<string, unknown>>): number {
  const value = node.arguments?.find((a) => a.name.value === 'first')?.value
  const size =
    value?.kind === Kind.VARIABLE ? variables[value.name.value] : value?.kind === Kind.INT ? Number(value.value) : undefined
  return typeof size === 'number' ? Math.max(1, size) : pageDefault
}

interface Top {
  fields: number
  /** Nothing but fields of introspection. */
  introspection: boolean
}

/** The fields at the top of an operation, through fragments; each fragment is counted once and then remembered. */
function topOf(set: SelectionSetNode, fragments: Fragments, known = new Map<string, Top>()): Top {
  const top: Top = { fields: 0, introspection: true }
  for (const selection of set.selections) {
    const part = partOf(selection)
    top.fields += part.fields
    top.introspection &&= part.introspection
  }
  return top

  function partOf(selection: SelectionNode): Top {
    if (selection.kind === Kind.FIELD) return { fields: 1, introspection: selection.name.value.startsWith('__') }
    if (selection.kind === Kind.INLINE_FRAGMENT) return topOf(selection.selectionSet, fragments, known)
    const name = selection.name.value
    const definition = fragments.get(name)
    if (!definition) return { fields: 0, introspection: true }
    // While a fragment is being counted it counts as nothing: a cycle is another rule's finding.
    if (!known.has(name)) {
      known.set(name, { fields: 0, introspection: true })
      known.set(name, topOf(definition.selectionSet, fragments, known))
    }
    return known.get(name) ?? { fields: 0, introspection: true }
  }
}
