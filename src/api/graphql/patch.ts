/**
 * A patch as JSON merge patch (RFC 7396) means it: absent = unchanged, null = back to the default, objects field by
 * field, lists as a whole. GraphQL gives optional fields inside lists as null; a spec has no nulls, so those go too.
 */
export function merged(spec: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return withoutNulls(patch)
  const result: Record<string, unknown> = isObject(spec) ? { ...spec } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

/** A whole value without its nulls: how a create reads its input. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== null && v !== undefined)
      .map(([k, v]) => [k, withoutNulls(v)]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
