import type { EngineFile, SecretValues } from '../adapters/docker/engine.js'
import { secretKey, type ContainerSpec, type SecretRef } from '../reconcile/action.js'
import { closedMounts, isWithin } from '../reconcile/application/paths.js'
import { ActionFailure } from './action-failure.js'
import type { ActionContext } from './executor.js'

const nobodyElse = { uid: 0, gid: 0 }

/**
 * What a container gets beside its spec: secrets' values and files. Values are asked for once an action, only when there
 * is something to make, and are gone with it.
 */
export class ContainerContent {
  private asked: Promise<SecretValues> | null = null
  private readonly filled = new Set<string>()

  constructor(
    private readonly spec: ContainerSpec,
    private readonly context: ActionContext,
  ) {}

  /** For the environment; fails where a value cannot be in one, because the engine would quote it in its refusal. */
  async environment(): Promise<SecretValues> {
    requirePlaceable(this.spec)
    const values = await this.secrets()
    const unfit = this.spec.secretEnv.find(({ secret }) => values.get(secretKey(secret))?.includes('\0'))
    if (!unfit) return values
    throw new ActionFailure(
      'BadAction',
      `secret ${secretKey(unfit.secret)} has a NUL character, which no environment can hold`,
      false,
    )
  }

  /**
   * Writes the files into a container that never ran, once an action. Each action does it anew: the one before may have
   * died between creating the container and this.
   */
  async fill(containerId: string): Promise<void> {
    if (this.spec.files.length === 0 || this.filled.has(containerId)) return
    await this.context.engine.putFiles(containerId, await this.files())
    this.filled.add(containerId)
  }

  private async files(): Promise<EngineFile[]> {
    const values = await this.secrets()
    const owner = ownerOf(this.spec.user)
    return this.spec.files.map(({ path, mode, content }) => {
      const text = typeof content === 'string' ? content : valueOf(values, content)
      return { path, mode, owner, content: Buffer.from(text) }
    })
  }

  private secrets(): Promise<SecretValues> {
    this.asked ??= this.ask()
    return this.asked
  }

  private async ask(): Promise<SecretValues> {
    const { secrets, owner, signal } = this.context
    const refs = refsOf(this.spec)
    if (refs.length === 0) return new Map()
    const values = await secrets.values(owner.resource, refs, signal)
    for (const ref of refs) valueOf(values, ref)
    return values
  }
}

/** Each secret once, however often it is used. */
function refsOf({ secretEnv, files }: ContainerSpec): SecretRef[] {
  const inFiles = files.flatMap(({ content }) => (typeof content === 'string' ? [] : [content]))
  const all = [...secretEnv.map((e) => e.secret), ...inFiles]
  return [...new Map(all.map((ref) => [secretKey(ref), ref])).values()]
}

function valueOf(values: SecretValues, ref: SecretRef): string {
  const value = values.get(secretKey(ref))
  if (value === undefined) throw new ActionFailure('RequiredSecretMissing', `there is no secret ${secretKey(ref)}`, true)
  return value
}

/** A program that runs under a number may read a file that is for its owner only; a name is known to the image alone. */
function ownerOf(user: string | null): EngineFile['owner'] {
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(user ?? '') ?? []
  return uid === undefined ? nobodyElse : { uid: Number(uid), gid: Number(gid ?? 0) }
}

/** A spec is refused for this already; an older one may still stand. */
function requirePlaceable({ files, mounts, tmpfs }: ContainerSpec): void {
  const targets = (chosen: ContainerSpec['mounts']) => chosen.map((m) => m.target)
  const closed = closedMounts({
    binds: targets(mounts.filter((m) => m.kind === 'bind')),
    readOnlyVolumes: targets(mounts.filter((m) => m.kind === 'volume' && m.readOnly)),
    tmpfs: tmpfs.map((t) => t.target),
  })
  for (const { path } of files) {
    const within = closed.find(({ target }) => isWithin(path, target))
    if (within) throw new ActionFailure('FileNotPlaceable', `the file ${path} would lie in ${within.what}`, false)
  }
}
