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
  const top = topFields(operation.selectionSet, fragments)
  if (top.length > limits.rootFields) throw tooLarge(`the operation has ${top.length} fields at its top, more than ${limits.rootFields}: send several operations`)
  const introspects = top.length > 0 && top.every((f) => f.name.value.startsWith('__'))
  const { depth, cost } = weigher(weighed, fragments)(operation.selectionSet, schema.getRootType(operation.operation) ?? undefined)
  const most = introspects ? limits.introspectionDepth : limits.depth
  if (depth > most) throw tooLarge(`the operation nests ${depth} deep, more than ${most}`)
  if (cost > limits.complexity) throw tooLarge(`the operation asks for about ${cost} fields, more than ${limits.complexity}: ask for smaller pages or fewer fields`)
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
  const size = value?.kind === Kind.VARIABLE ? variables[value.name.value] : value?.kind === Kind.INT ? Number(value.value) : undefined
  return typeof size === 'number' ? Math.max(1, size) : pageDefault
}

function topFields(set: SelectionSetNode, fragments: Fragments, open = new Set<string>()): FieldNode[] {
  return set.selections.flatMap((selection): FieldNode[] => {
    if (selection.kind === Kind.FIELD) return [selection]
    if (selection.kind === Kind.INLINE_FRAGMENT) return topFields(selection.selectionSet, fragments, open)
    const name = selection.name.value
    const definition = fragments.get(name)
    if (!definition || open.has(name)) return []
    return topFields(definition.selectionSet, fragments, new Set([...open, name]))
  })
}
