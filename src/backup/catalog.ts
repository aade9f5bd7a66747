import type pg from 'pg'

/** A table as the catalogue describes it. */
export interface CatalogTable {
  name: string
  columns: { name: string; type: string }[]
}

/** All tables of Evenkeel's schema, whatever migration made them. */
export async function tablesOf(client: pg.ClientBase): Promise<CatalogTable[]> {
  const { rows } = await client.query<CatalogTable>(`
    SELECT c.relname AS name,
      json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY c.relname ORDER BY c.relname`)
  return rows
}

export async function sequencesOf(client: pg.ClientBase): Promise<{ name: string; value: string; called: boolean }[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S' ORDER BY relname`,
  )
  return Promise.all(
    rows.map(async ({ name }) => {
      const found = await client.query<{ value: string; called: boolean }>(
        `SELECT last_value::text AS value, is_called AS called FROM ${quoted(name)}`,
      )
      const [state] = found.rows
      if (!state) throw new Error(`the sequence ${name} has no state`)
      return { name, ...state }
    }),
  )
}

/** Names of tables, those that others refer to first. */
export async function loadOrder(client: pg.ClientBase, names: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ child: string; parent: string }>(`
    SELECT child.relname AS child, parent.relname AS parent
    FROM pg_constraint k JOIN pg_class child ON child.oid = k.conrelid JOIN pg_class parent ON parent.oid = k.confrelid
    WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND k.conrelid <> k.confrelid`)
  const left = new Set(names)
  const order: string[] = []
  while (left.size > 0) {
    const free = [...left].filter((name) => !rows.some((r) => r.child === name && left.has(r.parent)))
    if (free.length === 0) throw new Error(`the tables ${[...left].join(', ')} refer to each other in a circle`)
    for (const name of free) left.delete(name)
    order.push(...free)
  }
  return order
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
