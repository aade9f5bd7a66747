import { Inject } from '@nestjs/common'
import { Args, Context, ID, Mutation, Query, Resolver } from '@nestjs/graphql'
import { z } from 'zod'
import { RegistryCredentialRepository } from '../../persistence/registry-credential.repository.js'
import { isPlainText, nameSchema, plainTextRule } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, projectCursor } from '../graphql/cursor.js'
import { invalidErrors } from '../graphql/user-error.js'
import { writeContext } from '../graphql/write-context.js'
import { Nudger } from '../nudge/nudger.service.js'
import { Vault } from '../secret/vault.service.js'
import { RegistryCredentialSetInput } from './registry-credential.input.js'
import { RegistryCredential, RegistryCredentialConnection } from './registry-credential.model.js'
import { RegistryCredentialDeletePayload, RegistryCredentialPayload } from './registry-credential.payload.js'

const text = z.string().min(1, 'must not be empty').refine(isPlainText, plainTextRule)
const inputSchema = z.object({
  name: nameSchema,
  host: z
    .string()
    .max(255, 'must have at most 255 characters')
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+)*(:[0-9]{1,5})?$/, 'must be host or host:port, without https:// and without a path'),
  // HTTP's basic authentication ends the name at the first colon.
  username: text.max(255, 'must have at most 255 characters').regex(/^[^:\p{Cc}]*$/u, 'must hold no colon and no control characters'),
  password: text.max(16 * 1024, 'must have at most 16384 characters'),
})

@Resolver(() => RegistryCredential)
export class RegistryCredentialResolver {
  constructor(
    @Inject(RegistryCredentialRepository) private readonly credentials: RegistryCredentialRepository,
    @Inject(Vault) private readonly vault: Vault,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  @Query(() => RegistryCredentialConnection, {
    name: 'registryCredentials',
    description: 'Log-ins at registries of a project, by name; never their passwords.',
  })
  async list(@Args('projectId', { type: () => ID, description: 'The project.' }) projectId: string, @Args() args: PageArgs) {
    const after = decodeCursor(projectCursor, args.after)?.name ?? null
    const page = await this.credentials.list(projectId, { first: pageSize(args), after })
    return toConnection(page, args, ({ name }) => ({ name }))
  }

  @Mutation(() => RegistryCredentialPayload, {
    description: 'Sets a log-in at a registry. Applications that name it look again; what runs goes on running.',
  })
  async registryCredentialSet(
    @Args('input', { type: () => RegistryCredentialSetInput, description: 'What is wanted.' }) input: RegistryCredentialSetInput,
    @Context() { actor }: GraphqlContext,
  ): Promise<RegistryCredentialPayload> {
    const checked = inputSchema.safeParse(input)
    if (!checked.success) return { registryCredential: null, userErrors: invalidErrors(checked.error, ['input']) }
    const { projectId, name, host, username } = input
    const password = this.vault.sealable(Buffer.from(input.password))
    const write = writeContext('registryCredentialSet', actor, this.options.clock())
    const result = await this.vault.sealing(() => this.credentials.set({ projectId, name, host, username }, password, write))
    if (result.outcome === 'projectNotFound')
      return {
        registryCredential: null,
        userErrors: [{ field: ['input', 'projectId'], message: `there is no project ${projectId}`, code: 'PROJECT_NOT_FOUND' }],
      }
    if (result.outcome === 'set') this.nudger.allSoon(result.due)
    return { registryCredential: result.credential, userErrors: [] }
  }

  @Mutation(() => RegistryCredentialDeletePayload, { description: 'Removes a log-in at a registry, if no application names it.' })
  async registryCredentialDelete(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { actor }: GraphqlContext,
  ): Promise<RegistryCredentialDeletePayload> {
    const result = await this.credentials.delete(id, writeContext('registryCredentialDelete', actor, this.options.clock()))
    switch (result.outcome) {
      case 'deleted':
        return { deletedId: id, userErrors: [] }
      case 'notFound':
        return { deletedId: null, userErrors: [{ field: ['id'], message: `there is no registry credential ${id}`, code: 'NOT_FOUND' }] }
      case 'inUse': {
        const users = result.uses.map((u) => `application ${u.applicationName}`).join(', ')
        return { deletedId: null, userErrors: [{ field: ['id'], message: `${users} names it: change that first`, code: 'CREDENTIAL_IN_USE' }] }
      }
    }
  }
}
