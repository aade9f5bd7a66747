import { createHash } from 'node:crypto'
import type { Database } from './database.js'

/** Things too big for a workflow's history, by the SHA-256 of their bytes. */
export class ArtifactRepository {
  constructor(private readonly db: Database) {}

  async get(sha256: string): Promise<Uint8Array | null> {
    const row = await this.db.artifact.findUnique({ where: { sha256 }, select: { content: true } })
    return row?.content ?? null
  }

  /** The same bytes again change nothing. */
  async put(content: Uint8Array, now: Date): Promise<string> {
    const sha256 = createHash('sha256').update(content).digest('hex')
    await this.db.artifact.createMany({
      data: [{ sha256, content: Uint8Array.from(content), createdAt: now }],
      skipDuplicates: true,
    })
    return sha256
  }
}
