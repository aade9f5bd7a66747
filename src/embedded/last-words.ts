/** pino's number for errors; what is above is fatal. */
const ERROR_LEVEL = 50

/**
 * Why a program ended, from the end of its output, on one line: the last error of a structured log if there is one,
 * else the last lines. Short enough to print; the whole is in the log.
 */
export function lastWords(output: string, lineCount = 4): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const error = lines.map(errorOfLogLine).findLast((message) => message !== undefined)
  return error ?? lines.slice(-lineCount).join(' | ')
}

function errorOfLogLine(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const { level, msg, err } = JSON.parse(line) as { level?: unknown; msg?: unknown; err?: { message?: unknown } }
    if (typeof level !== 'number' || level < ERROR_LEVEL) return undefined
    const text = typeof msg === 'string' && msg !== '' ? msg : err?.message
    return typeof text === 'string' ? text.split('\n')[0] : undefined
  } catch {
    return undefined
  }
}
