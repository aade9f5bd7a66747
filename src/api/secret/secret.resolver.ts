import { Inject } from '@nestjs/common'
import { Args, Context, ID, Int, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { SecretRepository, type SecretRow, type SecretVersionRow } from '../../persistence/secret.repository.js'
import type { SecretUse as Use } from '../../persistence/secret-uses.js'
import { nameSchema } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { certificateFault } from '../domain/certificate-check.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, projectCursor } from '../graphql/cursor.js'
import { invalidErrors, type UserErrorValue } from '../graphql/user-error.js'
import { writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { Project } from '../project/project.model.js'
import { SecretSetInput } from './secret.input.js'
import { Secret, SecretConnection, SecretUse, SecretVersion } from './secret.model.js'
import { SecretDeletePayload, SecretPayload, type secretCodes } from './secret.payload.js'
import { readSecretValue } from './secret-value.js'
import { Vault } from './vault.service.js'

type SecretError = UserErrorValue<keyof typeof secretCodes>

@Resolver(() => Secret)
export class SecretResolver {
  constructor(
    @Inject(SecretRepository) private readonly secrets: SecretRepository,
    @Inject(Vault) private readonly vault: Vault,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => SecretConnection, { name: 'secrets', description: 'Secrets of a project, by name; never their values.' })
  list(
    @Args('projectId', { type: () => ID, description: 'The project.' }) projectId: string,
    @Args() args: PageArgs,
    @Context() context: GraphqlContext,
  ) {
    return secretsOf(projectId, args, context)
  }

  @Mutation(() => SecretPayload, {
    description:
      'Sets a secret: makes a new version, unless the newest one has this very value. Applications that name the secret without a version roll over to the new one.',
  })
  async secretSet(
    @Args('input', { type: () => SecretSetInput, description: 'What is wanted.' }) { projectId, name, ...given }: SecretSetInput,
    @Context() { actor }: GraphqlContext,
  ): Promise<SecretPayload> {
    const checkedName = nameSchema.safeParse(name)
    const value = readSecretValue(given)
    if (!checkedName.success || 'errors' in value)
      return refused([
        ...(checkedName.success ? [] : invalidErrors(checkedName.error, ['input', 'name'])),
        ...('errors' in value ? value.errors : []),
      ])
    const unfit = await this.certificateErrors(projectId, name, value.bytes, given.value == null ? 'valueBase64' : 'value')
    if (unfit.length > 0) return refused(unfit)
    const write = writeContext('secretSet', actor, this.options.clock())
    const result = await this.vault.sealing(() => this.secrets.set({ projectId, name }, this.vault.sealable(value.bytes), write))
    if (result.outcome === 'projectNotFound')
      return refused([{ field: ['input', 'projectId'], message: `there is no project ${projectId}`, code: 'PROJECT_NOT_FOUND' }])
    if (result.outcome === 'set') this.nudger.allSoon(result.due)
    return { secret: result.secret, userErrors: [] }
  }

  @Mutation(() => SecretDeletePayload, { description: 'Removes a secret with all its versions, if nobody uses it.' })
  async secretDelete(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { actor }: GraphqlContext,
  ): Promise<SecretDeletePayload> {
    const result = await this.secrets.delete(id, writeContext('secretDelete', actor, this.options.clock()))
    switch (result.outcome) {
      case 'deleted':
        return { deletedId: id, userErrors: [] }
      case 'notFound':
        return { deletedId: null, userErrors: [notFound(id)] }
      case 'inUse':
        return { deletedId: null, userErrors: [inUse(['id'], result.uses)] }
    }
  }

  @Mutation(() => SecretPayload, { description: 'Removes one version that is not the newest, if nobody uses it.' })
  async secretVersionDelete(
    @Args('id', { type: () => ID, description: 'Id of the secret.' }) id: string,
    @Args('version', { type: () => Int, description: 'The version.' }) version: number,
    @Context() { actor }: GraphqlContext,
  ): Promise<SecretPayload> {
    const result = await this.secrets.deleteVersion(id, version, writeContext('secretVersionDelete', actor, this.options.clock()))
    switch (result.outcome) {
      case 'deleted':
        return { secret: result.secret, userErrors: [] }
      case 'notFound':
        return refused([notFound(id)])
      case 'versionNotFound':
        return refused([{ field: ['version'], message: `it has no version ${version}`, code: 'VERSION_NOT_FOUND' }])
      case 'newest':
        return refused([
          {
            field: ['version'],
            message: `version ${version} is the newest: set another one first, or delete the secret as a whole`,
            code: 'NEWEST_VERSION',
          },
        ])
      case 'inUse':
        return refused([inUse(['version'], result.uses)])
    }
  }

  /** What would break a host that is served well. Not under a lock: a domain that is just added is told by its conditions. */
  private async certificateErrors(projectId: string, name: string, value: Buffer, field: string): Promise<SecretError[]> {
    const hosts = await this.secrets.hostsCertifiedBy(projectId, name)
    return hosts.flatMap(({ host, application }): SecretError[] => {
      const fault = certificateFault(value.toString('utf8'), host, this.options.clock())
      if (fault === null) return []
      const message = `it is the certificate of ${host} of application ${application}, and cannot be with this value: ${fault}`
      return [{ field: ['input', field], message, code: 'CERTIFICATE_UNFIT' }]
    })
  }

  @ResolveField(() => [SecretVersion], { description: 'Its versions, newest first.' })
  versions({ id }: SecretRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.secretVersions.load(id)
  }

  @ResolveField(() => [SecretUse], { description: 'Who uses it.' })
  usedBy({ id }: SecretRow, _noArguments: unknown, { loaders }: GraphqlContext) {
    return loaders.secretUses.load(id)
  }
}

@Resolver(() => SecretVersion)
export class SecretVersionResolver {
  @ResolveField(() => [SecretUse], { description: 'Who uses this version, whether by its number or as the newest.' })
  async usedBy({ secretId, version }: SecretVersionRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<Use[]> {
    const [uses, versions] = await Promise.all([loaders.secretUses.load(secretId), loaders.secretVersions.load(secretId)])
    const newest = versions[0]?.version
    return uses.filter((u) => (u.version ?? newest) === version)
  }
}

@Resolver(() => Project)
export class ProjectSecretsResolver {
  @ResolveField(() => SecretConnection, { description: 'Its secrets, by name; never their values.' })
  secrets(@Parent() { id }: Project, @Args() args: PageArgs, @Context() context: GraphqlContext) {
    return secretsOf(id, args, context)
  }
}

async function secretsOf(projectId: string, args: PageArgs, { loaders }: GraphqlContext) {
  const after = decodeCursor(projectCursor, args.after)?.name ?? null
  const page = await loaders.secrets({ first: pageSize(args), after }).load(projectId)
  return toConnection(page, args, ({ name }) => ({ name }))
}

function refused(userErrors: SecretError[]): SecretPayload {
  return { secret: null, userErrors }
}

function notFound(id: string): SecretError {
  return { field: ['id'], message: `there is no secret ${id}`, code: 'NOT_FOUND' }
}

function inUse(field: string[], uses: readonly Use[]): SecretError {
  const told = uses.map(({ applicationName, release }) =>
    release === null
      ? `application ${applicationName} names it`
      : `release ${release} of application ${applicationName} still runs with it`,
  )
  return { field, message: `${[...new Set(told)].join(', ')}: change that first`, code: 'SECRET_IN_USE' }
}
