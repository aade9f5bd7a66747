const longest = 300

/** What Caddy says of a configuration, for people of other projects too: short, and without what may be somebody's secret. */
export function caddyWords(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const error = lines.findLast((line) => line.startsWith('Error: '))?.slice('Error: '.length)
  const words = (error ?? lines.at(-1) ?? 'no reason was told')
    .replace(/-----BEGIN [\s\S]*/, '…')
    .replace(/\$2[abxy]?\$\d\d\$\S*/g, '…')
    .replace(/[A-Za-z0-9+/=_]{64,}/g, '…')
    .replace(/\s+/g, ' ')
    .trim()
  return words.length > longest ? `${words.slice(0, longest - 1)}…` : words
}
