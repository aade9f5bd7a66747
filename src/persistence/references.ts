import type { ApplicationSpec } from '../reconcile/application/spec.js'
import type { Transaction } from './database.js'

/** Something that a spec names and its project does not have. */
export interface UnknownReference {
  what: 'secret' | 'version' | 'registryCredential'
  /** Where in the spec. */
  path: string[]
  name: string
  /** What there is: names, or versions. A few of them. */
  known: string[]
}

interface SecretReference {
  path: string[]
  /** The field there that holds the name. */
  field: string
  secret: string
  version: number | undefined
}

/** How many of what there is are told. */
const toldMost = 10

export function namesOthers(spec: ApplicationSpec): boolean {
  return spec.registryCredential !== undefined || secretsOf(spec).length > 0
}

/**
 * What a spec names in vain. Keeps what it names from being deleted until the transaction ends, so that no spec is
 * written that names something which is just going.
 */
export async function unknownReferences(tx: Transaction, projectId: string, spec: ApplicationSpec): Promise<UnknownReference[]> {
  if (!namesOthers(spec)) return []
  await tx.$queryRaw`SELECT id FROM "Project" WHERE id = ${projectId} FOR KEY SHARE`
  return [...(await unknownSecrets(tx, projectId, secretsOf(spec))), ...(await unknownCredential(tx, projectId, spec))]
}

function secretsOf({ secretEnv = [], files = [], domains = [] }: ApplicationSpec): SecretReference[] {
  const inFiles = files.map(({ secret, version }, at) => ({ path: ['files', String(at)], field: 'secret', secret, version }))
  const inEnv = secretEnv.map(({ secret, version }, at) => ({
    path: ['secretEnv', String(at)],
    field: 'secret',
    secret,
    version,
  }))
  const inDomains = domains.map(({ certificate }, at) => ({
    path: ['domains', String(at)],
    field: 'certificate',
    secret: certificate,
    version: undefined,
  }))
  return [...inEnv, ...inFiles, ...inDomains].flatMap(({ secret, ...rest }) =>
    secret === undefined ? [] : [{ secret, ...rest }],
  )
}

async function unknownSecrets(tx: Transaction, projectId: string, named: SecretReference[]): Promise<UnknownReference[]> {
  if (named.length === 0) return []
  const rows = await tx.secret.findMany({
    where: { projectId, name: { in: named.map((n) => n.secret) } },
    select: { name: true, versions: { select: { version: true }, orderBy: { version: 'desc' } } },
  })
  const versions = new Map(rows.map((r) => [r.name, r.versions.map((v) => v.version)]))
  const known = named.every((n) => versions.has(n.secret)) ? [] : await someNames((query) => tx.secret.findMany(query), projectId)
  return named.flatMap(({ path, field, secret, version }): UnknownReference[] => {
    const there = versions.get(secret)
    if (!there) return [{ what: 'secret', path: [...path, field], name: secret, known }]
    if (version === undefined || there.includes(version)) return []
    return [{ what: 'version', path: [...path, 'version'], name: secret, known: there.slice(0, toldMost).map(String) }]
  })
}

async function unknownCredential(
  tx: Transaction,
  projectId: string,
  { registryCredential: name }: ApplicationSpec,
): Promise<UnknownReference[]> {
  if (name === undefined) return []
  const found = await tx.registryCredential.findUnique({ where: { projectId_name: { projectId, name } }, select: { id: true } })
  if (found) return []
  return [
    {
      what: 'registryCredential',
      path: ['registryCredential'],
      name,
      known: await someNames((query) => tx.registryCredential.findMany(query), projectId),
    },
  ]
}

interface NameQuery {
  where: { projectId: string }
  orderBy: { name: 'asc' }
  take: number
  select: { name: true }
}

async function someNames(findMany: (query: NameQuery) => PromiseLike<{ name: string }[]>, projectId: string): Promise<string[]> {
  const rows = await findMany({ where: { projectId }, orderBy: { name: 'asc' }, take: toldMost, select: { name: true } })
  return rows.map((r) => r.name)
}
