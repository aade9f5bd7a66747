import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, ResolveField, Resolver } from '@nestjs/graphql'
import type { Transaction } from '../../persistence/database.js'
import { OrphanRepository, type OrphanKey, type OrphanResult, type OrphanRow } from '../../persistence/orphan.repository.js'
import { platformProject } from '../../persistence/project.repository.js'
import { ResourceRepository } from '../../persistence/resource.repository.js'
import { applicationSpecSchema } from '../../reconcile/application/spec.js'
import { ingressSpecSchema, type IngressSpec } from '../../reconcile/ingress/spec.js'
import { isReconciledKind, type ReconciledKind } from '../../reconcile/kind.js'
import { nameSchema } from '../../reconcile/name.js'
import { nginxdemoSpecSchema } from '../../reconcile/nginxdemo/spec.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, orphanCursor } from '../graphql/cursor.js'
import { withoutNulls } from '../graphql/patch.js'
import { invalidErrors, type UserErrorValue } from '../graphql/user-error.js'
import { writeContext } from '../graphql/write-context.js'
import { ingressConflicts } from '../ingress/ingress-checks.js'
import { Nudger } from '../nudge/nudger.service.js'
import { createErrors } from '../resource/change-errors.js'
import { OrphanAdoptInput, OrphanSelector } from './orphan.input.js'
import { Orphan, OrphanConnection } from './orphan.model.js'
import { OrphanPayload, type orphanCodes } from './orphan.payload.js'
import { teardownSpec } from './teardown-spec.js'

type OrphanError = UserErrorValue<keyof typeof orphanCodes>

@Resolver(() => Orphan)
export class OrphanResolver {
  constructor(
    @Inject(OrphanRepository) private readonly repository: OrphanRepository,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => OrphanConnection, { description: 'Containers of this instance that no resource stands for, by node.' })
  async orphans(@Args() args: PageArgs) {
    const page = await this.repository.list({ first: pageSize(args), after: decodeCursor(orphanCursor, args.after) })
    return toConnection(page, args, ({ node, resourceId }) => ({ node, resourceId }))
  }

  @Mutation(() => OrphanPayload, {
    description: 'Makes an orphan a resource again, paused: look at its plan, correct it, then resume it.',
  })
  async orphanAdopt(
    @Args('orphan', { type: () => OrphanSelector, description: 'Which orphan.' }) selector: OrphanSelector,
    @Args('input', { type: () => OrphanAdoptInput, description: 'What is wanted.' }) input: OrphanAdoptInput,
    @Context() context: GraphqlContext,
  ): Promise<OrphanPayload> {
    const found = await this.find(selector)
    if ('errors' in found) return { resource: null, userErrors: found.errors }
    const name = nameSchema.safeParse(input.name)
    const spec = adoptedSpec(found, input)
    const errors: OrphanError[] = [
      ...(name.success ? [] : invalidErrors(name.error, ['input', 'name'])),
      ...(spec.success ? [] : invalidErrors(spec.error, ['input'])),
    ]
    if (errors.length > 0 || !spec.success) return { resource: null, userErrors: errors }
    const { kind } = found
    const draft = {
      kind,
      projectId: input.projectId,
      name: input.name,
      spec: spec.data,
      paused: { reason: 'adopted from an orphan: resume it when its plan is right' },
    }
    const write = writeContext('orphanAdopt', context.actor, this.options.clock())
    const check = kind === 'ingress' ? (tx: Transaction) => ingressErrors(tx, spec.data as IngressSpec) : null
    const result = await this.repository.take(found.key, draft, write, check)
    if (result.outcome === 'refused') return { resource: null, userErrors: result.refused }
    if (result.outcome === 'created') this.nudger.allSoon(result.due)
    return this.answer(result, input)
  }

  @Mutation(() => OrphanPayload, {
    description:
      'Removes an orphan: it becomes a resource that is being deleted, and its usual teardown takes its containers away.',
  })
  async orphanRemove(
    @Args('orphan', { type: () => OrphanSelector, description: 'Which orphan.' }) selector: OrphanSelector,
    @Context() context: GraphqlContext,
  ): Promise<OrphanPayload> {
    const found = await this.find(selector)
    if ('errors' in found) return { resource: null, userErrors: found.errors }
    const { kind, nodeName, resourceId } = found
    const name = `orphan-${resourceId.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.slice(0, 63).replace(/-+$/, '')
    const draft = { kind, projectId: platformProject.id, name, spec: teardownSpec(kind, nodeName), deleting: true }
    const write = writeContext('orphanRemove', context.actor, this.options.clock())
    const result = await this.repository.take<never>(found.key, draft, write)
    if (result.outcome === 'refused') return { resource: null, userErrors: result.refused }
    if (result.outcome === 'created') this.nudger.allSoon(await this.resources.addressesOf([resourceId]))
    return this.answer(result, draft)
  }

  @ResolveField(() => ID, { description: 'The node that they are on.' })
  nodeId({ node }: OrphanRow): string {
    return node
  }

  private async find({ nodeId, resourceId }: OrphanSelector): Promise<Found | { errors: OrphanError[] }> {
    const orphan = await this.repository.get({ node: nodeId, resourceId })
    if (!orphan)
      return { errors: [{ field: ['orphan'], message: `there is no orphan ${resourceId} on node ${nodeId}`, code: 'NOT_FOUND' }] }
    const { kind, ...rest } = orphan
    const node = await this.resources.get(nodeId, 'node')
    if (!isReconciledKind(kind))
      return {
        errors: [
          {
            field: ['orphan'],
            message: `this Evenkeel does not know the kind «${kind}»: a newer one made these containers`,
            code: 'KIND_UNKNOWN',
          },
        ],
      }
    return { ...rest, kind, key: { node: nodeId, resourceId }, nodeName: node?.name ?? '' }
  }

  private answer(result: OrphanResult, input: { projectId: string; name: string }): OrphanPayload {
    if (result.outcome === 'created') return { resource: result.resource, userErrors: [] }
    if (result.outcome === 'orphanNotFound')
      return { resource: null, userErrors: [{ field: ['orphan'], message: 'the orphan is gone by now', code: 'NOT_FOUND' }] }
    const errors = createErrors(result, input).flatMap(({ code, ...told }): OrphanError[] =>
      code === 'NAME_TAKEN' || code === 'DOMAIN_TAKEN' || code === 'PROJECT_NOT_FOUND' ? [{ ...told, code }] : [],
    )
    return { resource: null, userErrors: errors }
  }
}

interface Found extends Omit<OrphanRow, 'kind'> {
  kind: ReconciledKind
  key: OrphanKey
  nodeName: string
}

/** What another ingress, or another port, would collide with: it starts paused, and has to be able to go on. */
async function ingressErrors(tx: Transaction, spec: IngressSpec): Promise<OrphanError[] | null> {
  const conflicts = (await ingressConflicts(tx, null, null, spec)) ?? []
  const errors = conflicts.flatMap(({ code, ...told }): OrphanError[] => {
    if (code === 'HOST_PORT_TAKEN') return [{ ...told, code }]
    return code === 'NODE_HAS_INGRESS' ? [{ ...told, code, field: ['orphan'] }] : []
  })
  return errors.length > 0 ? errors : null
}

function adoptedSpec({ kind, containers, nodeName }: Found, { image, hostPort, httpPort, httpsPort }: OrphanAdoptInput) {
  switch (kind) {
    case 'application':
      return applicationSpecSchema.safeParse({
        image: image ?? undefined,
        replicas: Math.min(100, containers.length),
        placement: { node: nodeName },
      })
    case 'ingress':
      return ingressSpecSchema.safeParse(withoutNulls({ image, node: nodeName, httpPort, httpsPort }))
    case 'nginxdemo':
      return nginxdemoSpecSchema.safeParse({ hostPort: hostPort ?? undefined, ...(image ? { image } : {}) })
  }
}
