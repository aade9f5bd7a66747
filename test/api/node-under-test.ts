import Docker from 'dockerode'
import { DockerodeEngine } from '../../src/adapters/docker/dockerode-engine.js'
import { Channel } from '../../src/agent/channel.js'
import { readAgentConfig } from '../../src/agent/config.js'
import { serveExec } from '../../src/agent/exec-calls.js'
import { serveLogs } from '../../src/agent/log-calls.js'
import { serveCalls } from '../../src/agent/serve-calls.js'
import { heartbeat, hello } from '../../src/agent/testing/frames.js'
import { noLog } from '../../src/agent/testing/no-log.js'
import { AgentsGateway } from '../../src/api/agents/agents.gateway.js'
import { BUSYBOX_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { containerName, label } from '../../src/reconcile/labels.js'
import { until } from '../agent/agent-world.js'
import type { ApiUnderTest } from './api-under-test.js'

/** The local node's channel and what is served over it, on the real engine; without watchers, resolver and Temporal. */
export class NodeUnderTest {
  readonly docker = new Docker()
  readonly id: string
  readonly instance: string
  private stopped: AbortController | null = null

  constructor(private readonly api: ApiUnderTest) {
    this.id = api.initialised.node.id
    this.instance = api.initialised.instance
  }

  async connect(): Promise<void> {
    const engine = new DockerodeEngine()
    this.stopped = new AbortController()
    const channel = new Channel({
      apiUrl: this.api.url,
      token: readAgentConfig(this.api.initialised.agentConfigFile).channelToken,
      log: noLog,
      hello: async () => hello(),
      heartbeat: async () => heartbeat(),
      onWelcome: () => undefined,
      onHeartbeatAnswer: () => undefined,
      serve: serveCalls({ logs: serveLogs(this.instance, engine), exec: serveExec(this.instance, engine, noLog) }),
    })
    void channel.run(this.stopped.signal)
    await until(() => this.api.app.get(AgentsGateway).reaches(this.id))
  }

  async disconnect(): Promise<void> {
    this.stopped?.abort()
    await until(() => !this.api.app.get(AgentsGateway).reaches(this.id))
  }

  /** A replica as passes leave it behind: its endpoint, and its container that runs a shell's script. */
  async replica(
    resource: string,
    release: number,
    replica: number,
    script: string,
    more: object = {},
  ): Promise<Docker.Container> {
    const container = await this.docker.createContainer({
      name: containerName(this.instance, resource, release, replica),
      Image: BUSYBOX_IMAGE,
      Cmd: ['sh', '-c', script],
      Labels: { [label.instance]: this.instance, [label.resource]: resource },
      HostConfig: { LogConfig: { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } }, NetworkMode: 'none' },
      ...more,
    })
    const address = `10.255.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`
    await this.api.db.endpoint.create({
      data: {
        resourceId: resource,
        release,
        replica,
        node: this.id,
        address,
        state: 'ready',
        stateAt: new Date(),
        createdAt: new Date(),
        readyAt: new Date(),
      },
    })
    await this.announce(resource)
    await container.start()
    return container
  }

  /** As passes do it: first the container, then its endpoint. */
  async remove(container: Docker.Container, resource: string, release: number, replica: number): Promise<void> {
    await container.remove({ force: true, v: true })
    await this.api.db.endpoint.delete({ where: { resourceId_release_replica: { resourceId: resource, release, replica } } })
    await this.announce(resource)
  }

  async close(): Promise<void> {
    this.stopped?.abort()
    const mine = await this.docker.listContainers({ all: true, filters: { label: [`${label.instance}=${this.instance}`] } })
    await Promise.all(
      mine.map((c) =>
        this.docker
          .getContainer(c.Id)
          .remove({ force: true, v: true })
          .catch(() => undefined),
      ),
    )
  }

  private async announce(resource: string): Promise<void> {
    await this.api.db.$executeRaw`SELECT pg_notify('evenkeel_changes', ${resource})`
  }
}
