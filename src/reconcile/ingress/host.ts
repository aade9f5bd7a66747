/** Says what is wrong with a host, and what would be right. */
export class HostError extends Error {}

/** What every canonical host matches, its length aside. */
export const canonicalHostPattern = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/** Shown as nothing: two hosts that look the same would differ, or the mapping to ASCII would drop them unseen. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u
const example = 'write it like shop.example.com'

/** One spelling of a host: lower case, punycode, no scheme, dot or space around it. */
export function canonicalHost(given: string): string {
  const name = withoutDotAtEnd(withoutScheme(given.trim()))
  refuseForeignParts(name)
  const wildcard = name.startsWith('*.')
  const host = toAscii(wildcard ? name.slice(2) : name)
  refuseBadLabels(host)
  if (wildcard && !host.includes('.'))
    throw new HostError(`is a wildcard for all of .${host}: write one below a name of your own, like *.example.com`)
  const canonical = wildcard ? `*.${host}` : host
  if (canonical.length > 253) throw new HostError(`has ${canonical.length} characters: a host has at most 253`)
  return canonical
}

/** People paste what their browser shows: a scheme and one slash at the end say nothing about the host. */
function withoutScheme(text: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)
  if (!scheme) return text.replace(/\/$/, '')
  if (!/^https?$/i.test(scheme[1] ?? '')) throw new HostError(`has the scheme ${scheme[1]}: ${example}`)
  return text.slice(scheme[0].length).replace(/\/$/, '')
}

/** The root's dot is a way to write the same name; IDNA knows three more full stops. */
function withoutDotAtEnd(text: string): string {
  return text.replace(/[.\u3002\uff0e\uff61]$/, '')
}

function refuseForeignParts(name: string): void {
  if (name === '') throw new HostError(`is empty: ${example}`)
  if (invisible.test(name)) throw new HostError('holds an invisible character: type the name again instead of pasting it')
  if (/\s/.test(name)) throw new HostError(`holds a space: ${example}`)
  if (/^\[|^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(name))
    throw new HostError(`is an IP address: a domain is a name; ${example}`)
  if (/[/\\]/.test(name)) throw new HostError('has a path: give the host alone; the path has a field of its own')
  if (/[?#]/.test(name)) throw new HostError(`has a query or fragment: ${example}`)
  if (name.includes('@')) throw new HostError(`names a user: ${example}`)
  if (name.includes(':'))
    throw new HostError('has a port: give the host alone; the port of the application has a field of its own')
  if (name.includes('%')) throw new HostError('is percent-encoded: write the characters themselves')
  if (name.slice(name.startsWith('*.') ? 1 : 0).includes('*'))
    throw new HostError('has a * elsewhere than as its whole first label: write *.example.com')
  if (name.includes('_')) throw new HostError('holds an underscore, for which no authority issues certificates: write - instead')
}

function toAscii(name: string): string {
  let host: string
  try {
    // The URL standard's own mapping (IDNA, UTS 46): what browsers will ask for.
    host = new URL(`http://${name}/`).hostname
  } catch {
    if (/(^|\.)[0-9]+$/.test(name)) throw new HostError('ends in a number, as only an IP address does: a domain is a name')
    throw new HostError(`is no host name: ${example}`)
  }
  if (/^[0-9]+(\.[0-9]+){3}$/.test(host)) throw new HostError(`is an IP address: a domain is a name; ${example}`)
  if (/(^|\.)xn--/.test(host) && !isPunycode(host))
    throw new HostError('has a label with xn-- that is no punycode: write the characters themselves')
  return host
}

/** ASCII alone is taken as it is by the engine's quick way; a label beside it that needs mapping has all of them examined. */
function isPunycode(host: string): boolean {
  // Starts with a hyphen once decoded, or has a delimiter before nothing, which Caddy refuses.
  if (/(^|\.)xn---/.test(host)) return false
  return URL.canParse(`http://ü.${host}/`) && new URL(`http://ü.${host}/`).hostname === `xn--tda.${host}`
}

function refuseBadLabels(host: string): void {
  for (const label of host.split('.')) {
    if (label === '') throw new HostError('has an empty label: two dots in a row, or a dot at its start')
    if (label.length > 63) throw new HostError(`has a label of ${label.length} characters: a label has at most 63`)
    if (label.startsWith('-') || label.endsWith('-'))
      throw new HostError(`has the label ${label}: a label neither starts nor ends with -`)
    if (!/^[a-z0-9-]+$/.test(label)) throw new HostError(`has the label ${label}: a label holds letters, digits and - only`)
  }
}
