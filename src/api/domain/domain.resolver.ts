import { Inject } from '@nestjs/common'
import { Args, ID, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { DomainRepository, type DomainRow, type Doors } from '../../persistence/domain.repository.js'
import type { ResourceRow } from '../../persistence/resource.repository.js'
import type { ApplicationSpec } from '../../reconcile/application/spec.js'
import { ConditionStatus } from '../../reconcile/condition.js'
import { domainKey, type Domain as WantedDomain } from '../../reconcile/ingress/domain.js'
import { ingressDefaults, type IngressSpec } from '../../reconcile/ingress/spec.js'
import { containerName } from '../../reconcile/labels.js'
import { Application } from '../application/application.model.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, domainCursor } from '../graphql/cursor.js'
import { Reconciled } from '../resource/reconciled.model.js'
import { Domain, DomainCertificate, DomainConnection, DomainRoute, DomainServing } from './domain.model.js'
import { TlsMode } from './domain-spec.model.js'

@Resolver(() => Domain)
export class DomainResolver {
  constructor(@Inject(DomainRepository) private readonly repository: DomainRepository) {}

  @Query(() => DomainConnection, { description: 'Domains, by host and path.' })
  async domains(
    @Args() args: PageArgs,
    @Args('projectId', { type: () => ID, nullable: true, description: 'Only those of this project.' })
    projectId: string | null | undefined,
  ) {
    const after = decodeCursor(domainCursor, args.after)
    const page = await this.repository.list(projectId ?? null, { first: pageSize(args), after })
    return toConnection(page, args, ({ host, path }) => ({ host, path }))
  }

  @ResolveField(() => Reconciled, { nullable: true, description: 'What has claimed it; null when that has just gone.' })
  resource({ resourceId }: DomainRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.resource.load(resourceId)
  }

  @ResolveField(() => TlsMode, { description: 'Where its certificate comes from.' })
  async tls(row: DomainRow, _noArguments: unknown, context: GraphqlContext): Promise<TlsMode> {
    return tlsOf(row, await placeOf(row, context))
  }

  @ResolveField(() => String, {
    nullable: true,
    description: 'Where a browser finds it; null for a wildcard, and while its node has no ingress.',
  })
  async url(row: DomainRow, _noArguments: unknown, context: GraphqlContext): Promise<string | null> {
    const place = await placeOf(row, context)
    if (!place.ingress || row.host.startsWith('*.')) return null
    return urlOf(row, tlsOf(row, place), place.ingress)
  }

  @ResolveField(() => DomainRoute, { description: 'Whether requests for it reach what it is for.' })
  routed({ routed, reason, message }: DomainRow): DomainRoute {
    return { status: routed ? ConditionStatus.True : ConditionStatus.False, reason, message }
  }

  @ResolveField(() => DomainCertificate, { nullable: true, description: 'null before it was looked at, and without TLS.' })
  certificate(row: DomainRow): DomainCertificate | null {
    const { certificateIssuer: issuer, certificateNotAfter: notAfter, certificateError: error, certificateSeenAt: seenAt } = row
    return seenAt && { issuer, notAfter, error, seenAt }
  }

  @ResolveField(() => DomainServing, {
    nullable: true,
    description: 'What answers requests for it now; null for what is no application.',
  })
  async servedBy({ resourceId }: DomainRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<DomainServing | null> {
    const owner = await loaders.resource.load(resourceId)
    if (owner?.kind !== 'application') return null
    const [release, endpoints, { instance }] = await Promise.all([
      loaders.servingRelease.load(resourceId),
      loaders.endpoints.load(resourceId),
      loaders.doors(),
    ])
    const ready = endpoints.filter((e) => e.state === 'ready')
    return {
      release: release?.number ?? null,
      endpoints: ready.map(({ node, ...e }) => ({
        release: e.release,
        replica: e.replica,
        nodeId: node,
        address: e.address,
        container: containerName(instance, resourceId, e.release, e.replica),
        state: 'ready',
      })),
    }
  }
}

@Resolver(() => Application)
export class ApplicationDomainsResolver {
  @ResolveField(() => [Domain], { description: 'Its domains as they are served, by host and path.' })
  domains({ id }: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.domains.load(id)
  }
}

/** The owner of a domain, and the ingress of its node. */
interface Place {
  owner: ResourceRow | null
  ingress: IngressSpec | null
}

async function placeOf({ resourceId }: DomainRow, { loaders }: GraphqlContext): Promise<Place> {
  const [owner, doors] = await Promise.all([loaders.resource.load(resourceId), loaders.doors()])
  return { owner, ingress: owner && ingressAt(doors, nodeOf(owner)) }
}

function nodeOf({ kind, spec }: ResourceRow): string | null {
  return kind === 'application' ? ((spec as ApplicationSpec).placement?.node ?? null) : null
}

function ingressAt({ home, ingresses }: Doors, node: string | null): IngressSpec | null {
  return ingresses.find((i) => (i.node ?? home) === (node ?? home))?.spec ?? null
}

function tlsOf(row: DomainRow, { owner, ingress }: Place): TlsMode {
  if (owner?.kind !== 'application') return 'off'
  const wanted: WantedDomain[] = (owner.spec as ApplicationSpec).domains ?? []
  return wanted.find((d) => domainKey(d) === domainKey(row))?.tls ?? ingress?.defaultTls ?? ingressDefaults.defaultTls
}

function urlOf({ host, path }: DomainRow, tls: TlsMode, { httpPort, httpsPort }: IngressSpec): string {
  const [scheme, port, standard] =
    tls === 'off'
      ? ['http', httpPort ?? ingressDefaults.httpPort, ingressDefaults.httpPort]
      : ['https', httpsPort ?? ingressDefaults.httpsPort, ingressDefaults.httpsPort]
  return `${scheme}://${host}${port === standard ? '' : `:${port}`}${path}`
}
