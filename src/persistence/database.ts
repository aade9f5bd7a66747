import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.js'

export type Database = PrismaClient
/** A running transaction: everything but opening another one. */
export type Transaction = Omit<PrismaClient, '$connect' | '$disconnect' | '$on' | '$use' | '$extends' | '$transaction'>

/** One connection pool; `connections` bounds it. Close it with `$disconnect`. */
export function openDatabase(url: string, connections = 10): Database {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: connections, connectionTimeoutMillis: 5_000 }) })
}
