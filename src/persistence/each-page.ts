import { pageOf, type Page } from './page.js'

/** One page of each of many resources: newest first, `after` is the number of the last row seen. */
export interface EachPage {
  first: number
  after: bigint | null
}

/** Rows of many resources as one page a resource; every id gets one. */
export function groupPages<Row extends { resourceId: string }>(
  ids: readonly string[],
  rows: readonly Row[],
  first: number,
): Map<string, Page<Row>> {
  const byId = new Map<string, Row[]>(ids.map((id) => [id, []]))
  for (const row of rows) byId.get(row.resourceId)?.push(row)
  return new Map([...byId].map(([id, group]) => [id, pageOf(group, first)]))
}
