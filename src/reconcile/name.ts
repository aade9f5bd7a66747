import { z } from 'zod'

/** What PostgreSQL can keep and a container can be given: no NUL, and no half of a surrogate pair. */
export function isPlainText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
/** Words of others (an engine, a registry, a label) need not be that: what cannot be kept of them becomes U+FFFD. */
export function toPlainText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

export const plainTextRule = 'must be Unicode text without NUL'

/** Names become DNS labels, so they follow RFC 1123 with a letter first. */
export const namePattern = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

export const nameSchema = z
  .string()
  .regex(
    namePattern,
    'must start with a letter, hold only a-z, 0-9 and -, end with a letter or digit, and have at most 63 characters',
  )

const imageComponent = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
const imageHost = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?'
/** The grammar of distribution's reference package: [host[:port]/]path[:tag][@digest]. */
const imagePattern = new RegExp(
  `^(?:${imageHost}/)?${imageComponent}(?:/${imageComponent})*(?::[\\w][\\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
)

export const imageSchema = z
  .string()
  .max(512, 'must have at most 512 characters')
  .regex(imagePattern, 'is no image reference: write [host[:port]/]name[:tag][@sha256:digest], in lower case')

/** `image` with its default tag written out, as registries and Docker understand it. */
export function withTag(image: string): string {
  if (image.includes('@')) return image
  const afterSlash = image.slice(image.lastIndexOf('/') + 1)
  return afterSlash.includes(':') ? image : `${image}:latest`
}
