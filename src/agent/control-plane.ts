import { createHash } from 'node:crypto'
import { z } from 'zod'
import { secretKey, type SecretRef } from '../reconcile/action.js'
import { abortable } from './abortable.js'
import { ActionFailure } from './action-failure.js'
import { CallFailure } from './peer-calls.js'
import type { ArtifactSink, ArtifactSource, CredentialSource, RegistryCredential, SecretSource } from './ports.js'
import type { ApiMethod, ApiParams } from './protocol.js'

/** The channel as far as it is needed here. */
export interface ApiCalls {
  call<M extends ApiMethod>(method: M, params: ApiParams<M>): Promise<unknown>
}

/** The API had no answer: it is away, or failed inside. Anything else it says is an answer. */
const noAnswer = new Set(['ApiUnreachable', 'CallFailed'])

const valuesSchema = z.object({ values: z.array(z.string()) })
const credentialSchema = z.object({ host: z.string(), username: z.string(), password: z.string() })
const artifactSchema = z.object({ sha256: z.string() })

/**
 * What actions ask of the control plane over the agent's channel. Answers are handed on and never kept, and no error
 * quotes one.
 */
export class ControlPlane implements SecretSource, CredentialSource, ArtifactSink, ArtifactSource {
  constructor(private readonly api: ApiCalls) {}

  async values(resource: string, refs: SecretRef[], signal: AbortSignal): Promise<Map<string, string>> {
    const answered = this.api.call('secretValues', { resource, refs })
    const { values } = await this.answer(answered, valuesSchema, 'RequiredSecretMissing', signal)
    if (values.length !== refs.length)
      throw new ActionFailure('RequiredSecretMissing', `of ${refs.length} secrets ${values.length} were told`, true)
    return new Map(refs.map((ref, index) => [secretKey(ref), values[index] ?? '']))
  }

  credential(resource: string, name: string, signal: AbortSignal): Promise<RegistryCredential> {
    return this.answer(this.api.call('registryCredential', { resource, name }), credentialSchema, 'CredentialMissing', signal)
  }

  async put(content: Buffer, signal: AbortSignal): Promise<string> {
    const answered = this.api.call('putArtifact', { content: content.toString('base64') })
    const { sha256 } = await this.answer(answered, artifactSchema, 'AgentError', signal)
    if (sha256 !== createHash('sha256').update(content).digest('hex'))
      throw new ActionFailure('AgentError', 'the API kept something else than it was given', true)
    return sha256
  }

  async get(sha256: string, signal: AbortSignal): Promise<Buffer> {
    const text = await this.answer(this.api.call('artifact', { sha256 }), z.string(), 'ArtifactMissing', signal)
    const content = Buffer.from(text, 'base64')
    if (createHash('sha256').update(content).digest('hex') === sha256) return content
    throw new ActionFailure('AgentError', `the API gave something else than the artifact ${sha256}`, true)
  }

  /** `refused`: the reason when the API answers that it has not got it. */
  private async answer<T>(answered: Promise<unknown>, schema: z.ZodType<T>, refused: string, signal: AbortSignal): Promise<T> {
    try {
      const parsed = schema.safeParse(await abortable(answered, signal))
      if (parsed.success) return parsed.data
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      throw new ActionFailure(noAnswer.has(error.reason) ? 'ApiUnreachable' : refused, error.message, true)
    }
    throw new ActionFailure('AgentError', 'the API gave an answer of another shape', true)
  }
}
