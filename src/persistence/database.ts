import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.js'

export type Database = PrismaClient
/** A running transaction: everything but opening another one. */
export type Transaction = Omit<PrismaClient, '$connect' | '$disconnect' | '$on' | '$use' | '$extends' | '$transaction'>

/** One connection pool; `connections` bounds it. Close it with `$disconnect`. */
export function openDatabase(url: string, connections = 10): Database {
  const nameOf = statementNames()
  const adapter = new PrismaPg(
    { connectionString: url, max: connections, connectionTimeoutMillis: 5_000 },
    { statementNameGenerator: ({ sql }) => nameOf(sql) },
  )
  return new PrismaClient({ adapter })
}

/** Lists of a page's ids and the like make ever new texts, and every connection keeps what it has prepared. */
const namedMost = 200

/**
 * Names for statements, so that PostgreSQL parses and plans each text once a connection: planning the snapshot of a pass
 * costs it twice what running it does. The first texts of a process are those that it repeats; '' = not kept.
 */
export function statementNames(most = namedMost): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    if (names.size >= most) return ''
    const name = `s${names.size}`
    names.set(text, name)
    return name
  }
}
