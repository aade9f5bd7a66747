/** A keyset page: rows after `after` in the list's own order. */
export interface PageRequest<Key> {
  first: number
  after: Key | null
}

export interface Page<Row> {
  rows: Row[]
  hasMore: boolean
}

/** Lists read one row more than asked, to know whether there are more. */
export function pageOf<Row>(rows: Row[], first: number): Page<Row> {
  return { rows: rows.slice(0, first), hasMore: rows.length > first }
}
