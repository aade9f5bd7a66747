/** The message of an error, with that of its cause where it does not say it itself (fetch hides the real reason there). */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? error.cause.message : ''
  return error.message.includes(cause) ? error.message : `${error.message} (${cause})`
}
