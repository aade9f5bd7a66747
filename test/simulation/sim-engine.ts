import {
  EngineFailure,
  type EngineContainer,
  type EngineEvent,
  type EngineFile,
  type EngineInfo,
  type EngineNetwork,
  type LogLine,
  type LogOptions,
  type SecretValues,
} from '../../src/adapters/docker/engine.js'
import { toCreateBody, volumeLabels } from '../../src/adapters/docker/create-body.js'
import type { ContainerSummary, ExecResult, NodeEngine } from '../../src/adapters/docker/node-engine.js'
import type { ContainerSpec, PublishedPort, ResourceLimits, RestartPolicy } from '../../src/reconcile/action.js'
import { belongsTo, label, ownerOf } from '../../src/reconcile/labels.js'
import type { ContainerState } from '../../src/reconcile/observed.js'
import type { Random } from './random.js'
import { allImages, repositoryOf, type SimImage } from './sim-images.js'
import type { Timer, VirtualClock } from './virtual-clock.js'

export interface SimContainer {
  id: string
  name: string
  labels: Record<string, string>
  image: SimImage
  state: ContainerState
  exitCode: number
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  restartCount: number
  restartPolicy: string
  /** Asked for at its creation. */
  address: string | null
  ports: PublishedPort[]
  /** `NAME=value`, secrets among them. */
  env: string[]
  devices: string[]
  volumes: string[]
  limits: ResourceLimits
  /** By path. */
  files: Map<string, EngineFile>
  lines: LogLine[]
  /** Id of the network that it is on; a new one of the same name is another. null = some other network. */
  network: number | null
  /** A person or the engine's API stopped it: the restart policy is off. */
  stoppedOnPurpose: boolean
  /** SIGTERM was sent. */
  stopping: boolean
  /** It takes requests. */
  answering: boolean
  crashed: boolean
  timers: Timer[]
  /** A person laid hands on it: what people break by hand is no fault of ours. */
  tampered: boolean
}

/** What can go wrong, drawn anew for each call. */
export interface EngineFaults {
  latencyMs(): number
  /** The engine answers 500 and does nothing. */
  refuses(): boolean
  /** The effect happens, its answer does not arrive. */
  losesAnswer(): boolean
  /** How long a removal leaves the container behind as `removing`. */
  removalMs(): number
  /** How long a container is being made, its name taken already. */
  creationMs(): number
  losesEvent(): boolean
  doublesEvent(): boolean
  registryAway(): boolean
  pullMs(): number
}

/** Sees every request for a change, before its effect. */
export interface EngineWitness {
  asked(what: 'create' | 'start' | 'stop' | 'remove' | 'unpause' | 'policy', container: SimContainer | null, name: string): void
  volumeAsked(name: string, labels: Record<string, string> | null): void
  changed(): void
}

interface Subscription {
  labels: Record<string, string>
  onEvent: (event: EngineEvent) => void
  end: () => void
}

const restartFirstMs = 100
const restartLongestMs = 60_000
/** More than a modelled machine has. */
const cpusMost = 64

/** A model of one Docker engine and the programs in its containers. */
export class SimEngine implements NodeEngine {
  readonly containers = new Map<string, SimContainer>()
  private readonly reserved = new Set<string>()
  readonly localImages = new Set<SimImage>()
  /** Ports that processes outside Docker hold. */
  readonly heldPorts = new Set<number>()
  /** Labels of the volumes by name. */
  readonly volumesByName = new Map<string, Record<string, string>>()
  /** Folders and devices of the machine that bind mounts and devices find. */
  readonly hostPaths = new Set(['/srv', '/dev/fuse'])
  up = true
  /** Id of the node's network; 0 = there is none. */
  private network = 0
  private networks = 0
  private subnet = ''
  /** Last part of the next address from the network's dynamic range. */
  private dynamic = 0
  private life = 0
  private counter = 0
  private readonly subscriptions = new Set<Subscription>()
  private readonly log: EngineEvent[] = []

  constructor(
    readonly node: string,
    private readonly clock: VirtualClock,
    private readonly random: Random,
    private readonly faults: EngineFaults,
    private readonly witness: EngineWitness,
    private readonly trace: (line: string) => void,
    private readonly skewMs: number,
  ) {
    for (const image of allImages) if (image.localOnly) this.localImages.add(image)
  }

  info(): Promise<EngineInfo> {
    return this.call(() => ({ version: '29.0.0', apiVersion: '1.44', architecture: 'amd64', rootless: false, product: 'docker' }))
  }

  list(labels: Record<string, string>): Promise<EngineContainer[]> {
    return this.call(() => this.matching(labels).map((c) => this.view(c)))
  }

  summaries(labels: Record<string, string>): Promise<ContainerSummary[]> {
    return this.call(() =>
      this.matching(labels).map((c) => ({
        id: c.id,
        name: c.name,
        labels: c.labels,
        state: c.state,
        upSeconds: c.state === 'running' ? upSeconds(c.startedAt, this.nodeNow()) : null,
      })),
    )
  }

  inspect(nameOrId: string): Promise<EngineContainer | null> {
    return this.call(() => {
      const container = this.find(nameOrId)
      return container ? this.view(container) : null
    })
  }

  async create(spec: ContainerSpec, network: EngineNetwork, secrets?: SecretValues): Promise<{ id: string }> {
    this.witness.asked('create', null, spec.name)
    const { Env = [] } = toCreateBody(spec, network, secrets)
    const { made } = await this.call(() => {
      this.requireMounts(spec)
      const taken = this.byName(spec.name)?.id ?? (this.reserved.has(spec.name) ? 'not seen yet' : undefined)
      if (taken)
        throw new EngineFailure('NameTaken', `the container name "/${spec.name}" is already in use by container "${taken}"`, true)
      const image = this.local(spec.image)
      if (!image) throw new EngineFailure('ImageMissing', `No such image: ${spec.image}`, true)
      if (!this.network) throw new EngineFailure('NetworkMissing', 'network not found', true)
      for (const { kind, source } of spec.mounts)
        if (kind === 'volume' && !this.volumesByName.has(source)) this.volumesByName.set(source, volumeLabels(spec, source))
      return { made: this.make(spec, image, Env) }
    })
    const id = await made
    if (id === null) throw this.unreachable()
    return { id }
  }

  private requireMounts({ mounts, resources, labels }: ContainerSpec): void {
    for (const { kind, source } of mounts) {
      const owner = this.volumesByName.get(source)
      if (kind === 'volume' && owner && !belongsTo(owner, ownerOf({ labels })))
        throw new EngineFailure('VolumeForeign', `the volume ${source} is somebody else's`, false)
      if (kind === 'bind' && !this.hostPaths.has(source))
        throw new EngineFailure('BindSourceMissing', `bind source path does not exist: ${source}`, true)
    }
    if ((resources.nanoCpus ?? 0) > cpusMost * 1e9)
      throw new EngineFailure('ResourcesNotApplied', `Range of CPUs is from 0.01 to ${cpusMost}.00`, false)
  }

  /** The name is taken at once; the container is there for others to see a moment later, whoever may wait for it. */
  private async make(spec: ContainerSpec, image: SimImage, env: string[]): Promise<string | null> {
    const life = this.life
    this.reserved.add(spec.name)
    await this.clock.sleep(this.faults.creationMs())
    this.reserved.delete(spec.name)
    if (this.life !== life) return null
    const container = this.add(spec.name, spec.labels, image, spec.address, spec.restartPolicy, spec.publishedPorts, spec.network !== 'host')
    if (spec.labels[label.purpose] !== undefined) container.image = { ...image, behaviour: jobBehaviour(spec) }
    const volumes = spec.mounts.filter((m) => m.kind === 'volume').map((m) => m.source)
    Object.assign(container, { env, volumes, limits: spec.resources, devices: spec.devices.map((d) => d.source) })
    const exitCode = spec.env.find(([name]) => name === 'EXIT_CODE')?.[1]
    if (exitCode !== undefined)
      container.image = { ...image, behaviour: { ...image.behaviour, exitAfterMs: 1, exitCode: Number(exitCode) } }
    return container.id
  }

  async start(nameOrId: string): Promise<void> {
    this.witness.asked('start', this.find(nameOrId) ?? null, nameOrId)
    await this.call(() => {
      const container = this.mustFind(nameOrId)
      if (container.state === 'running' || container.state === 'restarting') return
      if (container.state === 'paused')
        throw new EngineFailure('EngineError', 'cannot start a paused container, try unpause instead', true)
      if (container.state === 'removing' || container.state === 'dead')
        throw new EngineFailure('EngineError', 'container is marked for removal and cannot be started', true)
      container.stoppedOnPurpose = false
      container.restartCount = 0
      this.launch(container)
    })
  }

  async unpause(nameOrId: string): Promise<void> {
    this.witness.asked('unpause', this.find(nameOrId) ?? null, nameOrId)
    await this.call(() => {
      const container = this.mustFind(nameOrId)
      if (container.state !== 'paused') throw new EngineFailure('EngineError', `Container ${container.id} is not paused`, true)
      this.resume(container)
    })
  }

  async stop(nameOrId: string, graceSeconds: number): Promise<void> {
    this.witness.asked('stop', this.find(nameOrId) ?? null, nameOrId)
    const container = await this.call(() => {
      const found = this.find(nameOrId)
      if (!found || !isAlive(found)) return null
      this.terminate(found)
      return found
    })
    if (!container) return
    const life = this.life
    const ended = () => !isAlive(container) || !this.containers.has(container.id)
    const killAt = this.clock.now() + graceSeconds * 1_000
    while (!ended()) {
      if (this.life !== life || !this.up) throw this.unreachable()
      if (this.clock.now() >= killAt) this.exit(container, 137)
      else await this.clock.sleep(Math.min(50, killAt - this.clock.now()))
    }
    if (this.faults.losesAnswer()) throw this.unreachable()
  }

  async remove(nameOrId: string, force: boolean): Promise<void> {
    this.witness.asked('remove', this.find(nameOrId) ?? null, nameOrId)
    const life = this.life
    const container = await this.call(() => {
      const found = this.find(nameOrId)
      if (!found || found.state === 'removing') return null
      if (isAlive(found) && !force)
        throw new EngineFailure('EngineError', `cannot remove container "${found.name}": container is running`, true)
      this.beginRemoval(found)
      return found
    })
    while (container && this.containers.has(container.id)) {
      if (this.life !== life || !this.up) throw this.unreachable()
      await this.clock.sleep(20)
    }
    if (container && this.faults.losesAnswer()) throw this.unreachable()
  }

  async setRestartPolicy(nameOrId: string, policy: RestartPolicy): Promise<void> {
    this.witness.asked('policy', this.find(nameOrId) ?? null, nameOrId)
    await this.call(() => {
      const container = this.mustFind(nameOrId)
      if (container.state === 'removing' || container.state === 'dead')
        throw new EngineFailure('EngineError', 'container is marked for removal and cannot be "update"', true)
      container.restartPolicy = policy
      this.tell(container, 'update')
    })
  }

  async setResources(nameOrId: string, { memoryBytes, nanoCpus }: ResourceLimits): Promise<void> {
    this.witness.asked('policy', this.find(nameOrId) ?? null, nameOrId)
    await this.call(() => {
      const container = this.mustFind(nameOrId)
      if ((nanoCpus ?? 0) > cpusMost * 1e9)
        throw new EngineFailure('ResourcesNotApplied', `Range of CPUs is from 0.01 to ${cpusMost}.00`, false)
      container.limits = {
        memoryBytes: memoryBytes ?? container.limits.memoryBytes,
        nanoCpus: nanoCpus ?? container.limits.nanoCpus,
      }
      this.tell(container, 'update')
    })
  }

  volumes(labels: Record<string, string>): Promise<string[]> {
    const wanted = Object.entries(labels)
    return this.call(() =>
      [...this.volumesByName]
        .filter(([, has]) => wanted.every(([key, value]) => has[key] === value))
        .map(([name]) => name)
        .sort(),
    )
  }

  volumeLabels(name: string): Promise<Record<string, string> | null> {
    return this.call(() => this.volumesByName.get(name) ?? null)
  }

  async removeVolume(name: string): Promise<void> {
    this.witness.volumeAsked(name, this.volumesByName.get(name) ?? null)
    await this.call(() => {
      const holder = [...this.containers.values()].find((c) => c.volumes.includes(name))
      if (holder) throw new EngineFailure('VolumeInUse', `remove ${name}: volume is in use - [${holder.id}]`, true)
      this.volumesByName.delete(name)
    })
  }

  putFiles(nameOrId: string, files: EngineFile[]): Promise<void> {
    return this.call(() => {
      const container = this.mustFind(nameOrId)
      for (const file of files) container.files.set(file.path, file)
    })
  }

  exec(nameOrId: string): Promise<ExecResult> {
    return this.call(() => ({ execId: 'none', exitCode: this.mustFind(nameOrId).answering ? 0 : 1, output: '' }))
  }

  execRuns(): Promise<boolean> {
    return Promise.resolve(false)
  }

  imageId(reference: string): Promise<string | null> {
    return this.call(() => this.local(reference)?.id ?? null)
  }

  repoDigest(reference: string): Promise<string | null> {
    return this.call(() => {
      const image = this.local(reference)
      return image && !image.localOnly ? `${repositoryOf(image.reference)}@${image.digest}` : null
    })
  }

  remoteDigest(reference: string): Promise<string> {
    return this.call(() => {
      const image = this.remote(reference)
      return `${repositoryOf(image.reference)}@${image.digest}`
    })
  }

  async pull(reference: string, signal: AbortSignal): Promise<void> {
    const life = this.life
    const image = await this.call(() => this.remote(reference))
    await this.clock.sleep(this.faults.pullMs(), signal)
    if (this.life !== life || !this.up) throw this.unreachable()
    this.localImages.add(image)
    if (this.faults.losesAnswer()) throw this.unreachable()
  }

  async ensureNetwork({ subnet }: EngineNetwork): Promise<void> {
    await this.call(() => {
      if (this.network !== 0 && this.subnet !== subnet)
        throw new EngineFailure('EngineError', `the network is there with another subnet: ${this.subnet}`, false)
      if (this.network === 0) this.network = ++this.networks
      this.subnet = subnet
    })
  }

  events(
    labels: Record<string, string>,
    since: number | null,
    onEvent: (event: EngineEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      void this.clock.sleep(this.faults.latencyMs()).then(() => {
        if (!this.up) return reject(this.unreachable())
        const subscription: Subscription = {
          labels,
          onEvent,
          end: () => {
            this.subscriptions.delete(subscription)
            resolve()
          },
        }
        this.subscriptions.add(subscription)
        signal.addEventListener('abort', subscription.end, { once: true })
        if (since !== null)
          for (const event of this.log.filter((e) => Number(e.timeNano) / 1e9 >= since)) this.deliver(subscription, event)
      })
    })
  }

  /** To the present end only. */
  logs(nameOrId: string, { tail }: LogOptions, onLine: (line: LogLine) => void): Promise<void> {
    return this.call(() => {
      const { lines } = this.mustFind(nameOrId)
      for (const line of lines.slice(Math.max(0, lines.length - (tail ?? lines.length)))) onLine(line)
    })
  }

  logBatches(): Promise<void> {
    return Promise.resolve()
  }

  openExec(): Promise<never> {
    return Promise.reject(new EngineFailure('EngineError', 'a simulated container has no processes', false))
  }

  createSystem(): Promise<{ id: string }> {
    return Promise.reject(new EngineFailure('EngineError', 'the simulated node has no containers of its own', false))
  }

  imagesInUse(): Promise<Set<string>> {
    return this.call(() => new Set([...this.containers.values()].map((c) => c.image.id)))
  }

  removeImage(reference: string): Promise<boolean> {
    return this.call(() => {
      const image = this.local(reference)
      if (!image || [...this.containers.values()].some((c) => c.image === image)) return false
      return this.localImages.delete(image)
    })
  }

  rootDir(): Promise<string> {
    return Promise.resolve('/var/lib/docker')
  }

  bridgeOf(): Promise<string | null> {
    return Promise.resolve('br-simulated')
  }

  /** Refused while it has containers that run, as by Docker. */
  async removeNetwork(): Promise<void> {
    if ([...this.containers.values()].some((c) => isAlive(c) && c.network === this.network)) return
    this.network = 0
  }

  // ——— what happens to the engine and by people's hands ———

  /** `live`: containers go on without their daemon, as after kill -9 of dockerd; else they end, as at a power cut. */
  goDown(live: boolean): void {
    if (!this.up) return
    this.up = false
    this.life++
    for (const subscription of [...this.subscriptions]) subscription.end()
    if (live) return
    for (const container of this.containers.values()) {
      if (isAlive(container)) this.halt(container, 137)
    }
  }

  comeUp(): void {
    if (this.up) return
    this.up = true
    this.life++
    for (const container of [...this.containers.values()]) {
      if (container.state === 'removing') this.finishRemoval(container)
      // Started by their restart policy, in no particular order.
      else if (!isAlive(container) && this.wantsRestart(container) && container.startedAt !== null)
        this.later(container, this.random.between(10, 2_000), () => !isAlive(container) && this.up && this.tryLaunch(container))
    }
    this.witness.changed()
  }

  byHand = {
    run: (name: string, labels: Record<string, string>, address: string | null): SimContainer | null => {
      if (!this.up || this.isTaken(name)) return null
      if (address !== null && this.holderOf(address)) return null
      const container = this.add(name, labels, allImages[0]!, address, 'no', [], false)
      container.tampered = true
      this.launch(container)
      return container
    },
    stop: (container: SimContainer): void => {
      container.tampered = true
      if (!isAlive(container)) return
      this.terminate(container)
      this.later(
        container,
        Math.min(container.image.behaviour.stopMs, 10_000),
        () => isAlive(container) && this.exit(container, 137),
      )
    },
    remove: (container: SimContainer): void => {
      container.tampered = true
      this.beginRemoval(container)
    },
    pause: (container: SimContainer): void => {
      container.tampered = true
      if (container.state !== 'running') return
      container.state = 'paused'
      container.answering = false
      this.tell(container, 'pause')
    },
    rename: (container: SimContainer, name: string): void => {
      if (this.isTaken(name)) return
      container.tampered = true
      container.name = name
      this.tell(container, 'rename')
    },
  }

  /** Its program ends by itself. */
  crash(container: SimContainer): void {
    if (container.state === 'running') this.exit(container, 2)
  }

  /** Whether a connection from the node to this address is answered as ready. */
  answers(address: string): boolean {
    return this.holderOf(address)?.answering === true
  }

  holderOf(address: string): SimContainer | undefined {
    return [...this.containers.values()].find((c) => c.address === address && isAlive(c))
  }

  byName(name: string): SimContainer | undefined {
    return [...this.containers.values()].find((c) => c.name === name)
  }

  /** This machine's own clock, in whole milliseconds as machines tell them. */
  private nodeNow(): number {
    return Math.floor(this.clock.now() + this.skewMs)
  }

  private isTaken(name: string): boolean {
    return this.reserved.has(name) || this.byName(name) !== undefined
  }

  private async call<T>(effect: () => T): Promise<T> {
    if (!this.up) {
      await this.clock.sleep(1)
      throw this.unreachable()
    }
    const life = this.life
    const latency = this.faults.latencyMs()
    await this.clock.sleep(latency / 2)
    if (!this.up || this.life !== life) throw this.unreachable()
    if (this.faults.refuses()) throw new EngineFailure('EngineError', 'simulated: the engine answered 500', true)
    const result = effect()
    this.witness.changed()
    await this.clock.sleep(latency / 2)
    if (this.life !== life || this.faults.losesAnswer()) throw this.unreachable()
    return result
  }

  private unreachable(): EngineFailure {
    return new EngineFailure('DockerUnreachable', 'the Docker engine cannot be reached: connect ECONNREFUSED', true)
  }

  private matching(labels: Record<string, string>): SimContainer[] {
    const wanted = Object.entries(labels)
    return [...this.containers.values()].filter((c) => wanted.every(([k, v]) => c.labels[k] === v))
  }

  private find(nameOrId: string): SimContainer | undefined {
    return this.containers.get(nameOrId) ?? this.byName(nameOrId)
  }

  private mustFind(nameOrId: string): SimContainer {
    const container = this.find(nameOrId)
    if (!container) throw new EngineFailure('NotFound', `No such container: ${nameOrId}`, true)
    return container
  }

  private local(reference: string): SimImage | undefined {
    return [...this.localImages].find((i) => matches(i, reference))
  }

  private remote(reference: string): SimImage {
    if (this.faults.registryAway())
      throw new EngineFailure('RegistryUnreachable', 'dial tcp: lookup registry.test: no such host', true)
    if (reference.startsWith('127.0.0.1:1/'))
      throw new EngineFailure('RegistryUnreachable', 'dial tcp 127.0.0.1:1: connection refused', true)
    const image = allImages.find((i) => !i.localOnly && matches(i, reference) && !reference.startsWith('sha256:'))
    if (!image) throw new EngineFailure('ImageNotFound', `manifest for ${reference} not found`, false)
    return image
  }

  private view(c: SimContainer): EngineContainer {
    return {
      id: c.id,
      name: c.name,
      labels: { ...c.labels },
      imageId: c.image.id,
      state: c.state,
      exitCode: c.state === 'exited' || c.state === 'dead' ? c.exitCode : null,
      oomKilled: c.oomKilled,
      startedAt: c.startedAt,
      finishedAt: c.finishedAt,
      restartCount: c.restartCount,
      restartPolicy: c.restartPolicy,
      address: c.address,
      limits: { ...c.limits },
    }
  }

  private add(
    name: string,
    labels: Record<string, string>,
    image: SimImage,
    address: string | null,
    restartPolicy: string,
    ports: PublishedPort[],
    ours: boolean,
  ): SimContainer {
    const container: SimContainer = {
      id: `c${(++this.counter).toString().padStart(5, '0')}${this.node.slice(-1)}`,
      name,
      labels,
      image,
      state: 'created',
      exitCode: 0,
      oomKilled: false,
      startedAt: null,
      finishedAt: null,
      restartCount: 0,
      restartPolicy,
      address,
      ports,
      env: [],
      devices: [],
      volumes: [],
      limits: { memoryBytes: null, nanoCpus: null },
      files: new Map(),
      lines: [],
      network: ours ? this.network : null,
      stoppedOnPurpose: false,
      stopping: false,
      answering: false,
      crashed: false,
      timers: [],
      tampered: false,
    }
    this.containers.set(container.id, container)
    this.tell(container, 'create')
    return container
  }

  /** Throws when it cannot start; the container keeps the code then, as with Docker. */
  private launch(container: SimContainer): void {
    const { behaviour } = container.image
    if (container.network !== null) {
      // Who ran before holds on to its network by id, who did not finds it by name.
      const lost = this.network === 0 || (container.startedAt !== null && container.network !== this.network)
      if (lost) throw new EngineFailure('NetworkMissing', `network ${container.network} not found`, true)
      container.network = this.network
      container.address ??= `10.192.15.${(this.dynamic = (this.dynamic % 250) + 1)}`
    }
    if (container.address !== null) {
      const holder = this.holderOf(container.address)
      if (holder && holder !== container)
        throw new EngineFailure('AddressInUse', `Address already in use: ${container.address}`, true)
    }
    for (const { hostPort } of container.ports) {
      const other = [...this.containers.values()].some(
        (c) => c !== container && isAlive(c) && c.ports.some((p) => p.hostPort === hostPort),
      )
      if (other || this.heldPorts.has(hostPort))
        throw new EngineFailure('PortTaken', `Bind for 127.0.0.1:${hostPort} failed: port is already allocated`, true)
    }
    const missing = container.devices.find((device) => !this.hostPaths.has(device))
    if (missing) throw new EngineFailure('DeviceMissing', `error gathering device information: "${missing}"`, true)
    if (behaviour.commandNotFound) {
      container.exitCode = 127
      throw new EngineFailure('CommandNotFound', 'exec: "nothing": executable file not found in $PATH', false)
    }
    this.clearTimers(container)
    container.state = 'running'
    container.startedAt = this.nodeNow()
    container.exitCode = 0
    container.oomKilled = false
    container.stopping = false
    container.answering = false
    this.say(container, 'started')
    this.tell(container, 'start')
    if (behaviour.readyAfterMs !== null)
      this.later(container, behaviour.readyAfterMs, () => {
        if (container.state === 'running' && !container.stopping) container.answering = true
      })
    const crash = container.crashed ? undefined : behaviour.crashOnceAfterMs
    const end = behaviour.exitAfterMs ?? crash
    if (end !== undefined)
      this.later(container, end, () => {
        container.crashed = true
        container.oomKilled = behaviour.oom === true
        if (isAlive(container)) this.exit(container, behaviour.exitCode ?? 1)
      })
    this.witness.changed()
  }

  private tryLaunch(container: SimContainer): void {
    try {
      this.launch(container)
    } catch (error) {
      this.trace(`${this.node}: ${container.name} could not be restarted: ${String(error)}`)
      container.state = 'exited'
      container.exitCode = 128
    }
  }

  private terminate(container: SimContainer): void {
    container.stoppedOnPurpose = true
    if (container.stopping) return
    container.stopping = true
    container.answering = false
    if (container.state === 'restarting') return this.exit(container, container.exitCode)
    if (container.state === 'running')
      this.later(container, container.image.behaviour.stopMs, () => isAlive(container) && this.exit(container, 0))
  }

  private exit(container: SimContainer, code: number): void {
    const oom = container.oomKilled
    this.halt(container, code)
    if (oom) this.tell(container, 'oom')
    this.tell(container, 'die')
    if (this.wantsRestart(container) && this.up) {
      container.state = 'restarting'
      const wait = Math.min(restartFirstMs * 2 ** container.restartCount, restartLongestMs)
      container.restartCount++
      this.later(container, wait, () => {
        if (container.state !== 'restarting') return
        if (this.up) this.tryLaunch(container)
        else container.state = 'exited'
      })
    }
    this.witness.changed()
  }

  private halt(container: SimContainer, code: number): void {
    this.clearTimers(container)
    container.state = 'exited'
    container.exitCode = code
    container.answering = false
    container.stopping = false
    container.finishedAt = this.nodeNow()
    this.say(container, `ended with ${code}`)
  }

  private say({ lines }: SimContainer, text: string): void {
    lines.push({ stream: 'stderr', at: new Date(this.nodeNow()).toISOString(), text })
    if (lines.length > 100) lines.shift()
  }

  private wantsRestart(container: SimContainer): boolean {
    return container.restartPolicy === 'unless-stopped' && !container.stoppedOnPurpose
  }

  private resume(container: SimContainer): void {
    container.state = 'running'
    container.answering = container.image.behaviour.readyAfterMs !== null && !container.stopping
    this.tell(container, 'unpause')
  }

  private beginRemoval(container: SimContainer): void {
    if (container.state === 'removing') return
    if (isAlive(container)) {
      this.halt(container, 137)
      this.tell(container, 'die')
    }
    this.clearTimers(container)
    container.state = 'removing'
    const life = this.life
    this.later(container, this.faults.removalMs(), () => {
      if (this.life === life) this.finishRemoval(container)
    })
    this.witness.changed()
  }

  private finishRemoval(container: SimContainer): void {
    this.clearTimers(container)
    this.containers.delete(container.id)
    this.tell(container, 'destroy')
    this.witness.changed()
  }

  private later(container: SimContainer, ms: number, run: () => void): void {
    container.timers.push(this.clock.after(ms, run))
  }

  private clearTimers(container: SimContainer): void {
    for (const timer of container.timers.splice(0)) timer.cancelled = true
  }

  private tell(container: SimContainer, action: string): void {
    this.trace(`${this.node}: ${action} ${container.name} (${container.id})`)
    const event: EngineEvent = {
      action,
      containerId: container.id,
      containerName: container.name,
      labels: { ...container.labels },
      timeNano: `${Math.floor((this.clock.now() + this.skewMs) * 1_000)}000`,
    }
    this.log.push(event)
    if (this.log.length > 256) this.log.shift()
    for (const subscription of this.subscriptions) this.deliver(subscription, event)
  }

  private deliver(subscription: Subscription, event: EngineEvent): void {
    if (!Object.entries(subscription.labels).every(([k, v]) => event.labels[k] === v)) return
    if (this.faults.losesEvent()) return
    const times = this.faults.doublesEvent() ? 2 : 1
    for (let i = 0; i < times; i++)
      this.clock.after(this.random.between(0.1, 5), () => {
        if (this.subscriptions.has(subscription)) subscription.onEvent(event)
      })
  }
}

/** A command that is run to its end: one called `fail` ends with 1. */
function jobBehaviour({ entrypoint, command }: ContainerSpec): SimImage['behaviour'] {
  const [program] = entrypoint ?? command ?? []
  return { readyAfterMs: null, exitAfterMs: 300, exitCode: program === 'fail' ? 1 : 0, stopMs: 50 }
}

/** To the second, as Docker tells it, and for the first minute only. */
function upSeconds(startedAt: number | null, now: number): number | null {
  const seconds = startedAt === null ? Infinity : Math.floor((now - startedAt) / 1_000)
  return seconds < 60 ? seconds : null
}

/** Has a process and its address. */
export function isAlive(container: SimContainer): boolean {
  return container.state === 'running' || container.state === 'paused' || container.state === 'restarting'
}

function matches(image: SimImage, reference: string): boolean {
  return (
    reference === image.reference || reference === image.id || reference === `${repositoryOf(image.reference)}@${image.digest}`
  )
}
