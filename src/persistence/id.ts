import { randomInt } from 'node:crypto'
import { idPrefixByKind, type Kind } from '../reconcile/kind.js'

/** No vowels, so that no words; no 0, 1, l, o, so that nothing is misread. 28 characters: 16 of them are 76 bits. */
const alphabet = '23456789bcdfghjkmnpqrstvwxyz'

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}

export function newResourceId(kind: Kind): string {
  return `${idPrefixByKind[kind]}_${randomText(16)}`
}

export const newProjectId = () => `prj_${randomText(16)}`
export const newTokenId = () => `tok_${randomText(16)}`
export const newSecretId = () => `sec_${randomText(16)}`
export const newCredentialId = () => `reg_${randomText(16)}`

/** Names this installation in labels and container names, so short; begins with a letter. */
export const newInstanceId = () => `e${randomText(7)}`
