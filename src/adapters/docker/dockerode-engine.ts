import type Docker from 'dockerode'
import type { ContainerInspectInfo } from 'dockerode'
import type { ContainerSpec, ResourceLimits, RestartPolicy } from '../../reconcile/action.js'
import { belongsTo, label, ownerOf } from '../../reconcile/labels.js'
import { withTag } from '../../reconcile/name.js'
import { toEngineContainer, toState } from './container-view.js'
import { endpointIn, limitsIn, logConfig, toCreateBody } from './create-body.js'
import { DockerClient } from './docker-client.js'
import { statusOf } from './engine-failures.js'
import { DockerExec } from './docker-exec.js'
import {
  EngineFailure,
  type EngineContainer,
  type EngineEvent,
  type EngineFile,
  type EngineInfo,
  type EngineNetwork,
  type LogLine,
  type LogOptions,
  type RegistryAuth,
  type SecretValues,
} from './engine.js'
import { readEvents } from './event-stream.js'
import { killExec } from './exec-process.js'
import { readOutput } from './exec-stream.js'
import { readLogLines } from './log-stream.js'
import { checkNetwork, networkBody, overlapWith } from './network-body.js'
import type {
  ContainerSummary,
  EngineExec,
  ExecResult,
  ExecSpec,
  NodeEngine,
  SystemContainerSpec,
  SystemNetwork,
} from './node-engine.js'
import { portHolder } from './port-holder.js'
import { readProgress } from './pull-stream.js'
import { matchingDigest, repositoryOf } from './reference.js'
import { tarOf } from './tar.js'

const readMs = 10_000
const changeMs = 60_000
const removeMs = 120_000
/** Beyond the grace of a stop: killing and releasing network and mounts takes the engine time of its own. */
const stopMarginMs = 60_000
/** What a probe's command writes beyond this is not kept. */
const outputBytesMost = 16 * 1024

/** Kinds of event that change what `list` says; the engine's exec and health-check noise is left out at the source. */
const eventKinds = ['create', 'start', 'die', 'destroy', 'oom', 'pause', 'unpause', 'rename', 'update', 'restart', 'stop']

/** The Engine over Docker's own API, from 20.10 on. */
export class DockerodeEngine implements NodeEngine {
  private readonly client: DockerClient

  /** `socket` null = DOCKER_HOST or the default socket. */
  constructor(socket: string | null = null) {
    this.client = new DockerClient(socket)
  }

  async info(): Promise<EngineInfo> {
    const version = await this.client.version()
    const info = (await this.client.call('read', readMs, (d) => d.info())) as {
      OperatingSystem?: string
      SecurityOptions?: string[] | null
    }
    return {
      version: version.Version,
      apiVersion: version.ApiVersion,
      architecture: version.Arch,
      rootless: (info.SecurityOptions ?? []).some((o) => o.includes('rootless')),
      product: productOf([
        ...(version.Components ?? []).map((c) => c.Name),
        version.Platform?.Name ?? '',
        info.OperatingSystem ?? '',
      ]),
    }
  }

  async list(labels: Record<string, string>): Promise<EngineContainer[]> {
    const found = await this.listIds(labels)
    const containers = await Promise.all(found.map(({ Id }) => this.inspect(Id)))
    return containers.filter((c) => c !== null)
  }

  async summaries(labels: Record<string, string>): Promise<ContainerSummary[]> {
    const found = await this.listIds(labels)
    return found.map((c) => ({
      id: c.Id,
      name: (c.Names[0] ?? '').replace(/^\//, ''),
      labels: c.Labels,
      state: toState(c.State),
      upSeconds: upSecondsOf(c.Status),
    }))
  }

  private listIds(labels: Record<string, string>): Promise<Docker.ContainerInfo[]> {
    return this.client.call('read', readMs, (d, abortSignal) =>
      d.listContainers({ all: true, filters: { label: toFilter(labels) }, abortSignal }),
    )
  }

  async inspect(nameOrId: string): Promise<EngineContainer | null> {
    const info = await this.absentAsNull(
      this.client.call(
        'read',
        readMs,
        (d, abortSignal) => d.getContainer(nameOrId).inspect({ abortSignal }) as Promise<ContainerInspectInfo>,
      ),
    )
    return info && toEngineContainer(info)
  }

  async create(spec: ContainerSpec, network: EngineNetwork, secrets?: SecretValues): Promise<{ id: string }> {
    const body = toCreateBody(spec, network, secrets)
    for (const { kind, source } of spec.mounts) if (kind === 'volume') await this.requireOwnVolume(source, spec)
    return this.createFrom(body)
  }

  /** A missing one is made together with the container; one that is there and not its owner's is never mounted. */
  private async requireOwnVolume(name: string, spec: ContainerSpec): Promise<void> {
    const labels = await this.volumeLabels(name)
    if (!labels || belongsTo(labels, ownerOf(spec))) return
    const holder = labels[label.resource]
    const whose = holder ? `belongs to ${labels[label.kind]} ${holder}` : 'is not from Evenkeel'
    throw new EngineFailure('VolumeForeign', `the volume ${name} ${whose}; it is not used`, false)
  }

  async putFiles(nameOrId: string, files: EngineFile[]): Promise<void> {
    const archive = tarOf(files, Math.floor(Date.now() / 1000))
    // A file never takes the place of a folder.
    const options = { path: '/', noOverwriteDirNonDir: '1' }
    await this.client.call('change', changeMs, (d, abortSignal) =>
      d.getContainer(nameOrId).putArchive(archive, { ...options, abortSignal } as { path: string }),
    )
  }

  createSystem(spec: SystemContainerSpec, network: SystemNetwork): Promise<{ id: string }> {
    return this.createFrom({
      name: spec.name,
      Image: spec.image,
      Labels: spec.labels,
      Cmd: spec.command,
      HostConfig: {
        NetworkMode: network === 'host' ? 'host' : network.name,
        RestartPolicy: { Name: spec.restartPolicy },
        Binds: spec.readOnlyBinds.map(([from, to]) => `${from}:${to}:ro`),
        Dns: spec.dns,
        LogConfig: logConfig,
      },
      ...(network === 'host' ? {} : { NetworkingConfig: endpointIn(network) }),
    })
  }

  private async createFrom(body: Docker.ContainerCreateOptions): Promise<{ id: string }> {
    const container = await this.client.call('create', changeMs, (d, abortSignal) => d.createContainer({ ...body, abortSignal }))
    return { id: container.id }
  }

  async start(nameOrId: string): Promise<void> {
    try {
      await this.change('start', changeMs, (d, abortSignal) => d.getContainer(nameOrId).start({ abortSignal }), [304])
    } catch (error) {
      throw error instanceof EngineFailure && error.reason === 'PortTaken' ? await this.namingHolder(error) : error
    }
  }

  async unpause(nameOrId: string): Promise<void> {
    await this.change('change', changeMs, (d) => d.getContainer(nameOrId).unpause(), [304])
  }

  async stop(nameOrId: string, graceSeconds: number): Promise<void> {
    const timeoutMs = graceSeconds * 1000 + stopMarginMs
    await this.change(
      'change',
      timeoutMs,
      (d, abortSignal) => d.getContainer(nameOrId).stop({ t: graceSeconds, abortSignal }),
      [304, 404],
    )
  }

  async remove(nameOrId: string, force: boolean): Promise<void> {
    const remove = (d: Docker, abortSignal: AbortSignal) => d.getContainer(nameOrId).remove({ v: true, force, abortSignal })
    try {
      await this.change('change', removeMs, remove, [404])
    } catch (error) {
      // Somebody else's removal is under way; the container may be seen for a moment yet.
      if (!(error instanceof EngineFailure && /already in progress/i.test(error.message))) throw error
    }
  }

  async setRestartPolicy(nameOrId: string, policy: RestartPolicy): Promise<void> {
    await this.change('change', changeMs, (d) => d.getContainer(nameOrId).update({ RestartPolicy: { Name: policy } }), [])
  }

  async setResources(nameOrId: string, limits: ResourceLimits): Promise<void> {
    await this.change('change', changeMs, (d) => d.getContainer(nameOrId).update(limitsIn(limits)), [])
  }

  async volumes(labels: Record<string, string>): Promise<string[]> {
    const { Volumes } = await this.client.call('read', readMs, (d) => d.listVolumes({ filters: { label: toFilter(labels) } }))
    return (Volumes as Docker.VolumeInspectInfo[] | null)?.map((v) => v.Name).sort() ?? []
  }

  async volumeLabels(name: string): Promise<Record<string, string> | null> {
    const found = await this.absentAsNull(this.client.call('read', readMs, (d) => d.getVolume(name).inspect()))
    return found && ((found.Labels as Record<string, string> | null) ?? {})
  }

  async removeVolume(name: string): Promise<void> {
    await this.change('change', removeMs, (d, abortSignal) => d.getVolume(name).remove({ abortSignal }), [404])
  }

  async exec(nameOrId: string, command: string[], timeoutMs: number): Promise<ExecResult> {
    const options = { Cmd: command, AttachStdout: true, AttachStderr: true }
    const exec = await this.client.call('read', readMs, (d) => d.getContainer(nameOrId).exec(options))
    const stream = await this.client.call('read', readMs, () => exec.start({}))
    // From its start on: that the engine took long to begin says nothing about the program.
    const late = setTimeout(() => stream.destroy(), timeoutMs)
    const output = await readOutput(stream, outputBytesMost).catch(() => null)
    clearTimeout(late)
    const { Running, ExitCode, Pid, ContainerID } = await this.client.call('read', readMs, () => exec.inspect())
    if (!Running && output !== null) return { execId: exec.id, exitCode: ExitCode, output }
    if (Running) await killExec(Pid, ContainerID)
    return { execId: exec.id, exitCode: null, output: output ?? '' }
  }

  async execRuns(execId: string): Promise<boolean> {
    const found = await this.absentAsNull(this.client.call('read', readMs, (d) => d.getExec(execId).inspect()))
    return found?.Running === true
  }

  async imageId(reference: string): Promise<string | null> {
    return (await this.image(reference))?.Id ?? null
  }

  async repoDigest(reference: string): Promise<string | null> {
    const image = await this.image(reference)
    return image ? matchingDigest(reference, image.RepoDigests ?? []) : null
  }

  private image(reference: string): Promise<Docker.ImageInspectInfo | null> {
    return this.absentAsNull(this.client.call('read', readMs, (d) => d.getImage(reference).inspect()))
  }

  async remoteDigest(reference: string, signal: AbortSignal, auth?: RegistryAuth | null): Promise<string> {
    const image = withTag(reference)
    const info = (await this.client.call(
      'registry',
      changeMs,
      (d, abortSignal) => d.getImage(image).distribution({ abortSignal, ...authIn(auth) }),
      signal,
    )) as {
      Descriptor: { digest: string }
    }
    return `${repositoryOf(image)}@${info.Descriptor.digest}`
  }

  async pull(reference: string, signal: AbortSignal, auth?: RegistryAuth | null): Promise<void> {
    // Bounded by its caller's signal alone: nobody knows how long an image may take.
    await this.client.call(
      'registry',
      24 * 3_600_000,
      async (d, abortSignal) => readProgress(await d.pull(withTag(reference), { abortSignal, ...authIn(auth) }), abortSignal),
      signal,
    )
    if ((await this.imageId(reference)) === null) {
      throw new EngineFailure('EngineError', `the engine said that ${reference} was pulled, but it is not there`, true)
    }
  }

  async ensureNetwork(network: EngineNetwork, labels: Record<string, string>): Promise<void> {
    const existing = await this.network(network.name)
    if (existing) return checkNetwork(existing, network)
    try {
      await this.client.call('create', changeMs, (d) => d.createNetwork(networkBody(network, labels)))
    } catch (error) {
      const winner = await this.network(network.name)
      if (winner) return checkNetwork(winner, network)
      if (!(error instanceof EngineFailure) || !/overlap/i.test(error.message)) throw error
      const networks = await this.client.call('read', readMs, (d) => d.listNetworks())
      throw new EngineFailure('EngineError', overlapWith(networks, network), true)
    }
  }

  async bridgeOf(networkName: string): Promise<string | null> {
    const network = await this.network(networkName)
    if (!network) return null
    return network.Options?.['com.docker.network.bridge.name'] ?? `br-${network.Id.slice(0, 12)}`
  }

  async removeNetwork(networkName: string): Promise<void> {
    await this.change('change', changeMs, (d) => d.getNetwork(networkName).remove(), [404])
  }

  private network(name: string): Promise<Docker.NetworkInspectInfo | null> {
    return this.absentAsNull(
      this.client.call('read', readMs, (d) => d.getNetwork(name).inspect() as Promise<Docker.NetworkInspectInfo>),
    )
  }

  async events(
    labels: Record<string, string>,
    since: number | null,
    onEvent: (event: EngineEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const filters = { type: ['container' as const], event: eventKinds, label: toFilter(labels) }
    const stream = await this.client.call('read', readMs, (d) =>
      d.getEvents({ filters, abortSignal: signal, ...(since === null ? {} : { since }) }),
    )
    await readEvents(stream, onEvent, signal)
  }

  logs(nameOrId: string, options: LogOptions, onLine: (line: LogLine) => void, signal: AbortSignal): Promise<void> {
    return this.logBatches(nameOrId, options, (lines) => lines.forEach(onLine), signal)
  }

  async logBatches(
    nameOrId: string,
    options: LogOptions,
    onLines: (lines: LogLine[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const info = await this.client.call(
      'read',
      readMs,
      (d) => d.getContainer(nameOrId).inspect() as Promise<ContainerInspectInfo>,
    )
    const stream = await this.client.call('read', readMs, (d) =>
      d.getContainer(nameOrId).logs({
        stdout: true,
        stderr: true,
        timestamps: true,
        // dockerode gives a stream only when it is told to follow; the engine is told what was asked.
        follow: true,
        _query: logQuery(options),
        abortSignal: signal,
      } as unknown as { follow: true }),
    )
    await readLogLines(stream, info.Config.Tty === true, onLines, signal)
  }

  async openExec(nameOrId: string, spec: ExecSpec): Promise<EngineExec> {
    const exec = await this.client.call('change', changeMs, (d) =>
      d.getContainer(nameOrId).exec({
        Cmd: spec.command,
        Tty: spec.tty,
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        ...(spec.user === null ? {} : { User: spec.user }),
        ...(spec.workingDir === null ? {} : { WorkingDir: spec.workingDir }),
      }),
    )
    const stream = await this.client.call('start', changeMs, () => exec.start({ hijack: true, stdin: true, Tty: spec.tty }))
    return new DockerExec(this.client, exec, stream, spec.tty)
  }

  async imagesInUse(): Promise<Set<string>> {
    const all = await this.client.call('read', readMs, (d) => d.listContainers({ all: true }))
    return new Set(all.map((c) => c.ImageID))
  }

  async removeImage(reference: string): Promise<boolean> {
    try {
      await this.client.call('change', removeMs, (d) => d.getImage(reference).remove({ noprune: false }))
      return true
    } catch (error) {
      if (error instanceof EngineFailure && error.reason !== 'DockerUnreachable') return false
      throw error
    }
  }

  async rootDir(): Promise<string> {
    const info = (await this.client.call('read', readMs, (d) => d.info())) as { DockerRootDir: string }
    return info.DockerRootDir
  }

  /** Runs a change; the statuses in `fine` mean "it is so already". */
  private async change(
    call: 'start' | 'change',
    timeoutMs: number,
    run: (docker: Docker, signal: AbortSignal) => Promise<unknown>,
    fine: number[],
  ): Promise<void> {
    await this.client.call(call, timeoutMs, async (docker, signal) => {
      try {
        await run(docker, signal)
      } catch (error) {
        if (!fine.includes(statusOf(error) ?? 0)) throw error
      }
    })
  }

  private async absentAsNull<T>(found: Promise<T>): Promise<T | null> {
    try {
      return await found
    } catch (error) {
      if (error instanceof EngineFailure && error.reason === 'NotFound') return null
      throw error
    }
  }

  private async namingHolder(failure: EngineFailure): Promise<EngineFailure> {
    const port = Number(/:(\d+)(?:: bind| failed)/.exec(failure.message)?.[1])
    const protocol = /listen udp/.test(failure.message) ? 'udp' : 'tcp'
    const holder = Number.isInteger(port) ? await this.holderOf(port, protocol).catch(() => null) : null
    return holder ? new EngineFailure('PortTaken', `port ${port} is held by ${holder}`, true) : failure
  }

  private async holderOf(port: number, protocol: 'tcp' | 'udp'): Promise<string | null> {
    const publishing = await this.client.call('read', readMs, (d) =>
      d.listContainers({ filters: { publish: [`${port}/tcp`, `${port}/udp`] } }),
    )
    const [container] = publishing
    if (container) return `container ${(container.Names[0] ?? container.Id).replace(/^\//, '')}`
    return portHolder(port, protocol)
  }
}

/** Travels in a header of its own, never in a URL. */
function authIn(auth: RegistryAuth | null | undefined): { authconfig?: RegistryAuth } {
  return auth ? { authconfig: auth } : {}
}

function toFilter(labels: Record<string, string>): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`)
}

/** The engine tells it in words: "Up Less than a second", "Up 1 second", "Up 40 seconds (healthy)", "Up 3 minutes". */
export function upSecondsOf(status: string): number | null {
  const found = /^Up (?:(\d+) seconds?|Less than a second)/i.exec(status)
  return found ? Number(found[1] ?? 0) : null
}

function logQuery({ follow, tail, sinceMs, since, streams }: LogOptions): Record<string, unknown> {
  const from = since ?? (sinceMs === null ? null : (sinceMs / 1000).toFixed(3))
  return {
    stdout: streams?.includes('stdout') ?? true,
    stderr: streams?.includes('stderr') ?? true,
    timestamps: true,
    follow,
    ...(tail === null ? {} : { tail }),
    ...(from === null ? {} : { since: from }),
  }
}

function productOf(names: string[]): string {
  if (names.some((n) => /podman/i.test(n))) return 'podman'
  return names.some((n) => /docker desktop/i.test(n)) ? 'docker-desktop' : 'docker'
}
