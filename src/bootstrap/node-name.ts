/** A host name as a valid name of a node: its first label in lower case, with what is not allowed left out. */
export function localNodeName(hostName: string): string {
  const label = (hostName.split('.')[0] ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 58)
    .replace(/^-+|-+$/g, '')
  if (label === '') return 'local'
  return /^[a-z]/.test(label) ? label : `node-${label}`
}
