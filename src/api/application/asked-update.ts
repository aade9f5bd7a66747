import { hashPasswords, withKeptHashes } from '../domain/passwords.js'
import { merged } from '../graphql/patch.js'
import { nameErrors } from '../resource/change-errors.js'
import { imageOnlyErrors, type ApplicationError } from './application-checks.js'
import type { ApplicationUpdateInput } from './application-spec.input.js'
import type { AskedChange } from './application-writer.service.js'

/** An update as a change of a spec: merged, because what it does not name stays. `argument`: where its fields were given. */
export async function askedUpdate(
  id: string,
  { name, ...given }: ApplicationUpdateInput,
  argument: 'input' | 'changes',
  expectedGeneration?: number | null,
): Promise<AskedChange | { errors: ApplicationError[] }> {
  const { input: patch, errors } = await hashPasswords(given, [argument])
  if (errors.length > 0) return { errors }
  return {
    operation: 'applicationUpdate',
    id,
    expectedGeneration,
    argument,
    mayNot: (actor) => imageOnlyErrors(patch, actor),
    change(spec, row) {
      const renamed = nameErrors(name, row, argument, 'application')
      if (renamed.length > 0) return { refused: renamed }
      const kept = withKeptHashes(patch, spec.domains ?? [], [argument])
      return kept.errors.length > 0 ? { refused: kept.errors } : { spec: merged(spec, kept.input) as object }
    },
  }
}
