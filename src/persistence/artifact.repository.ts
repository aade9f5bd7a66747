import type { Database } from './database.js'

/** Things too big for a workflow's history, by the SHA-256 of their bytes. */
export class ArtifactRepository {
  constructor(private readonly db: Database) {}

  async get(sha256: string): Promise<Uint8Array | null> {
    const row = await this.db.artifact.findUnique({ where: { sha256 }, select: { content: true } })
    return row?.content ?? null
  }
}
