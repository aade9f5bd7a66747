import type { Type } from '@nestjs/common'
import { ArgsType, Field, Int, ObjectType } from '@nestjs/graphql'
import { GraphQLError } from 'graphql'
import type { Page } from '../../persistence/page.js'
import { encodeCursor } from './cursor.js'

export const pageDefault = 20
export const pageMost = 100

@ArgsType()
export class PageArgs {
  @Field(() => Int, {
    defaultValue: pageDefault,
    description: `How many, ${pageDefault} when not given and at most ${pageMost}.`,
  })
  first!: number

  @Field(() => String, { nullable: true, description: 'Begin behind this cursor: the endCursor of the page before.' })
  after?: string | null
}

/** `first` within its bounds; anything else is the caller's mistake. */
export function pageSize({ first }: PageArgs): number {
  if (Number.isInteger(first) && first >= 1 && first <= pageMost) return first
  throw new GraphQLError(`"first" must be between 1 and ${pageMost}`, { extensions: { code: 'BAD_USER_INPUT' } })
}

@ObjectType({ description: 'Where a page ends, and whether there is more behind it.' })
export class PageInfo {
  @Field(() => Boolean, { description: 'There is more behind this page.' })
  hasNextPage!: boolean

  @Field(() => Boolean, { description: 'This page was asked for with "after", so something came before it.' })
  hasPreviousPage!: boolean

  @Field(() => String, { nullable: true, description: "Cursor of the page's first entry." })
  startCursor!: string | null

  @Field(() => String, { nullable: true, description: 'Cursor of the page\'s last entry: the "after" of the next page.' })
  endCursor!: string | null
}

export interface Connection<Node> {
  edges: { cursor: string; node: Node }[]
  nodes: Node[]
  pageInfo: PageInfo
}

/** The connection type of `node`. Made by a function, because every list has the same shape. */
export function connectionOf<Node>(node: Type<Node>, name: string): Type<Connection<Node>> {
  @ObjectType(`${name}Edge`, { description: `One entry of a list of ${name}, with its place in it.` })
  class Edge {
    @Field(() => String, { description: 'The place in the list: "after" this begins behind it.' })
    cursor!: string

    @Field(() => node, { description: `The ${name} itself.` })
    node!: Node
  }

  @ObjectType(`${name}Connection`, { description: `One page of a list of ${name}.` })
  class ConnectionType {
    @Field(() => [Edge], { description: 'The entries with their cursors.' })
    edges!: Edge[]

    @Field(() => [node], { description: 'The entries without cursors.' })
    nodes!: Node[]

    @Field(() => PageInfo, { description: 'Whether there is more.' })
    pageInfo!: PageInfo
  }
  return ConnectionType
}

/** A page of rows as a connection; `keyOf` gives what a row's cursor holds. Cursors are made for those who ask for them. */
export function toConnection<Row>({ rows, hasMore }: Page<Row>, args: PageArgs, keyOf: (row: Row) => unknown): Connection<Row> {
  const cursorOf = (row: Row | undefined) => (row === undefined ? null : encodeCursor(keyOf(row)))
  return {
    nodes: rows,
    get edges() {
      return rows.map((node) => ({ cursor: encodeCursor(keyOf(node)), node }))
    },
    get pageInfo() {
      return {
        hasNextPage: hasMore,
        hasPreviousPage: args.after !== null && args.after !== undefined,
        startCursor: cursorOf(rows[0]),
        endCursor: cursorOf(rows.at(-1)),
      }
    },
  }
}
