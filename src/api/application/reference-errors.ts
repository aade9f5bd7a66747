import type { Database, Transaction } from '../../persistence/database.js'
import { unknownReferences, type UnknownReference } from '../../persistence/references.js'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import type { ApplicationCode } from './application.payload.js'

type ApplicationError = UserErrorValue<ApplicationCode>

/** What a spec names and its project does not have. Paths are those of the spec. */
export async function referenceErrors(tx: Database | Transaction, projectId: string, spec: ApplicationSpec): Promise<ApplicationError[]> {
  return (await unknownReferences(tx, projectId, spec)).map(toError)
}

function toError({ what, path, name, known }: UnknownReference): ApplicationError {
  const field = path
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
