import { Inject, Injectable } from '@nestjs/common'
import { claimConflicts, claimsAnything, type Claimant } from '../../persistence/application-claims.js'
import type { Transaction } from '../../persistence/database.js'
import type { DueResource } from '../../persistence/pass-store.js'
import { namesOthers } from '../../persistence/references.js'
import { ResourceRepository, type ResourceRow, type SpecChange } from '../../persistence/resource.repository.js'
import { applicationSpecSchema, type ApplicationSpec } from '../../reconcile/application/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'
import type { GraphqlContext } from '../graphql/context.js'
import { invalidErrors } from '../graphql/user-error.js'
import { keyErrors, writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { changeErrors, createErrors } from '../resource/change-errors.js'
import { certificateErrors } from '../domain/certificate-errors.js'
import { Vault } from '../secret/vault.service.js'
import { referenceErrors } from './reference-errors.js'
import { adminFieldErrors, conflictErrors, onArgument, type ApplicationError } from './application-checks.js'

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
  change: NewSpec
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
    const { operation, projectId, name, spec, key, input, argument } = asked
    const errors = [...keyErrors(key), ...onArgument(argument, adminFieldErrors(null, spec, context.actor))]
    if (errors.length > 0) return { application: null, userErrors: errors }
    const write = writeContext(operation, context.actor, this.options.clock(), { key, input })
    const claimant = { id: null, projectId, name, before: null, spec }
    const check = claimsAnything(spec) || namesOthers(spec) ? (tx: Transaction) => this.conflictsOf(tx, claimant) : null
    const made = await this.resources.create({ kind, projectId, name, spec }, write, check)
    if (made.outcome === 'refused') return { application: null, userErrors: onArgument(argument, made.refused) }
    if (!('resource' in made)) return { application: null, userErrors: createErrors(made, asked) }
    if (made.outcome === 'created') await this.nudge(made, context)
    return { application: made.resource, userErrors: [] }
  }

  async change(asked: AskedChange, context: GraphqlContext): Promise<Written> {
    const { operation, id, expectedGeneration, key, input, argument, change } = asked
    const malformed = keyErrors(key)
    if (malformed.length > 0) return { application: null, userErrors: malformed }
    const write = writeContext(operation, context.actor, this.options.clock(), { key, input: { id, expectedGeneration, input } })
    const checked = this.checkedChange(change, argument, context.actor)
    const result = await this.resources.patch({ id, kind }, expectedGeneration ?? null, checked, write)
    if (result.outcome === 'refused') return { application: await context.loaders.resource.load(id), userErrors: result.refused }
    return this.answer(result, id, context)
  }

  async delete(id: string, expectedGeneration: number | null | undefined, context: GraphqlContext): Promise<Written> {
    const write = writeContext('applicationDelete', context.actor, this.options.clock())
    const result = await this.resources.requestDeletion({ id, kind }, expectedGeneration ?? null, write)
    if (result.outcome === 'unchanged') await this.nudge({ ...result, due: [] }, context)
    return this.answer(result, id, context)
  }

  private async answer(
    result: Awaited<ReturnType<ResourceRepository['requestDeletion']>>,
    id: string,
    context: GraphqlContext,
  ): Promise<Written> {
    if (result.outcome !== 'changed' && result.outcome !== 'unchanged')
      return { application: 'resource' in result ? result.resource : null, userErrors: changeErrors(result, kind, id) }
    if (result.outcome === 'changed') await this.nudge(result, context)
    return { application: result.resource, userErrors: [] }
  }

  private async nudge(
    { resource, due }: { resource: ResourceRow; due: readonly DueResource[] },
    { loaders }: GraphqlContext,
  ): Promise<void> {
    const project = await loaders.project.load(resource.projectId)
    this.nudger.soon({ id: resource.id, kind, project: project?.name ?? '', name: resource.name })
    this.nudger.allSoon(due)
  }

  /** Checked as a whole, because fields depend on each other, and under the row's lock, because the present spec decides too. */
  private checkedChange(change: NewSpec, argument: string, actor: Actor) {
    return async (current: unknown, row: ResourceRow, tx: Transaction): Promise<SpecChange<ApplicationError[]>> => {
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
