import { Inject, Injectable } from '@nestjs/common'
import { z } from 'zod'
import { apiMethods } from '../../agent/protocol.js'
import { ArtifactRepository } from '../../persistence/artifact.repository.js'
import { AuditRepository } from '../../persistence/audit.repository.js'
import { RegistryCredentialRepository } from '../../persistence/registry-credential.repository.js'
import type { PlacedValue } from '../../persistence/sealed.js'
import { SecretRepository, type SecretRef } from '../../persistence/secret.repository.js'
import type { WriteContext } from '../../persistence/write.js'
import { isPlainText } from '../../reconcile/name.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { Vault } from '../secret/vault.service.js'

/** Why a call is not served, in a word for the agent and a sentence for people. Never holds a value. */
export class CallRefused extends Error {
  constructor(
    readonly reason: 'Forbidden' | 'RequiredSecretMissing' | 'SecretUnreadable' | 'ArtifactTooBig' | 'NotFound' | 'UnknownMethod' | 'BadParams',
    message: string,
  ) {
    super(message)
  }
}

const artifactBytesMost = 64 * 1024
/** As an audit entry says it: no token asks, the node does. */
const ability = 'agent'

type Params<Method extends keyof typeof apiMethods> = z.infer<(typeof apiMethods)[Method]>

/** What agents ask the API for. A node is told nothing but what the applications on it need, and what it was told is audited. */
@Injectable()
export class AgentCalls {
  constructor(
    @Inject(ArtifactRepository) private readonly artifacts: ArtifactRepository,
    @Inject(SecretRepository) private readonly secrets: SecretRepository,
    @Inject(RegistryCredentialRepository) private readonly credentials: RegistryCredentialRepository,
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(Vault) private readonly vault: Vault,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  async serve(node: string, method: string, params: unknown): Promise<unknown> {
    switch (method) {
      case 'artifact':
        return this.artifact(read('artifact', params))
      case 'putArtifact':
        return this.putArtifact(read('putArtifact', params))
      case 'secretValues':
        return this.secretValues(node, read('secretValues', params))
      case 'registryCredential':
        return this.registryCredential(node, read('registryCredential', params))
      default:
        throw new CallRefused('UnknownMethod', `this API serves no calls named ${method}`)
    }
  }

  private async artifact({ sha256 }: Params<'artifact'>): Promise<string> {
    const content = await this.artifacts.get(sha256)
    if (!content) throw new CallRefused('NotFound', `there is no artifact ${sha256}`)
    return Buffer.from(content).toString('base64')
  }

  private async putArtifact({ content }: Params<'putArtifact'>): Promise<{ sha256: string }> {
    const bytes = Buffer.from(content, 'base64')
    if (bytes.length > artifactBytesMost)
      throw new CallRefused('ArtifactTooBig', `an artifact has at most ${artifactBytesMost} bytes, and this one has ${bytes.length}`)
    return { sha256: await this.artifacts.put(bytes, new Date(this.options.clock())) }
  }

  private async secretValues(node: string, { resource, refs }: Params<'secretValues'>): Promise<{ values: string[] }> {
    const context = this.contextOf(node, 'secretValues')
    const result = await this.secrets.handOut(node, resource, refs, context)
    switch (result.outcome) {
      case 'sealed':
        return { values: result.values.map((value, at) => this.open(value, toldRef(refs[at]))) }
      case 'forbidden':
        return this.refuse(context, resource, 'Forbidden', forbiddenBecause(resource, result.ref && toldRef(result.ref)))
      case 'missing':
        return this.refuse(context, resource, 'RequiredSecretMissing', `there is no ${toldRef(result.ref)}`)
    }
  }

  private async registryCredential(node: string, { resource, name }: Params<'registryCredential'>) {
    const context = this.contextOf(node, 'registryCredential')
    const result = await this.credentials.handOut(node, resource, name, context)
    const told = `registry credential ${name}`
    switch (result.outcome) {
      case 'sealed':
        return { host: result.host, username: result.username, password: this.open(result.password, told) }
      case 'forbidden':
        return this.refuse(context, resource, 'Forbidden', forbiddenBecause(resource, result.served ? told : null))
      case 'missing':
        return this.refuse(context, resource, 'RequiredSecretMissing', `there is no ${told}`)
    }
  }

  private open(value: PlacedValue, told: string): string {
    try {
      return this.vault.open(value)
    } catch (error) {
      this.options.log.error({ err: error }, `${told} does not open with this master key`)
      throw new CallRefused('SecretUnreadable', `${told} does not open with the master key of the API; its log has the reason`)
    }
  }

  private contextOf(node: string, operation: string): WriteContext {
    return { actor: node, ability, operation, now: new Date(this.options.clock()) }
  }

  private async refuse({ actor, operation, now: at }: WriteContext, resourceId: string, reason: CallRefused['reason'], message: string): Promise<never> {
    await this.audit.record({ actor, ability, operation, resourceId, workflowId: null, outcome: `refused: ${reason}`, at })
    throw new CallRefused(reason, message)
  }
}

/** Checked params; what is wrong with them is told by place only. */
function read<Method extends keyof typeof apiMethods>(method: Method, params: unknown): Params<Method> {
  const parsed = apiMethods[method].safeParse(params)
  if (parsed.success && textsOf(parsed.data).every(isPlainText)) return parsed.data as Params<Method>
  const places = parsed.success ? 'a text holds NUL' : parsed.error.issues.map((i) => i.path.join('.') || 'params').join(', ')
  throw new CallRefused('BadParams', `${method} was called with wrong parameters: ${places}`)
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsOf) : []
}

function toldRef(ref: SecretRef | undefined): string {
  return ref ? `version ${ref.version} of secret ${ref.secret}` : 'a secret'
}

function forbiddenBecause(resource: string, foreign: string | null): string {
  return foreign === null
    ? `${resource} is no application that this node runs`
    : `neither a release nor the spec of ${resource} names ${foreign}`
}
