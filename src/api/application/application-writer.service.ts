import { Inject, Injectable } from '@nestjs/common'
import { claimConflicts, claimsAnything, dependantsOf, type Claimant } from '../../persistence/application-claims.js'
import type { Transaction } from '../../persistence/database.js'
import { claimDomains } from '../../persistence/domain-claims.js'
import { namesOthers } from '../../persistence/references.js'
import {
  ResourceRepository,
  type ChangeResult,
  type CreateCheck,
  type ResourceRow,
  type SpecChange,
} from '../../persistence/resource.repository.js'
import { applicationSpecSchema, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { keyErrors, writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { changeErrors, createErrors, domainErrors } from '../resource/change-errors.js'
import { certificateErrors } from '../domain/certificate-errors.js'
import { Vault } from '../secret/vault.service.js'
import { referenceErrors } from './reference-errors.js'
import { adminFieldErrors, conflictErrors, dependantErrors, onArgument, type ApplicationError } from './application-checks.js'

const kind = 'application'

export interface Written {
  application: ResourceRow | null
  userErrors: ApplicationError[]
}

/** What a mutation makes of the spec that stands; checked afterwards. */
export type NewSpec = (
  spec: ApplicationSpec,
  row: ResourceRow,
  tx: Transaction,
) => SpecChange<ApplicationError[]> | Promise<SpecChange<ApplicationError[]>>

export interface AskedCreate {
  operation: string
  projectId: string
  name: string
  spec: ApplicationSpec
  key: string | null | undefined
  /** What a repeated key has to repeat. */
  input: unknown
  /** The argument that is wrong when the spec is. */
  argument: string
}

export interface AskedChange {
  operation: string
  id: string
  expectedGeneration: number | null | undefined
  key?: string | null | undefined
  /** What a repeated key has to repeat. */
  input?: unknown
  argument: string
  /** What in the wish itself the token may not ask for. Paths are those of the spec. */
  mayNot?: (actor: Actor) => ApplicationError[]
  change: NewSpec
}

export interface AskedDeletion {
  id: string
  expectedGeneration: number | null | undefined
  /** Nothing = as it was said before, or else no. */
  removesVolumes: boolean | null | undefined
}

/** What a change would make of an application. */
export interface PlannedChange {
  row: ResourceRow
  spec: ApplicationSpec
}

/** The one way in which a person's wish becomes the spec of an application: every mutation is checked alike. */
@Injectable()
export class ApplicationWriter {
  constructor(
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(Vault) private readonly vault: Vault,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  async create(asked: AskedCreate, context: GraphqlContext): Promise<Written> {
    const { operation, key, input, argument } = asked
    const errors = [...keyErrors(key), ...createRefusals(asked, context)]
    if (errors.length > 0) return { application: null, userErrors: errors }
    const write = writeContext(operation, context.actor, this.options.clock(), { key, input })
    const { spec } = asked
    const check = claimsAnything(spec) || namesOthers(spec) ? this.createCheck(asked) : null
    const made = await this.resources.create(draftOf(asked), write, check)
    if (made.outcome === 'refused') return { application: null, userErrors: onArgument(argument, made.refused) }
    if (!('resource' in made)) return { application: null, userErrors: createErrors(made, asked) }
    if (made.outcome === 'created') await this.nudger.written(made, context)
    return { application: made.resource, userErrors: [] }
  }

  /** What `create` would refuse; writes nothing. */
  async planCreate(asked: Omit<AskedCreate, 'key' | 'input'>, context: GraphqlContext): Promise<ApplicationError[]> {
    const errors = createRefusals(asked, context)
    if (errors.length > 0) return errors
    const write = writeContext(asked.operation, context.actor, this.options.clock())
    const made = await this.resources.tryCreate(draftOf(asked), write, this.createCheck(asked))
    if (made.outcome === 'refused') return onArgument(asked.argument, made.refused)
    return 'resource' in made ? [] : createErrors(made, asked)
  }

  async change(asked: AskedChange, context: GraphqlContext): Promise<Written> {
    const { operation, id, expectedGeneration, key, input } = asked
    const refused = [...keyErrors(key), ...changeRefusals(asked, context)]
    if (refused.length > 0) return { application: null, userErrors: refused }
    const write = writeContext(operation, context.actor, this.options.clock(), { key, input: { id, expectedGeneration, input } })
    const checked = this.checkedChange(asked, context.actor)
    const result = await this.resources.patch({ id, kind }, expectedGeneration ?? null, checked, write)
    if (result.outcome === 'refused') return { application: await context.loaders.resource.load(id), userErrors: result.refused }
    return this.answer(result, id, context)
  }

  /** The spec that `change` would write, or what it would refuse; writes nothing. */
  async planChange(asked: AskedChange, context: GraphqlContext): Promise<PlannedChange | { errors: ApplicationError[] }> {
    const { operation, id, argument } = asked
    const errors = changeRefusals(asked, context)
    if (errors.length > 0) return { errors }
    const checked = this.checkedChange(asked, context.actor)
    const write = writeContext(operation, context.actor, this.options.clock())
    // Refused in any case: that is how a write ends without having written.
    const instead = async (...row: Parameters<typeof checked>): Promise<SpecChange<PlannedChange | ApplicationError[]>> => {
      const made = await checked(...row)
      if ('refused' in made) return made
      const [before, resource, tx] = row
      const { taken } = await claimDomains(tx, resource, before, made.spec, write.now)
      return { refused: taken.length > 0 ? domainErrors(taken, argument) : { row: resource, spec: made.spec } }
    }
    const result = await this.resources.patch({ id, kind }, null, instead, write)
    if (result.outcome === 'refused') return Array.isArray(result.refused) ? { errors: result.refused } : result.refused
    if (result.outcome === 'changed' || result.outcome === 'unchanged') throw new Error(`a plan of ${id} has written`)
    return { errors: changeErrors(result, kind, id) }
  }

  async delete({ id, expectedGeneration, removesVolumes }: AskedDeletion, context: GraphqlContext): Promise<Written> {
    const write = writeContext('applicationDelete', context.actor, this.options.clock())
    const deletion = { removesVolumes: removesVolumes ?? null, check: deletionErrors, message: deletionMessage }
    const result = await this.resources.requestDeletion({ id, kind }, expectedGeneration ?? null, write, deletion)
    if (result.outcome === 'refused') return { application: await context.loaders.resource.load(id), userErrors: result.refused }
    if (result.outcome === 'unchanged') await this.nudger.written({ ...result, due: [] }, context)
    return this.answer(result, id, context)
  }

  private async answer(result: ChangeResult, id: string, context: GraphqlContext): Promise<Written> {
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { application: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    if (result.outcome === 'changed') await this.nudger.written(result, context)
    return { application: result.resource, userErrors: [] }
  }

  private createCheck({
    projectId,
    name,
    spec,
  }: Pick<AskedCreate, 'projectId' | 'name' | 'spec'>): CreateCheck<ApplicationError[]> {
    return (tx) => this.conflictsOf(tx, { id: null, projectId, name, before: null, spec })
  }

  /** Checked as a whole, because fields depend on each other, and under the row's lock, because the present spec decides too. */
  private checkedChange({ change, argument }: AskedChange, actor: Actor) {
    return async (
      current: unknown,
      row: ResourceRow,
      tx: Transaction,
    ): Promise<{ spec: ApplicationSpec } | { refused: ApplicationError[] }> => {
      const before = current as ApplicationSpec
      const made = await change(before, row, tx)
      if ('refused' in made) return made
      const parsed = applicationSpecSchema.safeParse(made.spec)
      if (!parsed.success) return { refused: onArgument(argument, invalidErrors(parsed.error, [])) }
      const spec = parsed.data
      const claimant = { id: row.id, projectId: row.projectId, name: row.name, before, spec }
      const errors = [...adminFieldErrors(before, spec, actor), ...((await this.conflictsOf(tx, claimant)) ?? [])]
      return errors.length > 0 ? { refused: onArgument(argument, errors) } : { spec }
    }
  }

  private async conflictsOf(tx: Transaction, claimant: Claimant): Promise<ApplicationError[] | null> {
    const { projectId, spec } = claimant
    const errors = [
      ...(await referenceErrors(tx, projectId, spec)),
      ...(await certificateErrors(tx, claimant, this.vault, this.options.clock())),
      ...conflictErrors(await claimConflicts(tx, claimant)),
    ]
    return errors.length > 0 ? errors : null
  }
}

function draftOf({ projectId, name, spec }: Pick<AskedCreate, 'projectId' | 'name' | 'spec'>) {
  return { kind, projectId, name, spec } as const
}

function createRefusals(
  { spec, argument }: Pick<AskedCreate, 'spec' | 'argument'>,
  { actor }: GraphqlContext,
): ApplicationError[] {
  return onArgument(argument, adminFieldErrors(null, spec, actor))
}

function changeRefusals({ argument, mayNot }: AskedChange, { actor }: GraphqlContext): ApplicationError[] {
  return onArgument(argument, mayNot?.(actor) ?? [])
}

function deletionMessage({ spec }: ResourceRow, removesVolumes: boolean): string {
  const names = ((spec as ApplicationSpec).volumes ?? []).map((v) => v.name).join(', ')
  if (removesVolumes) return 'its deletion was asked for, and that its volumes go with it'
  return names === '' ? 'its deletion was asked for' : `its deletion was asked for; its volumes stay: ${names}`
}

async function deletionErrors(tx: Transaction, row: ResourceRow): Promise<ApplicationError[] | null> {
  const errors = dependantErrors(await dependantsOf(tx, row))
  return errors.length > 0 ? errors : null
}
