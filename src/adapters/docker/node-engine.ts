import type { Writable } from 'node:stream'
import type { ContainerState } from '../../reconcile/observed.js'
import type { Engine, LogLine, LogOptions } from './engine.js'

/** What the agent's own upkeep needs beyond the actions' narrow view: no action may depend on it. */
export interface NodeEngine extends Engine {
  /** One cheap call for any number of containers; `list` costs one more call a container. */
  summaries(labels: Record<string, string>): Promise<ContainerSummary[]>
  /** Runs a command beside the container's own program, as its user, until it ends or `timeoutMs` are over. */
  exec(nameOrId: string, command: string[], timeoutMs: number): Promise<ExecResult>
  /** Whether a command that was not waited for any longer still runs. */
  execRuns(execId: string): Promise<boolean>
  /** The same as `logs`, as many lines at once as one read brings; the next read waits for `onLines`. */
  logBatches(
    nameOrId: string,
    options: LogOptions,
    onLines: (lines: LogLine[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>
  /** Runs a command for a person, who types and reads while it runs. Fails with NotFound, CommandNotFound, EngineError. */
  openExec(nameOrId: string, spec: ExecSpec): Promise<EngineExec>
  /** Creates a container of our own on the node, such as its resolver. Fails like `create`. */
  createSystem(spec: SystemContainerSpec, network: SystemNetwork): Promise<{ id: string }>
  /** Ids of all images that any container on this engine uses, ours or not. */
  imagesInUse(): Promise<Set<string>>
  /** Removes one reference, and the image with its last one. False when it is in use or not there. */
  removeImage(reference: string): Promise<boolean>
  /** Where the engine keeps images and containers, to watch the disk below it. */
  rootDir(): Promise<string>
  /** Name of the network's bridge interface on the host. */
  bridgeOf(networkName: string): Promise<string | null>
  removeNetwork(networkName: string): Promise<void>
}

export interface ContainerSummary {
  id: string
  name: string
  labels: Record<string, string>
  state: ContainerState
  /** How long it has been running, to the second; null when that is a minute or more, or when it does not run. */
  upSeconds: number | null
}

export interface ExecResult {
  execId: string
  /** null: it did not end in its time. */
  exitCode: number | null
  /** The beginning of what it wrote, both streams as they came. */
  output: string
}

export interface ExecSpec {
  command: string[]
  tty: boolean
  /** null = the container's own. */
  user: string | null
  workingDir: string | null
}

/** A command that runs in a container. */
export interface EngineExec {
  /** Its standard input; a terminal's output comes back as stdout alone. */
  readonly stdin: Writable
  /** Resolves when its output has ended: with the exit code, or null when the engine does not know it. */
  output(onBytes: (stream: 'stdout' | 'stderr', bytes: Buffer) => void | Promise<void>): Promise<number | null>
  resize(columns: number, rows: number): Promise<void>
  /** Process id in the engine's own process namespace, waited for while the command starts; null when it has ended. */
  pid(): Promise<number | null>
  /** Lets go of its streams. The engine has no way to end the process. */
  detach(): void
}

export interface SystemContainerSpec {
  name: string
  image: string
  labels: Record<string, string>
  command: string[]
  /** Host folder → folder in the container, read only. */
  readOnlyBinds: [string, string][]
  restartPolicy: 'no' | 'unless-stopped'
  dns: string[]
}

/** `host`: the host's own network. Else a network, and the address in it; null takes one from the dynamic range. */
export type SystemNetwork = 'host' | { name: string; address: string | null }
