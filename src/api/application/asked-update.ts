import { merged } from '../graphql/patch.js'
import { imageOnlyErrors } from './application-checks.js'
import type { ApplicationUpdateInput } from './application-spec.input.js'
import type { AskedChange } from './application-writer.service.js'

/** An update as a change of a spec: merged, because what it does not name stays. `argument`: where its fields were given. */
export function askedUpdate(
  id: string,
  { name, ...patch }: ApplicationUpdateInput,
  argument: 'input' | 'changes',
  expectedGeneration?: number | null,
): AskedChange {
  return {
    operation: 'applicationUpdate',
    id,
    expectedGeneration,
    argument,
    mayNot: (actor) => imageOnlyErrors(patch, actor),
    change(spec, row) {
      if (name === undefined || name === row.name) return { spec: merged(spec, patch) as object }
      const message = `a name does not change: this one stays «${row.name}»; create another application instead`
      return { refused: [{ field: [argument, 'name'], message, code: 'NAME_IMMUTABLE' }] }
    },
  }
}
