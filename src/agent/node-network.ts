import { join } from 'node:path'
import type { Engine, EngineNetwork } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'
import { nodeSubnetOf, type NodeSubnet } from './node-subnet.js'
import type { NodeNetworkSource } from './ports.js'
import { readFileIfThere, writeFileAtomically } from './state-file.js'
import { systemKind } from './system-kind.js'

/** Fits through a WireGuard tunnel (1420) from the start: a later mesh must not renumber or re-create anything. */
const mtu = 1_380

export interface NodeNetworkOptions {
  instance: string
  stateDir: string
  engine: Pick<Engine, 'ensureNetwork'>
  /** Resolvers for containers, ours first. */
  resolvers(subnet: NodeSubnet): string[]
}

export function networkName(instance: string): string {
  return `evenkeel-${instance}`
}

/** The one bridge of this node. Its subnet comes from the control plane once and is kept on disk. */
export class NodeNetwork implements NodeNetworkSource {
  private current: NodeSubnet | null
  private ensured: Promise<void> | null = null
  /** The latest making, also one that was forgotten: the engine refuses a second one of the same subnet meanwhile. */
  private latest: Promise<void> = Promise.resolve()
  /** The latest making has not begun yet, so it is as good as any later one. */
  private waiting = false
  private refusal: string | null = null

  constructor(private readonly options: NodeNetworkOptions) {
    const text = readFileIfThere(this.file())
    this.current = text === null ? null : nodeSubnetOf(text.trim())
  }

  get subnet(): NodeSubnet | null {
    return this.current
  }

  /** What the control plane allocated. It is never renumbered, so another one than ours is only taken by a new node. */
  adopt(cidr: string): void {
    const subnet = nodeSubnetOf(cidr)
    if (subnet.cidr === this.current?.cidr) return
    writeFileAtomically(this.file(), `${subnet.cidr}\n`)
    this.current = subnet
    this.ensured = null
  }

  /** Why no container may be made on this node's engine; null takes it back. */
  refuse(why: string | null): void {
    this.refusal = why
  }

  async ensure(): Promise<EngineNetwork> {
    if (this.refusal !== null) throw new ActionFailure('UnsupportedEngine', this.refusal, false)
    const subnet = this.current
    if (!subnet)
      throw new ActionFailure('NodeNotReady', 'the node has no subnet yet: it has not reached the API since it joined', true)
    const network = this.describe(subnet)
    this.ensured ??= this.make(network)
    await this.ensured
    return network
  }

  private make(network: EngineNetwork): Promise<void> {
    const { instance, engine } = this.options
    this.waiting = true
    const made = this.latest.then(() => {
      this.waiting = false
      return engine.ensureNetwork(network, { [label.instance]: instance, [label.kind]: systemKind })
    })
    this.latest = made.catch(() => {
      if (this.ensured === made) this.ensured = null
    })
    return made
  }

  /** The engine was found without it, or may be. */
  forget(): void {
    if (!this.waiting) this.ensured = null
  }

  private describe(subnet: NodeSubnet): EngineNetwork {
    return {
      name: networkName(this.options.instance),
      subnet: subnet.cidr,
      gateway: subnet.gateway,
      dynamicRange: subnet.dynamicRange,
      mtu,
      dns: this.options.resolvers(subnet),
    }
  }

  private file(): string {
    return join(this.options.stateDir, 'subnet')
  }
}
