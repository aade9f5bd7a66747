import type { Database } from './database.js'
import { newTokenId } from './id.js'
import { pageOf, type Page, type PageRequest } from './page.js'
import { auditIdle, auditPlain, claimKey, transact, type WriteContext } from './write.js'

/** A token without its hash: the hash never leaves the repository. */
export interface TokenRow {
  id: string
  name: string
  abilities: string[]
  createdBy: string
  createdAt: Date
  expiresAt: Date | null
  lastUsedAt: Date | null
  revokedAt: Date | null
}

const tokenColumns = {
  id: true,
  name: true,
  abilities: true,
  createdBy: true,
  createdAt: true,
  expiresAt: true,
  lastUsedAt: true,
  revokedAt: true,
} as const

/** The token that lies in the state directory. */
export const ownerTokenId = 'tok_owner'

export interface TokenDraft {
  name: string
  hash: string
  abilities: string[]
  expiresAt: Date | null
}

export type TokenCreateResult =
  | { outcome: 'created' | 'repeated'; token: TokenRow }
  | { outcome: 'keyReused'; operation: string }
  | { outcome: 'goneSince'; id: string }

export type TokenRevokeResult =
  { outcome: 'revoked' | 'unchanged'; token: TokenRow } | { outcome: 'notFound' } | { outcome: 'owner' }

/** How stale `lastUsedAt` may be, so that a busy client does not cost a write a request. */
const lastUsedStepMs = 60_000

export class TokenRepository {
  constructor(private readonly db: Database) {}

  /** The living token of a hash; notes that it was used. */
  async findLiving(hash: string, now: Date): Promise<TokenRow | null> {
    // Runs at every request, so without the query builder.
    const [token] = await this.db.$queryRaw<TokenRow[]>`
      SELECT id, name, abilities, "createdBy", "createdAt", "expiresAt", "lastUsedAt", "revokedAt" FROM "ApiToken" WHERE "tokenHash" = ${hash}`
    if (!token || token.revokedAt || (token.expiresAt && token.expiresAt <= now)) return null
    if (!token.lastUsedAt || token.lastUsedAt < staleBefore(now)) await this.noteUse(token.id, now)
    return token
  }

  /** Of many requests that see a stale time at once, one writes. */
  private async noteUse(id: string, now: Date): Promise<void> {
    const stale = { OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: staleBefore(now) } }] }
    await this.db.apiToken.updateMany({ where: { id, ...stale }, data: { lastUsedAt: now } })
  }

  async getMany(ids: readonly string[]): Promise<TokenRow[]> {
    return this.db.apiToken.findMany({ where: { id: { in: [...ids] } }, select: tokenColumns })
  }

  /** Ascending by name, then id. */
  async list({ first, after }: PageRequest<{ name: string; id: string }>): Promise<Page<TokenRow>> {
    const rows = await this.db.apiToken.findMany({
      where: after ? { OR: [{ name: { gt: after.name } }, { name: after.name, id: { gt: after.id } }] } : {},
      orderBy: [{ name: 'asc' }, { id: 'asc' }],
      take: first + 1,
      select: tokenColumns,
    })
    return pageOf(rows, first)
  }

  create(draft: TokenDraft, context: WriteContext): Promise<TokenCreateResult> {
    return transact<TokenCreateResult>(this.db, async (tx) => {
      const id = newTokenId()
      const claim = await claimKey(tx, context, id)
      if (claim.outcome === 'keyReused') return claim
      if (claim.outcome === 'repeated') {
        const token = await tx.apiToken.findUnique({ where: { id: claim.resultId }, select: tokenColumns })
        if (!token) return { outcome: 'goneSince', id: claim.resultId }
        await auditIdle(tx, context, token, 'repeated')
        return { outcome: 'repeated', token }
      }
      const { name, hash, abilities, expiresAt } = draft
      const token = await tx.apiToken.create({
        data: { id, name, tokenHash: hash, abilities, expiresAt, createdBy: context.actor, createdAt: context.now },
        select: tokenColumns,
      })
      await auditPlain(tx, context, id, null, { name, abilities, expiresAt })
      return { outcome: 'created', token }
    })
  }

  revoke(id: string, context: WriteContext): Promise<TokenRevokeResult> {
    return transact<TokenRevokeResult>(this.db, async (tx) => {
      if (id === ownerTokenId) return { outcome: 'owner' }
      const token = await tx.apiToken.findUnique({ where: { id }, select: tokenColumns })
      if (!token) return { outcome: 'notFound' }
      if (token.revokedAt) {
        await auditIdle(tx, context, token, 'unchanged')
        return { outcome: 'unchanged', token }
      }
      const revoked = await tx.apiToken.update({ where: { id }, data: { revokedAt: context.now }, select: tokenColumns })
      await auditPlain(tx, context, id, { name: token.name, abilities: token.abilities }, null)
      return { outcome: 'revoked', token: revoked }
    })
  }

  /** Makes the owner's row stand for this hash, whatever the row said. */
  async ensureOwner(hash: string, abilities: readonly string[]): Promise<void> {
    const data = { name: 'owner', tokenHash: hash, abilities: [...abilities], expiresAt: null, revokedAt: null }
    await this.db.apiToken.upsert({
      where: { id: ownerTokenId },
      create: { id: ownerTokenId, createdBy: ownerTokenId, ...data },
      update: data,
    })
  }
}

function staleBefore(now: Date): Date {
  return new Date(now.getTime() - lastUsedStepMs)
}
