import { createHash, randomBytes } from 'node:crypto'

/** Opaque bearer tokens: 256 random bits, of which the database keeps only the SHA-256. */

/** `evk_` for people and programs, `evn_` for an agent's channel, `evx_` for one command: a leaked one tells what it is. */
export type TokenPrefix = 'evk' | 'evn' | 'evx'

export function generateToken(prefix: TokenPrefix): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/** The form that is stored and looked up. A plain hash is enough: 256 random bits cannot be guessed. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** False for texts that cannot be a token of ours, so that they never reach the database. */
export function looksLikeToken(text: string, prefix: TokenPrefix): boolean {
  return new RegExp(`^${prefix}_[A-Za-z0-9_-]{43}$`).test(text)
}
