const longest = 300

/** What Caddy says of a configuration, for people of other projects too: short, and without what may be somebody's secret. */
export function caddyWords(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const words = (lines.map(errorIn).findLast((words) => words !== null) ?? lines.at(-1) ?? 'no reason was told')
    .replace(/-----BEGIN [\s\S]*/, '…')
    .replace(/\$2[abxy]?\$\d\d\$\S*/g, '…')
    .replace(/[A-Za-z0-9+/=_]{64,}/g, '…')
    .replace(/\s+/g, ' ')
    .trim()
  return words.length > longest ? `${words.slice(0, longest - 1)}…` : words
}

/** As a line for people, or as one of its log, which depends on what it believes to write to. */
function errorIn(line: string): string | null {
  if (line.startsWith('Error: ')) return line.slice('Error: '.length)
  const logged = loggedIn(line)
  return logged?.level === 'error' && typeof logged.msg === 'string' ? logged.msg : null
}

function loggedIn(line: string): { level?: unknown; msg?: unknown } | null {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as object) : null
  } catch {
    return null
  }
}
