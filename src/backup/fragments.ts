import { z } from 'zod'

const fragmentSchema = z.looseObject({ revision: z.string(), publication: z.looseObject({ addresses: z.array(z.string()) }) })

/**
 * What this node showed of a resource when the backup was made, without the addresses that no container of it has any
 * more: names and ingress serve on with what runs, before anybody resumes anything. Null when nothing is left of it.
 */
export function stillTrue(fragment: string, running: ReadonlySet<string>): string | null {
  const parsed = fragmentSchema.safeParse(parseJson(fragment))
  if (!parsed.success) return null
  const { revision, publication } = parsed.data
  const addresses = publication.addresses.filter((a) => running.has(a))
  if (addresses.length === 0) return null
  // Another revision than any that a pass asks for: the first pass after the resume publishes what is true then.
  const told = addresses.length === publication.addresses.length ? revision : `restored-${revision}`
  return JSON.stringify({ ...parsed.data, revision: told, publication: { ...publication, addresses } })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
