import type { ClaimConflict } from '../../persistence/application-claims.js'
import { applicationSpecSchema, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { canonicalJson } from '../../reconcile/hash.js'
import { nameSchema } from '../../reconcile/name.js'
import { may, type Actor } from '../auth/actor.js'
import { hashPasswords, withKeptHashes } from '../domain/passwords.js'
import { withoutNulls } from '../graphql/patch.js'
import { invalidErrors, type UserErrorValue } from '../graphql/user-error.js'
import { heldMessage } from '../resource/held-port.js'
import type { ApplicationCreateInput } from './application-spec.input.js'
import type { ApplicationCode } from './application.payload.js'

export type ApplicationError = UserErrorValue<ApplicationCode>

/** A create's input as a spec, or what is wrong with it. */
export async function checkCreate(input: ApplicationCreateInput): Promise<{
  spec: ApplicationSpec | null
  errors: UserErrorValue<'INVALID'>[]
}> {
  const { projectId: _, name, ...given } = input
  const checkedName = nameSchema.safeParse(name)
  const hashed = await hashPasswords(given, ['input'])
  const kept = withKeptHashes(hashed.input, [], ['input'])
  const passwordErrors = hashed.errors.length > 0 ? hashed.errors : kept.errors
  if (passwordErrors.length > 0) return { spec: null, errors: passwordErrors }
  const spec = applicationSpecSchema.safeParse(withoutNulls(kept.input))
  const errors = [
    ...(checkedName.success ? [] : invalidErrors(checkedName.error, ['input', 'name'])),
    ...(spec.success ? [] : invalidErrors(spec.error, ['input'])),
  ]
  return { spec: spec.data ?? null, errors }
}

/** A token with `deploy` alone may bring a new image and nothing else. Paths are those of the spec. */
export function imageOnlyErrors(patch: object, actor: Actor): ApplicationError[] {
  if (may(actor, 'write')) return []
  return Object.entries(patch)
    .filter(([field, value]) => field !== 'image' && value !== undefined)
    .map(([field]) => ({
      field: [field],
      message: 'this field needs the ability write; with deploy alone a token may change the image only',
      code: 'ABILITY_MISSING',
    }))
}

/** They reach the node itself, so only who owns the platform gives them. */
const adminFields = ['bindMounts', 'devices'] as const

/** Without admin nothing may be added to them; what an admin gave may stay, or be taken away. Paths are those of the spec. */
export function adminFieldErrors(before: ApplicationSpec | null, spec: ApplicationSpec, actor: Actor): ApplicationError[] {
  if (may(actor, 'admin')) return []
  return adminFields
    .filter((field) => {
      const given = new Set((before?.[field] ?? []).map(canonicalJson))
      return (spec[field] ?? []).some((item) => !given.has(canonicalJson(item)))
    })
    .map((field) => ({
      field: [field],
      message: 'reaches the node itself and needs the ability admin: leave it as it is, or ask an owner of the platform',
      code: 'ABILITY_MISSING',
    }))
}

/** Paths are those of the spec. */
export function conflictErrors(conflicts: readonly ClaimConflict[]): ApplicationError[] {
  return conflicts.map((conflict): ApplicationError => {
    switch (conflict.type) {
      case 'nodeMissing':
        return { field: ['placement', 'node'], message: `there is no node «${conflict.node}»`, code: 'NODE_NOT_FOUND' }
      case 'hostPort':
        return {
          field: ['publishedPorts', String(conflict.index), 'hostPort'],
          message: heldMessage(conflict),
          code: 'HOST_PORT_TAKEN',
        }
      case 'dependencyMissing':
        return {
          field: ['dependsOn', String(conflict.index)],
          message: conflict.deleting
            ? `application «${conflict.name}» is being deleted`
            : `there is no application «${conflict.name}» in this project: create it first`,
          code: 'DEPENDENCY_NOT_FOUND',
        }
      case 'dependencyCycle':
        return {
          field: ['dependsOn', String(conflict.index)],
          message: `would wait for itself: ${conflict.cycle.join(' → ')}`,
          code: 'DEPENDENCY_CYCLE',
        }
    }
  })
}

/** Who keeps an application from being deleted, and what to do. */
export function dependantErrors(dependants: readonly { id: string; name: string }[]): ApplicationError[] {
  if (dependants.length === 0) return []
  const who = dependants.map(({ id, name }) => `${name} (${id})`).join(', ')
  return [
    {
      field: ['id'],
      message: `needed by ${who}: take it out of dependsOn there, or delete them first`,
      code: 'HAS_DEPENDANTS',
    },
  ]
}

/** Arguments that hold fields of a spec. */
const objectArguments = new Set(['input', 'changes'])

/**
 * Errors with paths of the spec as errors of an argument. Only `input` has the spec's shape; any other argument is named
 * alone, and the message says which field it is about.
 */
export function onArgument(argument: string, errors: readonly ApplicationError[]): ApplicationError[] {
  return errors.map((error) => {
    const path = error.field ?? []
    if (objectArguments.has(argument)) return { ...error, field: [argument, ...path] }
    if (path.length === 0 || path.join('.') === argument) return { ...error, field: [argument] }
    return { ...error, field: [argument], message: `${path.join('.')}: ${error.message}` }
  })
}
