import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineInfo } from '../adapters/docker/engine.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { internalZone } from '../adapters/dns/zone-files.js'
import { label } from '../reconcile/labels.js'
import { coreDnsImage, type DnsServer } from './dns-server.js'
import type { AgentLog } from './log.js'
import type { NodeConditions } from './node-conditions.js'
import { networkName, type NodeNetwork } from './node-network.js'
import type { Clock } from './ports.js'
import type { ResolverClient } from './resolver-client.js'
import { writeFileAtomically } from './state-file.js'
import { systemKind } from './system-kind.js'

const upWithinMs = 5_000
const pollMs = 50
const againMs = 3_600_000
const soonMs = 5_000
const zoneOfItsOwn = 'canary.test'

export interface CanaryOptions {
  instance: string
  stateDir: string
  engine: NodeEngine
  network: NodeNetwork
  dns: DnsServer
  client: ResolverClient
  conditions: NodeConditions
  clock: Clock
  log: AgentLog
  signal: AbortSignal
}

/**
 * Proves what everything else takes for granted: that this node reaches a container by its address, and that a
 * container reaches the node's resolver, which host firewalls like to drop. Its container is a CoreDNS as well: it
 * answers for a zone of its own, and passes the internal zone on to the node's resolver from inside the network.
 * Tells EngineSupported, ContainersReachable and DNSReachable.
 */
export class Canary {
  /** Ends the sleep before the next try. */
  private awaken: () => void = () => undefined
  private lacked = true

  constructor(private readonly options: CanaryOptions) {}

  /** What it lacked may be there now: it tries at once. Nothing when it has its verdict. */
  wake(): void {
    if (this.lacked) this.awaken()
  }

  /** Flies at once, and again every hour; what could not be found out is tried again soon. Returns when the agent stops. */
  async run(): Promise<void> {
    const { signal, clock, log } = this.options
    while (!signal.aborted) {
      const found = await this.once().catch((error: unknown) => {
        log.debug({ error: String(error) }, 'the canary could not fly')
        return false
      })
      this.lacked = !found
      const woken = new Promise<void>((resolve) => (this.awaken = resolve))
      const slept = new AbortController()
      const either = AbortSignal.any([signal, slept.signal])
      await Promise.race([clock.sleep(found ? againMs : soonMs, either).catch(() => undefined), woken])
      slept.abort()
    }
  }

  /** False when something that it needs is not there yet. */
  private async once(): Promise<boolean> {
    const { engine, conditions, dns, network } = this.options
    const refusal = refuseEngine(await engine.info())
    network.refuse(refusal)
    conditions.set(
      refusal
        ? { type: 'EngineSupported', status: 'False', reason: 'UnsupportedEngine', message: refusal }
        : { type: 'EngineSupported', status: 'True', reason: 'Supported', message: 'the engine can be worked with' },
    )
    if (refusal) return true
    if (!network.subnet) return false
    await dns.ensure()
    await network.ensure()
    if (dns.address === null || (await engine.imageId(coreDnsImage)) === null) return false
    try {
      return await this.fly(dns.address)
    } finally {
      await engine.remove(this.name, true)
    }
  }

  private async fly(resolver: string): Promise<boolean> {
    const { conditions, engine } = this.options
    const address = await this.launch(resolver)
    if (!(await this.answers(address, zoneOfItsOwn))) {
      if ((await engine.inspect(this.name))?.state !== 'running') return false
      const message = `the node does not reach a container by its address ${address}`
      conditions.set({ type: 'ContainersReachable', status: 'False', reason: 'AddressUnreachable', message })
      return true
    }
    conditions.set({
      type: 'ContainersReachable',
      status: 'True',
      reason: 'Reachable',
      message: 'the node reaches containers by their addresses',
    })
    const resolves = await this.answers(address, internalZone)
    conditions.set(
      resolves
        ? { type: 'DNSReachable', status: 'True', reason: 'Resolves', message: 'containers reach the resolver' }
        : {
            type: 'DNSReachable',
            status: 'False',
            reason: 'DNSBlockedByFirewall',
            message: `containers do not reach the node's resolver on ${resolver}:53; let the firewall (ufw, firewalld) accept UDP and TCP port 53 from ${this.options.network.subnet?.cidr}`,
          },
    )
    return true
  }

  private async launch(resolver: string): Promise<string> {
    const { engine, instance } = this.options
    const folder = join(this.options.stateDir, 'canary')
    mkdirSync(folder, { recursive: true })
    writeFileAtomically(join(folder, 'Corefile'), corefile(resolver))
    await engine.remove(this.name, true)
    await engine.createSystem(
      {
        name: this.name,
        image: coreDnsImage,
        labels: { [label.instance]: instance, [label.kind]: systemKind, [label.resource]: 'canary' },
        command: ['-conf', '/canary/Corefile'],
        readOnlyBinds: [[folder, '/canary']],
        restartPolicy: 'no',
        dns: [],
      },
      { name: networkName(instance), address: null },
    )
    await engine.start(this.name)
    return (await engine.inspect(this.name))?.address ?? ''
  }

  private async answers(address: string, zone: string): Promise<boolean> {
    const { client, clock, signal } = this.options
    const deadline = clock.now() + upWithinMs
    do {
      if (await client.answers(address, zone)) return true
      await clock.sleep(pollMs, signal)
    } while (clock.now() < deadline)
    return false
  }

  private get name(): string {
    return `ek-${this.options.instance}-canary`
  }
}

function corefile(resolver: string): string {
  return [
    `${zoneOfItsOwn}:53 {`,
    `  template IN SOA ${zoneOfItsOwn} {`,
    `    answer "{{ .Name }} 1 IN SOA ns.${zoneOfItsOwn}. hostmaster.${zoneOfItsOwn}. 1 60 60 60 1"`,
    '  }',
    '}',
    `${internalZone}:53 {`,
    `  forward . ${resolver}`,
    '}',
    '',
  ].join('\n')
}

/** One clear sentence when Evenkeel cannot work with this engine. */
export function refuseEngine({ product, rootless, version }: EngineInfo): string | null {
  const use = 'use the ordinary Docker engine of Linux, version 20.10 to 29, run by root'
  if (product === 'podman') return `Podman's networks cannot be managed: ${use}`
  if (product === 'docker-desktop') return `containers of Docker Desktop cannot be reached by their addresses: ${use}`
  if (rootless) return `containers of a rootless engine cannot be reached by their addresses: ${use}`
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return major < 20 || (major === 20 && minor < 10) ? `Docker ${version} is too old: ${use}` : null
}
