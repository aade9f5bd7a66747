import type { TakenDomain } from '../../persistence/domain-claims.js'
import type { ChangeResult, CreateResult, ResourceRow } from '../../persistence/resource.repository.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { goneSinceError, keyReusedError } from '../graphql/write-context.js'

type CreateCode = 'DOMAIN_TAKEN' | 'PROJECT_NOT_FOUND' | 'NAME_TAKEN' | 'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_RESULT_GONE'
type ChangeCode = 'DOMAIN_TAKEN' | 'NOT_FOUND' | 'STALE_GENERATION' | 'BEING_DELETED' | 'IDEMPOTENCY_KEY_REUSED'

/** What a create that made nothing tells its caller. */
export function createErrors(
  result: Exclude<CreateResult, { resource: ResourceRow }>,
  input: { projectId: string; name: string },
): UserErrorValue<CreateCode>[] {
  switch (result.outcome) {
    case 'projectNotFound':
      return [{ field: ['input', 'projectId'], message: `there is no project ${input.projectId}`, code: 'PROJECT_NOT_FOUND' }]
    case 'nameTaken':
      return [
        {
          field: ['input', 'name'],
          message: `the name «${input.name}» is taken in this project by ${result.holder.kind} ${result.holder.id}`,
          code: 'NAME_TAKEN',
        },
      ]
    case 'domainTaken':
      return domainErrors(result.taken)
    case 'keyReused':
      return [keyReusedError(result.operation)]
    case 'goneSince':
      return [goneSinceError(result.id)]
  }
}

/** A name is part of DNS names, volumes and labels. `argument`: where the change was given. */
export function nameErrors(
  given: string | null | undefined,
  { name }: ResourceRow,
  argument: string,
  what: string,
): UserErrorValue<'NAME_IMMUTABLE'>[] {
  if (given === undefined || given === name) return []
  const message = `a name does not change: this one stays «${name}»; create another ${what} instead`
  return [{ field: [argument, 'name'], message, code: 'NAME_IMMUTABLE' }]
}

/** What a change that changed nothing because it must not tells its caller. */
export function changeErrors(
  result: Exclude<ChangeResult, { outcome: 'changed' | 'unchanged' }>,
  kind: string,
  id: string,
): UserErrorValue<ChangeCode>[] {
  switch (result.outcome) {
    case 'notFound':
      return [{ field: ['id'], message: `there is no ${kind} ${id}`, code: 'NOT_FOUND' }]
    case 'stale':
      return [
        {
          field: ['expectedGeneration'],
          message: `its generation is ${result.resource.generation} by now: read it again, and decide anew`,
          code: 'STALE_GENERATION',
        },
      ]
    case 'deleting':
      return [{ field: ['id'], message: 'it is being deleted and takes no changes any more', code: 'BEING_DELETED' }]
    case 'domainTaken':
      return domainErrors(result.taken)
    case 'keyReused':
      return [keyReusedError(result.operation)]
  }
}

/** Whoever may write may read as well, and so be told who has it. */
export function domainErrors(taken: readonly TakenDomain[], argument = 'input'): UserErrorValue<'DOMAIN_TAKEN'>[] {
  return taken.map(({ path, domain, holder }) => ({
    field: [argument, ...path],
    message: `${domain.host}${domain.path === '/' ? '' : domain.path} is served by ${holder.kind} ${holder.project}/${holder.name} (${holder.id}): take it away there first, or choose another host or path`,
    code: 'DOMAIN_TAKEN',
  }))
}
