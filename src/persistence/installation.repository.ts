import type { Database } from './database.js'

const instanceKey = 'instance'
/** Any fixed number: processes that initialise the same database wait for each other under it. */
const initialiseLock = 7_236_546

/** What the database knows of the installation that it belongs to. */
export class InstallationRepository {
  constructor(private readonly db: Database) {}

  /** One process at a time makes secrets and their rows, or rotates keys. `work` uses other connections of the pool. */
  async alone<T>(work: () => Promise<T>, timeoutMs = 60_000): Promise<T> {
    return this.db.$transaction(
      async (tx) => {
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(${initialiseLock})`
        return work()
      },
      { timeout: timeoutMs, maxWait: 60_000 },
    )
  }

  async instance(): Promise<string | null> {
    const row = await this.db.setting.findUnique({ where: { key: instanceKey } })
    return typeof row?.value === 'string' ? row.value : null
  }

  async setInstance(instance: string): Promise<void> {
    await this.db.setting.upsert({
      where: { key: instanceKey },
      create: { key: instanceKey, value: instance },
      update: { value: instance },
    })
  }

  async keyChecks(): Promise<{ keyId: string; sealed: Uint8Array }[]> {
    return this.db.keyCheck.findMany({ orderBy: { createdAt: 'asc' }, select: { keyId: true, sealed: true } })
  }

  async addKeyCheck(keyId: string, sealed: Uint8Array): Promise<void> {
    const data = { keyId, sealed: Uint8Array.from(sealed) }
    await this.db.keyCheck.upsert({ where: { keyId }, create: data, update: {} })
  }

  /** Ids of the keys that secrets and registry credentials are sealed with. */
  async secretKeyIds(): Promise<string[]> {
    const rows = await this.db.$queryRaw<{ keyId: string }[]>`
      SELECT "keyId" FROM "SecretVersion" UNION SELECT "keyId" FROM "RegistryCredential" ORDER BY 1`
    return rows.map((r) => r.keyId)
  }
}
