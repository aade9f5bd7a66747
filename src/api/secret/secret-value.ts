import type { UserErrorValue } from '../graphql/user-error.js'

/** A process's environment takes 128 KB in one variable; this leaves room for its name, and a row stays small. */
export const secretBytesMost = 64 * 1024

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export interface GivenValue {
  value?: string | null | undefined
  valueBase64?: string | null | undefined
}

export type ReadValue = { bytes: Buffer } | { errors: UserErrorValue<'INVALID'>[] }

/** The bytes of a secret, exactly as they were given, or what is wrong with them; never any of the value itself. */
export function readSecretValue({ value, valueBase64 }: GivenValue): ReadValue {
  const [text, base64] = [value ?? null, valueBase64 ?? null]
  if (text !== null && base64 === null) return checked('value', text.isWellFormed() ? Buffer.from(text) : null)
  if (base64 === null || text !== null) return invalid('value', 'give either value or valueBase64')
  if (!base64Pattern.test(base64)) return invalid('valueBase64', 'must be base64 with its padding, without line breaks')
  return checked('valueBase64', Buffer.from(base64, 'base64'))
}

function checked(field: string, bytes: Buffer | null): ReadValue {
  if (!bytes || !isUtf8(bytes)) return invalid(field, 'must be valid Unicode text (in UTF-8): encode what is not text, and let the application decode it')
  if (bytes.length > secretBytesMost) return invalid(field, `must have at most ${secretBytesMost} bytes, and has ${bytes.length}`)
  if (bytes.includes(0)) return invalid(field, 'must not contain NUL: no environment variable can hold it')
  return { bytes }
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

function invalid(field: string, message: string): ReadValue {
  return { errors: [{ field: ['input', field], message, code: 'INVALID' }] }
}
