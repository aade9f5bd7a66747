import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** A path inside the checkout. */
export function inRoot(...parts) {
  return join(ROOT, ...parts)
}

/** An error whose message is all that a person needs: printed without a stack. */
export class SetupError extends Error {}
