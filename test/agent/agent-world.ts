import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type Docker from 'dockerode'
import { generateSigningKey, signingKeyOf, signPayload, type SignedPayload } from '../../src/adapters/crypto/signing.js'
import { Agent } from '../../src/agent/agent.js'
import { noLog } from '../../src/agent/testing/no-log.js'
import { containerSpecSchema, type ArgsGiven, type ContainerSpec, type ResultOf, type Verb } from '../../src/reconcile/action.js'
import { containerName, label } from '../../src/reconcile/labels.js'
import type { NodeObservation, Observation } from '../../src/reconcile/observed.js'
import { openDockerWorld, testApp, type DockerWorld } from './docker-world.js'

const { privatePem, pinned } = generateSigningKey()
const key = signingKeyOf(privatePem)
const never = new AbortController().signal

export const node = 'node_test'
export const kind = 'application'

/** An agent on the real engine, without API and without Temporal: the test signs what the control plane would. */
export interface AgentWorld extends DockerWorld {
  stateDir: string
  agent: Agent
  /** All nudges that the agent has told, with the time of each. */
  nudges: { resource: string; why: string; at: number }[]
  spec(resource: string, change?: Partial<ContainerSpec>): ContainerSpec
  act<V extends Verb>(verb: V, args: ArgsGiven<V>, change?: Partial<SignedPayload>, signal?: AbortSignal): Promise<ResultOf[V]>
  ensure(spec: ContainerSpec, awaitReadyMs?: number): Promise<ResultOf['ensureContainer']>
  retire(spec: ContainerSpec, graceSeconds?: number): Promise<ResultOf['retireContainer']>
  observe(resource: string, change?: { images?: string[]; connectionsTo?: string[]; volumes?: true }): Promise<NodeObservation>
  /** Resolves when the agent has its channel to the API. */
  connected(): Promise<unknown>
  /** All that the actions of this world have made. */
  removeContainers(): Promise<void>
  /** A second process with the same state, as after a crash of the first. */
  restartAgent(): Promise<void>
  close(): Promise<void>
}

export interface AgentWorldOptions {
  /** An engine of its own, instead of the machine's. */
  own?: { docker: Docker; socket: string }
  /** Where the API answers; absent = there is none. */
  apiUrl?: string
}

export async function openAgentWorld(options: AgentWorldOptions = {}): Promise<AgentWorld> {
  const { own, apiUrl = 'http://127.0.0.1:1' } = options
  const docker = await openDockerWorld(own?.docker)
  const stateDir = mkdtempSync(join(tmpdir(), 'agent-'))
  mkdirSync(stateDir, { recursive: true })
  writeFileSync(join(stateDir, 'subnet'), docker.subnet)
  const nudges: AgentWorld['nudges'] = []
  let pass = 0
  let agent = start()

  function start(): Agent {
    const config = {
      instance: docker.instance,
      node,
      apiUrl,
      channelToken: 'none',
      pinnedKeys: [pinned],
      temporal: { address: '', namespace: '' },
      stateDir,
      dockerSocket: own?.socket ?? null,
    }
    const made = new Agent(config, noLog)
    made.onNudges = (resources, why) => nudges.push(...resources.map(({ resource }) => ({ resource, why, at: Date.now() })))
    made.start()
    return made
  }

  const world: AgentWorld = {
    ...docker,
    stateDir,
    nudges,
    get agent() {
      return agent
    },
    spec: (resource, change = {}) =>
      containerSpecSchema.parse({
        name: containerName(docker.instance, resource, 1, 0),
        image: testApp,
        labels: {
          [label.instance]: docker.instance,
          [label.kind]: kind,
          [label.resource]: resource,
          [label.release]: '1',
          [label.replica]: '0',
          [label.specHash]: 'hash',
          [label.probe]: JSON.stringify({
            kind: 'http',
            port: 8080,
            path: '/healthz',
            intervalMs: 1_000,
            timeoutMs: 1_000,
            failureThreshold: 2,
          }),
        },
        env: [],
        address: null,
        restartPolicy: 'no',
        stopGraceSeconds: 5,
        ...change,
      }),
    act: (verb, args, change = {}, signal = never) =>
      agent.act(
        signPayload(
          {
            instance: docker.instance,
            node,
            kind,
            resource: 'app_a',
            key: verb,
            generation: 1,
            pass: ++pass,
            verb,
            args,
            container: null,
            signedAt: Date.now(),
            notAfter: Date.now() + 90_000,
            ...change,
          },
          key,
        ),
        signal,
      ) as Promise<ResultOf[typeof verb]>,
    ensure: (container, awaitReadyMs = 20_000) =>
      world.act(
        'ensureContainer',
        { container, awaitReadyMs },
        { resource: container.labels[label.resource] ?? '', container: container.name, key: `ensure ${container.name}` },
      ),
    retire: ({ name, labels }, graceSeconds = 5) =>
      world.act(
        'retireContainer',
        { name, graceSeconds },
        { resource: labels[label.resource] ?? '', container: name, key: `retire ${name}` },
      ),
    observe: async (resource, { images = [], connectionsTo = [], ...more } = {}) =>
      readable(await agent.observe({ node, kind, resource, images, connectionsTo, ...more })),
    connected: () => until(() => agent.connected),
    async removeContainers() {
      const filters = { label: [`${label.instance}=${docker.instance}`, `${label.kind}=${kind}`] }
      const mine = await docker.docker.listContainers({ all: true, filters })
      await Promise.all(
        mine.map(({ Id }) =>
          docker.docker
            .getContainer(Id)
            .remove({ force: true })
            .catch(() => undefined),
        ),
      )
    },
    async restartAgent() {
      await agent.stop()
      agent = start()
    },
    async close() {
      await agent.stop()
      await docker.clear()
      rmSync(stateDir, { recursive: true, force: true })
    },
  }
  return world
}

export function readable(observation: Observation): NodeObservation {
  if (observation.unreachable !== null) throw new Error(observation.message)
  return observation
}

/** Waits until `holds`, and tells how long that took. */
export async function until(holds: () => boolean | Promise<boolean>, mostMs = 10_000): Promise<number> {
  const began = Date.now()
  while (!(await holds())) {
    if (Date.now() - began > mostMs) throw new Error(`it did not come about within ${mostMs} ms`)
    await sleep(10)
  }
  return Date.now() - began
}
