import { z } from 'zod'

/** Lines that Caddy writes when it gets no certificate, of its JSON log. */
const lineSchema = z.object({
  level: z.literal('error'),
  logger: z.string().startsWith('tls.'),
  identifier: z.string().optional(),
  identifiers: z.array(z.string()).optional(),
  error: z.string(),
})

/** By host, the last thing that went wrong with its certificate, from the lines of Caddy's log in their order. */
export function certificateErrors(lines: Iterable<string>): Map<string, string> {
  const found = new Map<string, string>()
  for (const line of lines) {
    const parsed = lineSchema.safeParse(jsonOf(line))
    if (!parsed.success) continue
    const { identifier, identifiers, error } = parsed.data
    for (const host of identifiers ?? (identifier === undefined ? [] : [identifier])) found.set(host, error.slice(0, errorMost))
  }
  return found
}

/** Long enough for a sentence of an ACME server; it goes through a workflow's history. */
const errorMost = 300

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
