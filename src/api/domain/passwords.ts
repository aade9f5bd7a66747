import { hash } from 'bcryptjs'
import { canonicalHost } from '../../reconcile/ingress/host.js'
import { domainKey, type Domain } from '../../reconcile/ingress/domain.js'
import { isPlainText } from '../../reconcile/name.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import type { BasicAuthUserInput, DomainInput } from './domain.input.js'

type Maybe<T> = T | null | undefined
type Invalid = UserErrorValue<'INVALID'>

/** About 50 ms of a core each. */
const cost = 10
/** bcrypt looks at no more of it. */
const bytesMost = 72
/** Hashing takes a core for seconds by then. */
const passwordsMost = 64

interface WithDomains {
  domains?: Maybe<DomainInput[]>
}

/** An input whose passwords have become hashes, or what is wrong with them. Paths begin with `root`. */
export async function hashPasswords<Input extends WithDomains>(
  input: Input,
  root: readonly string[],
): Promise<{ input: Input; errors: Invalid[] }> {
  const errors = passwordErrors(input.domains ?? [], root)
  if (errors.length > 0 || !input.domains) return { input, errors }
  const domains: DomainInput[] = []
  for (const domain of input.domains) domains.push(await hashed(domain))
  return { input: { ...input, domains }, errors }
}

async function hashed(domain: DomainInput): Promise<DomainInput> {
  if (!domain.basicAuth) return domain
  const basicAuth: BasicAuthUserInput[] = []
  for (const { password, ...user } of domain.basicAuth)
    basicAuth.push(isGiven(password) ? { ...user, passwordHash: await hash(password, cost) } : user)
  return { ...domain, basicAuth }
}

function passwordErrors(domains: readonly DomainInput[], root: readonly string[]): Invalid[] {
  const users = domains.flatMap(({ basicAuth }, at) =>
    (basicAuth ?? []).map((user, index) => ({
      user,
      field: [...root, 'domains', String(at), 'basicAuth', String(index), 'password'],
    })),
  )
  const given = users.filter(({ user }) => isGiven(user.password))
  if (given.length > passwordsMost)
    return [
      {
        field: [...root, 'domains'],
        message: `must bring at most ${passwordsMost} passwords at once: give hashes, or several changes`,
        code: 'INVALID',
      },
    ]
  return given.flatMap(({ user, field }): Invalid[] => {
    const message = faultOf(user)
    return message === null ? [] : [{ field, message, code: 'INVALID' }]
  })
}

/** In words that quote nothing. */
function faultOf({ password, passwordHash }: BasicAuthUserInput): string | null {
  if (isGiven(passwordHash)) return 'cannot be given beside passwordHash: one of the two is enough'
  if (!password) return 'must not be empty'
  if (!isPlainText(password)) return 'must be Unicode text without NUL'
  return Buffer.byteLength(password) > bytesMost ? `must have at most ${bytesMost} bytes: bcrypt looks at no more` : null
}

/** Names without a password keep the hash that they have at the same host and path. */
export function withKeptHashes<Input extends WithDomains>(input: Input, before: readonly Domain[], root: readonly string[]) {
  const hashes = new Map(before.flatMap((d) => (d.basicAuth ?? []).map((u) => [`${domainKey(d)} ${u.username}`, u.passwordHash])))
  const errors: Invalid[] = []
  const domains = input.domains?.map((domain, at) => {
    if (!domain.basicAuth) return domain
    const basicAuth = domain.basicAuth.map((user, index): BasicAuthUserInput => {
      if (isGiven(user.passwordHash)) return user
      const passwordHash = hashes.get(`${keyOf(domain)} ${user.username}`)
      if (passwordHash === undefined)
        errors.push(missing([...root, 'domains', String(at), 'basicAuth', String(index), 'password']))
      return { ...user, passwordHash }
    })
    return { ...domain, basicAuth }
  })
  return { input: domains ? { ...input, domains } : input, errors }
}

function missing(field: string[]): Invalid {
  return {
    field,
    message: 'must be given, or passwordHash: nobody of this name has one at this host and path yet',
    code: 'INVALID',
  }
}

function keyOf({ host, path }: DomainInput): string | null {
  try {
    return domainKey({ host: canonicalHost(host), path: path ?? undefined })
  } catch {
    return null // the spec's schema says what is wrong with it
  }
}

function isGiven<T>(value: Maybe<T>): value is T {
  return value !== null && value !== undefined
}

/** What a repeated idempotency key has to repeat: a fast hash of it is kept, which no password should be found by. */
export function withoutPasswords<Input extends WithDomains>(input: Input): Input {
  if (!input.domains) return input
  const hidden = ({ password, ...user }: BasicAuthUserInput) => (isGiven(password) ? { ...user, password: 'given' } : user)
  const domains = input.domains.map((d) => (d.basicAuth ? { ...d, basicAuth: d.basicAuth.map(hidden) } : d))
  return { ...input, domains }
}
