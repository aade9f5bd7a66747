import type { Transaction } from '../../persistence/database.js'
import { unknownReferences, type UnknownReference } from '../../persistence/references.js'
import type { ResourceRow, SpecChange } from '../../persistence/resource.repository.js'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import type { ApplicationCode } from './application.payload.js'

type ApplicationError = UserErrorValue<ApplicationCode>
type Change = (spec: unknown, resource: ResourceRow) => { spec: ApplicationSpec } | { refused: ApplicationError[] }

/** What a spec names and its project does not have; null when there is nothing to say. */
export async function referenceErrors(tx: Transaction, projectId: string, spec: ApplicationSpec): Promise<ApplicationError[] | null> {
  const unknown = await unknownReferences(tx, projectId, spec)
  return unknown.length === 0 ? null : unknown.map(toError)
}

/** The same change, refused as well when the new spec names what its project does not have. */
export function withReferences(change: Change) {
  return async (spec: unknown, resource: ResourceRow, tx: Transaction): Promise<SpecChange<ApplicationError[]>> => {
    const changed = change(spec, resource)
    if ('refused' in changed) return changed
    const refused = await referenceErrors(tx, resource.projectId, changed.spec)
    return refused === null ? changed : { refused }
  }
}

function toError({ what, path, name, known }: UnknownReference): ApplicationError {
  const field = ['input', ...path]
  const there = (none: string, some: string) => (known.length === 0 ? none : `${some} ${known.map((k) => `«${k}»`).join(', ')}`)
  switch (what) {
    case 'secret':
      return {
        field,
        message: `the project has no secret «${name}»: set it first (secretSet); ${there('it has none yet', 'there are')}`,
        code: 'SECRET_NOT_FOUND',
      }
    case 'version':
      return {
        field,
        message: `the secret «${name}» has no such version: leave it out for the newest one; ${there('there is none', 'there are')}`,
        code: 'SECRET_NOT_FOUND',
      }
    case 'registryCredential':
      return {
        field,
        message: `the project has no registry credential «${name}»: set it first (registryCredentialSet); ${there('it has none yet', 'there are')}`,
        code: 'CREDENTIAL_NOT_FOUND',
      }
  }
}
