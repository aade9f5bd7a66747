import type { Actor } from '../auth/actor.js'
import type { Loaders } from './loaders.js'

/** What every resolver of one operation shares. */
export interface GraphqlContext {
  actor: Actor
  loaders: Loaders
}
