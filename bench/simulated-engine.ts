import { setTimeout as sleep } from 'node:timers/promises'
import { EngineFailure, type Engine, type EngineContainer, type EngineEvent } from '../src/adapters/docker/engine.js'
import type { ContainerSummary, NodeEngine } from '../src/adapters/docker/node-engine.js'
import type { ContainerSpec, ResourceLimits } from '../src/reconcile/action.js'

/** What a start takes on a middling engine; the control plane is what is measured, so nothing is computed meanwhile. */
const startMs = 150

type SimulatedEngine = Engine & Pick<NodeEngine, 'summaries'>

/** An engine in memory that never fails: containers without processes. It counts its calls. */
export class MemoryEngine implements SimulatedEngine {
  calls = 0
  private readonly containers = new Map<string, EngineContainer>()
  private readonly listeners = new Set<(event: EngineEvent) => void>()
  private made = 0

  info() {
    return this.counted({ version: 'simulated', apiVersion: '1.41', architecture: 'x86_64', rootless: false, product: 'docker' })
  }

  list(labels: Record<string, string>) {
    return this.counted([...this.containers.values()].filter((c) => carries(c, labels)))
  }

  summaries(labels: Record<string, string>): Promise<ContainerSummary[]> {
    const found = [...this.containers.values()].filter((c) => carries(c, labels))
    return this.counted(found.map(({ id, name, labels, state }) => ({ id, name, labels, state, upSeconds: null })))
  }

  inspect(nameOrId: string) {
    return this.counted(this.find(nameOrId) ?? null)
  }

  create(spec: ContainerSpec) {
    if (this.containers.has(spec.name)) throw new EngineFailure('NameTaken', `${spec.name} is in use`, true)
    const container: EngineContainer = {
      id: `simulated-${++this.made}`,
      name: spec.name,
      labels: spec.labels,
      imageId: 'sha256:simulated',
      state: 'created',
      exitCode: null,
      oomKilled: false,
      startedAt: null,
      finishedAt: null,
      restartCount: 0,
      restartPolicy: spec.restartPolicy,
      address: spec.address,
      limits: spec.resources,
    }
    this.containers.set(spec.name, container)
    this.tell('create', container)
    return this.counted({ id: container.id })
  }

  async start(nameOrId: string) {
    await sleep(startMs)
    this.change(nameOrId, 'start', { state: 'running', startedAt: Date.now() })
  }

  unpause(nameOrId: string) {
    return Promise.resolve(this.change(nameOrId, 'unpause', { state: 'running' }))
  }

  stop(nameOrId: string) {
    return Promise.resolve(this.change(nameOrId, 'die', { state: 'exited', exitCode: 0, finishedAt: Date.now() }))
  }

  remove(nameOrId: string) {
    const container = this.find(nameOrId)
    if (container) {
      this.containers.delete(container.name)
      this.tell('destroy', container)
    }
    return this.counted(undefined)
  }

  setRestartPolicy(nameOrId: string, restartPolicy: string) {
    return Promise.resolve(this.change(nameOrId, 'update', { restartPolicy }))
  }

  setResources(nameOrId: string, limits: ResourceLimits) {
    return Promise.resolve(this.change(nameOrId, 'update', { limits }))
  }

  putFiles() {
    return this.counted(undefined)
  }

  volumes() {
    return this.counted<string[]>([])
  }

  volumeLabels() {
    return this.counted<Record<string, string> | null>(null)
  }

  removeVolume() {
    return this.counted(undefined)
  }

  logs() {
    return this.counted(undefined)
  }

  imageId() {
    return this.counted<string | null>('sha256:simulated')
  }

  repoDigest() {
    return this.counted<string | null>(null)
  }

  remoteDigest(reference: string): Promise<string> {
    this.calls++
    return Promise.reject(new EngineFailure('RegistryUnreachable', `nobody answers for ${reference}`, true))
  }

  pull() {
    return this.counted(undefined)
  }

  ensureNetwork() {
    return this.counted(undefined)
  }

  async events(
    labels: Record<string, string>,
    _since: number | null,
    onEvent: (event: EngineEvent) => void,
    signal: AbortSignal,
  ) {
    this.calls++
    const listener = (event: EngineEvent) => {
      if (Object.entries(labels).every(([k, v]) => event.labels[k] === v)) onEvent(event)
    }
    this.listeners.add(listener)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    this.listeners.delete(listener)
  }

  private counted<T>(value: T): Promise<T> {
    this.calls++
    return Promise.resolve(value)
  }

  private find(nameOrId: string): EngineContainer | undefined {
    return this.containers.get(nameOrId) ?? [...this.containers.values()].find((c) => c.id === nameOrId)
  }

  private change(nameOrId: string, action: string, change: Partial<EngineContainer>): void {
    this.calls++
    const container = this.find(nameOrId)
    if (!container) throw new EngineFailure('NotFound', `no container ${nameOrId}`, true)
    const changed = { ...container, ...change }
    this.containers.set(container.name, changed)
    this.tell(action, changed)
  }

  private tell(action: string, { id, name, labels }: EngineContainer): void {
    const event = { action, containerId: id, containerName: name, labels, timeNano: `${Date.now()}000000` }
    for (const listener of this.listeners) listener(event)
  }
}

function carries(container: EngineContainer, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([key, value]) => container.labels[key] === value)
}
