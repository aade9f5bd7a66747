import { readFile } from 'node:fs/promises'
import { Resolver } from 'node:dns/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { slotFileName, slotsPerTarget } from '../../src/reconcile/ingress/slots.js'
import { askSafely } from '../ingress/client.js'
import { until, type LiveInstance, type OwnContainer } from './live-instance.js'
import { Load } from './load.js'

export interface Wanted {
  name: string
  image: string
  replicas?: number
  command?: string[]
  env?: { name: string; value: string }[]
  ports?: number[]
  readiness?: object
  startupBudgetSeconds?: number
  stopGraceSeconds?: number
  drainSeconds?: number
  domains?: object[]
}

export interface Told {
  id: string
  generation: number
  observedGeneration: number
  paused: boolean
  pausedReason: string | null
  conditions: { type: string; status: string; reason: string; message: string }[]
  servingRelease: { number: number } | null
  endpoints: { release: number; replica: number; address: string; state: string }[]
}

const fields = `id generation observedGeneration paused pausedReason conditions { type status reason message }
  servingRelease { number } endpoints { release replica address state }`

/** An application of a live instance, as a person sees it by GraphQL and as it really is on the engine. */
export class LiveApplication {
  private constructor(
    readonly instance: LiveInstance,
    readonly id: string,
    readonly hostname: string,
  ) {}

  static async create(instance: LiveInstance, project: { id: string; name: string }, wanted: Wanted): Promise<LiveApplication> {
    const { applicationCreate } = await instance.graphql<{ applicationCreate: { application: { id: string } | null; userErrors: object[] } }>(
      'mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { field message } } }',
      { input: { projectId: project.id, ports: [8080], readiness: { path: '/healthz', intervalSeconds: 0.5 }, ...wanted } },
    )
    if (!applicationCreate.application) throw new Error(JSON.stringify(applicationCreate.userErrors))
    return new LiveApplication(instance, applicationCreate.application.id, `${wanted.name}.${project.name}.internal`)
  }

  /** The same application, asked at another state directory. */
  at(instance: LiveInstance): LiveApplication {
    return new LiveApplication(instance, this.id, this.hostname)
  }

  async change(input: object): Promise<void> {
    const { applicationUpdate } = await this.instance.graphql<{ applicationUpdate: { userErrors: object[] } }>(
      'mutation ($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { userErrors { field message } } }',
      { id: this.id, input },
    )
    if (applicationUpdate.userErrors.length > 0) throw new Error(JSON.stringify(applicationUpdate.userErrors))
  }

  async delete(): Promise<void> {
    await this.instance.graphql('mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { message } } }', { id: this.id })
  }

  async told(): Promise<Told | null> {
    const { application } = await this.instance.graphql<{ application: Told | null }>(`query ($id: ID!) { application(id: $id) { ${fields} } }`, {
      id: this.id,
    })
    return application
  }

  containers(): Promise<OwnContainer[]> {
    return this.instance.containers({ resource: this.id })
  }

  /** Waits until its Ready condition says this; what was told last is part of the error. */
  async untilReady(wanted: { status: string; reason?: string }, timeoutMs = 60_000): Promise<Told> {
    let last: Told | null | Error = null
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(100)) {
      last = await this.told().catch((error: Error) => error)
      if (!last || last instanceof Error || last.observedGeneration !== last.generation) continue
      const ready = last.conditions.find((c) => c.type === 'Ready')
      if (ready?.status === wanted.status && (wanted.reason === undefined || ready.reason === wanted.reason)) return last
    }
    throw new Error(`${this.hostname} is not Ready=${wanted.status} ${wanted.reason ?? ''}: ${last instanceof Error ? last.message : JSON.stringify(last)}`)
  }

  /** Waits until it is Ready with the release and nothing is left of any other; the differences are the error. */
  async untilSettled(wanted: { release: number; replicas: number }, timeoutMs = 90_000): Promise<number> {
    const began = Date.now()
    let wrong: string[] = []
    for (; Date.now() - began < timeoutMs; await sleep(200)) {
      wrong = await this.differences(wanted).catch((error: Error) => [error.message])
      if (wrong.length === 0) return Date.now() - began
    }
    throw new Error(`${this.hostname} has not settled within ${timeoutMs / 1_000} s: ${wrong.join('; ')}; ${JSON.stringify(await this.told().catch(String))}`)
  }

  /** What is not as it is told to be; empty when all is well. */
  async differences({ release, replicas }: { release: number; replicas: number }): Promise<string[]> {
    const told = await this.told()
    if (!told) return ['it does not exist']
    const wrong: string[] = []
    const ready = told.conditions.find((c) => c.type === 'Ready')
    if (told.observedGeneration !== told.generation) wrong.push('a change is on its way')
    if (ready?.status !== 'True') wrong.push(`Ready is ${ready?.status} (${ready?.reason}: ${ready?.message})`)
    if (told.servingRelease?.number !== release) wrong.push(`release ${told.servingRelease?.number} serves`)

    const endpoints = told.endpoints.map((e) => `${e.release}/${e.replica} ${e.address} ${e.state}`).sort()
    const wantedEndpoints = Array.from({ length: replicas }, (_, replica) => {
      const address = told.endpoints.find((e) => e.release === release && e.replica === replica)?.address
      return `${release}/${replica} ${address} ready`
    })
    if (endpoints.join() !== wantedEndpoints.join()) wrong.push(`endpoints are ${endpoints.join(', ')}`)

    const containers = (await this.containers()).map((c) => `${c.release}/${c.replica} ${c.address} ${c.state}`).sort()
    const running = wantedEndpoints.map((e) => e.replace('ready', 'running'))
    if (containers.join() !== running.join()) wrong.push(`containers are ${containers.join(', ')}`)

    const addresses = told.endpoints.map((e) => e.address).sort()
    const named = await this.resolve()
    if (named.join() !== addresses.join()) wrong.push(`the name answers ${named.join(', ') || 'nothing'}`)
    const dialled = await this.dialled()
    if (dialled.join() !== addresses.map((a) => `${a}:8080`).join()) wrong.push(`ingress dials ${dialled.join(', ') || 'nothing'}`)
    return wrong
  }

  /** Addresses that the node's resolver answers. */
  async resolve(): Promise<string[]> {
    const subnet = (await readFile(join(this.instance.home, 'agent', 'subnet'), 'utf8')).trim()
    const resolver = new Resolver({ timeout: 1_000, tries: 5 })
    resolver.setServers([subnet.replace(/\.0\/\d+$/, '.1')])
    return (await resolver.resolve4(this.hostname).catch(() => [])).sort()
  }

  /** Gives it a domain of its own, and returns when the ingress serves it: what `load` asks for. */
  async serve(): Promise<void> {
    await this.change({ domains: [{ host: this.domain, tls: 'OFF' }] })
    await until(`an answer for ${this.domain}`, async () => (await askSafely({ port: this.instance.ports.HTTP, host: this.domain }))?.status === 200)
  }

  /** Requests for its domain, through the ingress. */
  load(): Load {
    return new Load(this.instance.ingressUrl, this.domain)
  }

  private get domain(): string {
    return this.hostname.replace(/internal$/, 'test')
  }

  /** Where the slots of ingress point. */
  async dialled(): Promise<string[]> {
    const slots = await Promise.all(
      Array.from({ length: slotsPerTarget }, (_, slot) =>
        readFile(join(this.instance.home, 'agent', 'endpoints', slotFileName(this.id, slot)), 'utf8').catch(() => 'nothing'),
      ),
    )
    return [...new Set(slots)].sort()
  }
}

export async function createProject(instance: LiveInstance, name: string): Promise<{ id: string; name: string }> {
  const { projectCreate } = await instance.graphql<{ projectCreate: { project: { id: string; name: string } } }>(
    'mutation ($name: String!) { projectCreate(input: { name: $name }) { project { id name } } }',
    { name },
  )
  return projectCreate.project
}
