import type { SignedPayload } from '../adapters/crypto/signing.js'
import type { Engine } from '../adapters/docker/engine.js'
import { argsSchemas, type ArgsOf, type ResultOf, type Verb } from '../reconcile/action.js'
import type { Owner } from '../reconcile/labels.js'
import { ActionFailure, toActionFailure } from './action-failure.js'
import { ensureContainer } from './ensure-container.js'
import type { ImageResolver } from './image-resolver.js'
import { keepLog } from './keep-log.js'
import { requireFound } from './ownership.js'
import type {
  ArtifactSink,
  Clock,
  CredentialSource,
  EndpointReaders,
  IngressNode,
  NodeNetworkSource,
  PullPolicy,
  Readiness,
  SecretSource,
  StateFolderSource,
} from './ports.js'
import { authFor } from './registry-auth.js'
import { removeVolume } from './remove-volume.js'
import { restartContainer } from './restart-container.js'
import { retireContainer } from './retire-container.js'
import { runToEnd } from './run-to-end.js'
import { setResources } from './set-resources.js'

export interface ExecutorPorts {
  engine: Engine
  prober: Readiness
  publisher: EndpointReaders
  network: NodeNetworkSource
  pulls: PullPolicy
  resolver: Pick<ImageResolver, 'resolve'>
  secrets: SecretSource
  credentials: CredentialSource
  artifacts: ArtifactSink
  ingress: Pick<IngressNode, 'load'>
  folders: StateFolderSource
  clock: Clock
}

export interface Executor {
  /** Takes one verified action to its end. Fails with ActionFailure, or with the signal's reason. */
  act(payload: SignedPayload, signal: AbortSignal): Promise<ResultOf[Verb]>
}

/** What one action runs in. */
export interface ActionContext extends ExecutorPorts {
  owner: Owner
  signal: AbortSignal
}

type Verbs = { [V in Verb]: (args: ArgsOf<V>, context: ActionContext) => Promise<ResultOf[V]> }

/** Every verb is idempotent: it looks first, does what is missing, and takes "it is so already" for success. */
export function createExecutor(ports: ExecutorPorts): Executor {
  const verbs: Verbs = {
    ensureContainer,
    retireContainer,
    removeVolume,
    resolveImage,
    pullImage,
    setRestartPolicy,
    publishEndpoints,
    runToEnd,
    setResources,
    restartContainer,
    keepLog,
    loadIngressConfig: (args, { ingress, signal }) => ingress.load(args, signal),
  }
  return {
    async act(payload, signal) {
      try {
        signal.throwIfAborted()
        return await perform(verbs, payload, { ...ports, owner: ownerOfPayload(payload), signal })
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw toActionFailure(error)
      }
    },
  }
}

function perform(verbs: Verbs, { verb, args }: SignedPayload, context: ActionContext): Promise<ResultOf[Verb]> {
  if (!isVerb(verb))
    throw new ActionFailure(
      'UnknownVerb',
      `this agent does not know the action ${verb}; it is older than the control plane`,
      false,
    )
  const parsed = argsSchemas[verb].safeParse(args)
  if (!parsed.success) throw new ActionFailure('BadAction', `the arguments of ${verb} do not fit: ${parsed.error.message}`, false)
  return (verbs[verb] as (args: unknown, context: ActionContext) => Promise<ResultOf[Verb]>)(parsed.data, context)
}

function isVerb(verb: string): verb is Verb {
  return Object.hasOwn(argsSchemas, verb)
}

function ownerOfPayload({ instance, kind, resource }: SignedPayload): Owner {
  return { instance, kind, resource }
}

async function resolveImage(
  { image, credential, policy }: ArgsOf<'resolveImage'>,
  context: ActionContext,
): Promise<ResultOf['resolveImage']> {
  // A digest needs no registry, so no credential either.
  const auth = image.includes('@') || policy === 'never' ? null : await authFor(image, credential, context)
  return context.resolver.resolve(image, context.signal, { auth, policy })
}

async function pullImage({ image, credential }: ArgsOf<'pullImage'>, context: ActionContext): Promise<ResultOf['pullImage']> {
  const { engine, pulls, signal } = context
  // A digest cannot change, so what is here is what a pull would bring.
  const here = image.includes('@') ? await engine.imageId(image) : null
  if (here !== null) return { imageId: here }
  pulls.admit()
  await engine.pull(image, signal, await authFor(image, credential, context))
  const imageId = await engine.imageId(image)
  if (imageId === null) throw new ActionFailure('ImageMissing', `${image} was pulled but is not here any more`, true)
  pulls.pulled(image, imageId)
  return { imageId }
}

async function setRestartPolicy(
  { name, policy }: ArgsOf<'setRestartPolicy'>,
  context: ActionContext,
): Promise<Record<string, never>> {
  const found = requireFound(await context.engine.inspect(name), name, context.owner)
  if (found.restartPolicy !== policy) await context.engine.setRestartPolicy(found.id, policy)
  return {}
}

async function publishEndpoints(
  { publication, revision }: ArgsOf<'publishEndpoints'>,
  { publisher, owner, signal }: ActionContext,
): Promise<ResultOf['publishEndpoints']> {
  await publisher.publish(owner.resource, publication, revision, signal)
  return { revision }
}
