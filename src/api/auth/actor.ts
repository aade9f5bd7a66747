import { includes, type Ability } from './ability.js'

/** Who is asking: a token. */
export interface Actor {
  tokenId: string
  name: string
  abilities: readonly string[]
  /** null = never. */
  expiresAt: Date | null
}

export function may(actor: Actor, needed: Ability): boolean {
  return includes(actor.abilities, needed)
}
