import { domainToASCII } from 'node:url'

/** Says what is wrong with a host, and what would be right. */
export class HostError extends Error {}

/** One spelling of a host: lower case, punycode, no dot or space around it. */
export function canonicalHost(given: string): string {
  const host = domainToASCII(given.trim().toLowerCase().replace(/\.$/, ''))
  if (host === '') throw new HostError('is no host name')
  return host
}
