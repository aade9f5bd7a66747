import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { defineConfig } from 'prisma-migrate/config'

// Settings of the migration tool: Prisma 6 (npm alias prisma-migrate), because its schema engine comes as WebAssembly
// and works over a JavaScript driver. Prisma 7 wants a native engine that it downloads from a site of its own.
// Environment: DATABASE_URL, and EVENKEEL_MIGRATION_SCHEMA (the schema in the form that Prisma 6 reads).

/** The engine never clears the timer of its lock on the database; the tool would wait for it before it ends. */
const LOCK_TIMEOUT_MS = 10_000
const { setTimeout: startTimer } = globalThis
globalThis.setTimeout = (callback, ms, ...args) => {
  const timer = startTimer(callback, ms, ...args)
  return ms === LOCK_TIMEOUT_MS ? timer.unref() : timer
}

/** PostgreSQL's internal one-byte "char", found in its system tables. */
const CHAR_OID = 18
const TEXT_OID = 25
/** ColumnTypeEnum.Character of Prisma's driver adapters. */
const CHARACTER = 6

/**
 * The stock adapter does not know the type "char", so reading a schema back fails. Here such a column passes through
 * it as text and comes out as what the engine expects.
 */
function teachChar(adapter) {
  const { performIO, queryRaw } = adapter
  adapter.performIO = async function (query) {
    const result = await performIO.call(this, query)
    const chars = [result]
      .flat()
      .flatMap((part) => part.fields)
      .filter((field) => field.dataTypeID === CHAR_OID)
    query.charNames = new Set(chars.map((field) => field.name))
    for (const field of chars) field.dataTypeID = TEXT_OID
    return result
  }
  adapter.queryRaw = async function (query) {
    const result = await queryRaw.call(this, query)
    const columnTypes = result.columnTypes.map((type, i) => (query.charNames.has(result.columnNames[i]) ? CHARACTER : type))
    return { ...result, columnTypes }
  }
  return adapter
}

class MigrationAdapter extends PrismaPg {
  constructor(connection) {
    super(connection)
    this.connection = connection
  }

  async connect() {
    return teachChar(await super.connect())
  }

  /** The stock adapter drops its shadow database while it is still connected to it, which PostgreSQL refuses. */
  async connectToShadowDb() {
    const database = `shadow_${randomUUID()}`
    await this.execute(`CREATE DATABASE "${database}"`)
    const shadow = await new MigrationAdapter({ ...this.connection, database }).connect()
    const disconnect = shadow.dispose.bind(shadow)
    shadow.dispose = async () => {
      await disconnect()
      await this.execute(`DROP DATABASE "${database}" WITH (FORCE)`)
    }
    return shadow
  }

  async execute(statement) {
    const client = new pg.Client(this.connection)
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }
}

/** In parts, not as a connection string: that would win over the name of the shadow database. */
function connection(url) {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    allowExitOnIdle: true, // else the tool would wait ten seconds for its idle connections before it ends
  }
}

export default defineConfig({
  experimental: { adapter: true },
  engine: 'js',
  schema: process.env.EVENKEEL_MIGRATION_SCHEMA,
  migrations: { path: join(import.meta.dirname, 'migrations') },
  adapter: async () => new MigrationAdapter(connection(process.env.DATABASE_URL)),
})
