import type { Database } from './database.js'

/** Things too big for a workflow's history, by the SHA-256 of their bytes. */
export class ArtifactRepository {
  constructor(private readonly db: Database) {}

  async get(sha256: string): Promise<Uint8Array | null> {
    const row = await this.db.artifact.findUnique({ where: { sha256 }, select: { content: true } })
    return row?.content ?? null
  }

  async getMany(sha256s: readonly string[]): Promise<{ sha256: string; content: Uint8Array }[]> {
    return this.db.artifact.findMany({ where: { sha256: { in: [...sha256s] } }, select: { sha256: true, content: true } })
  }
}
