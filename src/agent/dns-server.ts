import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { join } from 'node:path'
import { EngineFailure, type EngineContainer } from '../adapters/docker/engine.js'
import type { NodeEngine, SystemNetwork } from '../adapters/docker/node-engine.js'
import { portHolder } from '../adapters/docker/port-holder.js'
import { internalZone, loopback, nameserversOf, renderCorefile, renderEmptyZone } from '../adapters/dns/zone-files.js'
import { label } from '../reconcile/labels.js'
import type { AgentLog } from './log.js'
import type { NodeConditions } from './node-conditions.js'
import { networkName, type NodeNetwork } from './node-network.js'
import type { NodeSubnet } from './node-subnet.js'
import type { Clock } from './ports.js'
import type { ResolverClient } from './resolver-client.js'
import { folderIdentity, readFileIfThere, writeFileAtomically } from './state-file.js'
import { systemKind } from './system-kind.js'

export const coreDnsImage = 'coredns/coredns:1.15.0'
/** Docker hands at most three resolvers to a container. */
const upstreamsOfContainers = 2
/** Where the configuration lies inside the container. */
const folder = '/dns'
const upWithinMs = 5_000
const pollMs = 50
/** Docker restarts it within moments; until then nothing is done about its end. */
const dockerRestartsMs = 3_000
const firstRetryMs = 1_000
const longestRetryMs = 30_000

export interface DnsServerOptions {
  instance: string
  stateDir: string
  engine: NodeEngine
  network: NodeNetwork
  client: ResolverClient
  conditions: NodeConditions
  clock: Clock
  log: AgentLog
  /** Aborts when the agent stops: nothing is created from then on. */
  signal: AbortSignal
}

export const dnsContainerName = (instance: string) => `ek-${instance}-dns`

/**
 * The node's resolver: a CoreDNS container that Docker restarts by itself, so that names work while the agent is away.
 * It is looked after like everything else: whatever is found is brought to what is wanted.
 */
export class DnsServer {
  private ttlSeconds = 5
  /** Somebody else has port 53 of the gateway: the resolver has an address of its own in the network. */
  private displaced: boolean
  private holder: string | null = null
  private current: Promise<void> | null = null
  private again = false
  private retryMs = firstRetryMs

  constructor(private readonly options: DnsServerOptions) {
    this.displaced = readFileIfThere(this.displacedFile()) === 'true'
  }

  /** Where it listens; null while the node has no subnet. */
  get address(): string | null {
    const { subnet } = this.options.network
    return subnet && this.addressIn(subnet)
  }

  setTtl(seconds: number): void {
    this.ttlSeconds = seconds
  }

  /** Ours first, then the node's own, so that public names survive its death. */
  resolversFor(subnet: NodeSubnet): string[] {
    const upstreams = nodeResolvers().filter((address) => !loopback(address))
    return [this.addressIn(subnet), ...upstreams.slice(0, upstreamsOfContainers)]
  }

  async lookup(name: string): Promise<{ addresses: string[] } | { silent: string }> {
    return this.address === null ? { silent: 'the node has no subnet yet' } : this.options.client.lookup(this.address, name)
  }

  /** Brings the resolver to where it should be; tells the outcome as a condition. Never fails. */
  ensure(): Promise<void> {
    this.again = this.current !== null
    this.current ??= this.loop().finally(() => (this.current = null))
    return this.current
  }

  /** Its container was removed: nobody else brings it back. It ended: Docker restarts it, and is looked after later. */
  noticed(action: string): void {
    if (action === 'destroy') void this.ensure()
    else if (action === 'die') this.lookAgain(dockerRestartsMs)
  }

  /** Returns when nothing is under way. */
  async idle(): Promise<void> {
    await this.current
  }

  private async loop(): Promise<void> {
    do {
      this.again = false
      try {
        await this.ensureOnce()
        this.retryMs = firstRetryMs
      } catch (error) {
        this.failed(error)
      }
    } while (this.again && !this.options.signal.aborted)
  }

  private async ensureOnce(): Promise<void> {
    const { network, engine, signal } = this.options
    await network.ensure()
    const { subnet } = network
    if (!subnet || signal.aborted) return
    this.writeConfiguration(subnet)
    const found = await engine.inspect(this.name)
    if (found && (await this.revived(found, subnet))) return this.ready()
    if (found) await engine.remove(found.id, true)
    await this.chooseAddress(subnet)
    this.writeConfiguration(subnet)
    signal.throwIfAborted()
    await this.create(subnet)
    if (!(await this.answers(subnet)))
      throw new Error(`the resolver does not answer on ${this.addressIn(subnet)} after ${upWithinMs / 1000} s`)
    this.ready()
  }

  /** True when the container that is there is the wanted one and answers, if need be after it was started again. */
  private async revived(found: EngineContainer, subnet: NodeSubnet): Promise<boolean> {
    const { engine } = this.options
    if (found.labels[label.specHash] !== this.specHash(subnet)) return false
    try {
      if (found.state === 'paused') await engine.unpause(found.id)
      else if (found.state !== 'running' && found.state !== 'restarting') await engine.start(found.id)
    } catch (error) {
      if (error instanceof EngineFailure && error.reason === 'DockerUnreachable') throw error
      return false
    }
    return this.answers(subnet)
  }

  private async create(subnet: NodeSubnet): Promise<void> {
    const { engine, instance } = this.options
    if ((await engine.imageId(coreDnsImage)) === null) await engine.pull(coreDnsImage, AbortSignal.timeout(600_000))
    const network: SystemNetwork = this.displaced ? { name: networkName(instance), address: this.addressIn(subnet) } : 'host'
    await engine.createSystem(
      {
        name: this.name,
        image: coreDnsImage,
        labels: {
          [label.instance]: instance,
          [label.kind]: systemKind,
          [label.resource]: 'dns',
          [label.specHash]: this.specHash(subnet),
        },
        command: ['-conf', `${folder}/Corefile`],
        readOnlyBinds: [[this.dnsDir, folder]],
        restartPolicy: 'unless-stopped',
        dns: [],
      },
      network,
    )
    await engine.start(this.name)
  }

  /** A busy machine may need a moment for an answer, so one silence means nothing. */
  private async answers(subnet: NodeSubnet): Promise<boolean> {
    const { client, clock, signal } = this.options
    const deadline = clock.now() + upWithinMs
    for (;;) {
      if (await client.answers(this.addressIn(subnet), internalZone)) return true
      if (clock.now() > deadline) return false
      await clock.sleep(pollMs, signal)
    }
  }

  /** Called while ours does not run: whoever has the port now is somebody else. */
  private async chooseAddress(subnet: NodeSubnet): Promise<void> {
    const displaced = await portTaken(subnet.gateway, 53)
    if (displaced === this.displaced) return
    this.displaced = displaced
    this.holder = displaced ? await portHolder(53) : null
    writeFileAtomically(this.displacedFile(), String(displaced))
    // Containers are told of the resolver when they are created.
    this.options.network.forget()
  }

  private writeConfiguration(subnet: NodeSubnet): void {
    writeIfDifferent(join(this.dnsDir, 'Corefile'), this.corefile(subnet))
    writeIfDifferent(join(this.dnsDir, 'internal.zone'), renderEmptyZone(this.ttlSeconds))
    if (readFileIfThere(join(this.dnsDir, 'hosts')) === null) writeFileAtomically(join(this.dnsDir, 'hosts'), '')
  }

  private corefile(subnet: NodeSubnet): string {
    const own = nodeResolvers().filter((address) => !this.displaced || !loopback(address))
    return renderCorefile({ listenAddress: this.addressIn(subnet), ttlSeconds: this.ttlSeconds, upstreams: own, folder })
  }

  /** Of everything that needs a new container or a new start; a container keeps a folder that was removed, and never sees the next. */
  private specHash(subnet: NodeSubnet): string {
    const parts = [
      coreDnsImage,
      this.dnsDir,
      folderIdentity(this.dnsDir),
      this.corefile(subnet),
      renderEmptyZone(this.ttlSeconds),
    ]
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
  }

  private addressIn(subnet: NodeSubnet): string {
    return this.displaced ? subnet.reservedResolver : subnet.gateway
  }

  private ready(): void {
    const message = this.displaced
      ? `port 53 of the bridge is held by ${this.holder ?? 'somebody else'}, so the resolver has the address ${this.address}`
      : `the resolver answers on ${this.address}`
    this.options.conditions.set({
      type: 'DNSReady',
      status: 'True',
      reason: this.displaced ? 'OnReservedAddress' : 'Answering',
      message,
    })
  }

  private failed(error: unknown): void {
    if (this.options.signal.aborted) return
    this.lookAgain(this.retryMs)
    this.retryMs = Math.min(this.retryMs * 2, longestRetryMs)
    const message = error instanceof Error ? error.message : String(error)
    const reason = error instanceof EngineFailure ? error.reason : 'ResolverNotRunning'
    this.options.log.warn({ reason, message }, 'the resolver is not ready')
    this.options.conditions.set({ type: 'DNSReady', status: 'False', reason, message })
  }

  private lookAgain(ms: number): void {
    setTimeout(() => {
      if (!this.options.signal.aborted) void this.ensure()
    }, ms).unref()
  }

  private get name(): string {
    return dnsContainerName(this.options.instance)
  }

  private get dnsDir(): string {
    return join(this.options.stateDir, 'dns')
  }

  private displacedFile(): string {
    return join(this.options.stateDir, 'resolver-displaced')
  }
}

/** The node's own resolvers; systemd-resolved's real ones where resolv.conf names only its stub. */
export function nodeResolvers(): string[] {
  const named = nameserversOf(readFileIfThere('/etc/resolv.conf') ?? '')
  if (named.some((address) => !loopback(address))) return named
  const real = nameserversOf(readFileIfThere('/run/systemd/resolve/resolv.conf') ?? '')
  return real.length > 0 ? real : named
}

function portTaken(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    socket.once('error', (error) => {
      socket.close()
      resolve((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
    })
    socket.bind({ address, port, exclusive: true }, () => socket.close(() => resolve(false)))
  })
}

function writeIfDifferent(path: string, text: string): void {
  if (readFileIfThere(path) !== text) writeFileAtomically(path, text)
}
