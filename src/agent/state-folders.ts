import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec } from '../reconcile/action.js'
import { label } from '../reconcile/labels.js'
import { shortHash } from '../reconcile/hash.js'
import { ActionFailure } from './action-failure.js'
import type { StateFolderSource } from './ports.js'
import { folderIdentity } from './state-file.js'

/** What a container of the platform may mount of the agent's own folder. */
const mountable = ['endpoints', 'ingress/sockets', 'ingress/secrets', 'ingress/files', 'ingress/data', 'ingress/config'] as const
type Mountable = (typeof mountable)[number]

/** Kinds whose containers may: an application that names such a mount is a forgery or a fault. */
const kindsWithState = new Set(['ingress'])

export function stateFolder(stateDir: string, name: Mountable): string {
  return join(stateDir, name)
}

/** The agent's own folders as containers of the platform have them. */
export class StateFolders implements StateFolderSource {
  constructor(private readonly stateDir: string) {}

  /**
   * The container with its state folders as what they are for the engine, bind mounts, made where they are missing. Its
   * label says which folders these were: a bind mount is one of the folder and not of its path.
   */
  mounted(spec: ContainerSpec): ContainerSpec {
    const wanted = spec.mounts.filter((m) => m.kind === 'state').map((m) => m.source)
    if (wanted.length === 0) return spec
    const kind = spec.labels[label.kind] ?? ''
    if (!kindsWithState.has(kind))
      throw new ActionFailure('BadAction', `a container of kind ${kind} mounts no folder of the agent`, false)
    const mounts = spec.mounts.map((m) => (m.kind === 'state' ? { ...m, kind: 'bind' as const, source: this.made(m.source) } : m))
    return { ...spec, ...ownUser(spec), mounts, labels: { ...spec.labels, [label.stateFolders]: this.identities(wanted) } }
  }

  /** True when a folder that the container mounted is not the one that has its path now. */
  lost(labels: Record<string, string>): boolean {
    const told = labels[label.stateFolders]
    if (told === undefined) return false
    const names = told.split(' ').map((part) => part.slice(0, part.lastIndexOf('=')))
    try {
      return this.identities(names) !== told
    } catch {
      return true
    }
  }

  private made(name: string): string {
    const folder = stateFolder(this.stateDir, requireMountable(name))
    mkdirSync(folder, { recursive: true })
    return folder
  }

  private identities(names: string[]): string {
    return names
      .map((name) => `${name}=${shortHash(folderIdentity(stateFolder(this.stateDir, requireMountable(name))))}`)
      .join(' ')
  }
}

function requireMountable(name: string): Mountable {
  const found = mountable.find((m) => m === name)
  if (!found) throw new ActionFailure('BadAction', `${name} is no folder of the agent that a container may mount`, false)
  return found
}

/** Who owns the folders has to be who writes in them: a program without capabilities passes no other owner's rights. */
function ownUser(spec: ContainerSpec): { user?: string } {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  return spec.user === null && uid !== 0 ? { user: `${uid}:${gid}` } : {}
}
