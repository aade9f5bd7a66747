import type { ChangeResult, CreateResult, ResourceRow } from '../../persistence/resource.repository.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { goneSinceError, keyReusedError } from '../graphql/write-context.js'

type CreateCode = 'PROJECT_NOT_FOUND' | 'NAME_TAKEN' | 'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_RESULT_GONE'
type ChangeCode = 'NOT_FOUND' | 'STALE_GENERATION' | 'BEING_DELETED' | 'IDEMPOTENCY_KEY_REUSED'

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
    case 'keyReused':
      return [keyReusedError(result.operation)]
    case 'goneSince':
      return [goneSinceError(result.id)]
  }
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
    case 'keyReused':
      return [keyReusedError(result.operation)]
  }
}
