import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import Docker from 'dockerode'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { label } from '../src/reconcile/labels.js'
import { homePaths, readSettings, type Settings } from '../src/settings.js'

/** The running `npm run up` that is measured: its API as any client sees it, and its engine as anybody can use it. */
export class Platform {
  readonly docker = new Docker()
  private readonly token: string
  readonly instance: string
  private readonly projects: string[] = []
  private temporal: Client | undefined

  constructor(readonly settings: Settings = readSettings()) {
    const paths = homePaths(settings.home)
    this.token = readFileSync(paths.ownerToken, 'utf8').trim()
    this.instance = readFileSync(paths.instance, 'utf8').trim()
  }

  async query<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.settings.apiPort}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.token}` },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await response.json()) as { data?: T; errors?: { message: string }[] }
    if (errors || !data) throw new Error(`the API answered ${response.status}: ${errors?.map((e) => e.message).join('; ')}`)
    return data
  }

  /** What a subscription tells, until it ends or its reader does. */
  subscribe<T>(query: string): AsyncIterableIterator<T> {
    const client = createClient({
      url: `ws://127.0.0.1:${this.settings.apiPort}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${this.token}` },
    })
    const results = client.iterate<T>({ query })
    return {
      async next() {
        const { done, value } = await results.next()
        if (done) return { done: true, value: undefined }
        if (value.errors || !value.data) throw new Error(value.errors?.map((e) => e.message).join('; '))
        return { done: false, value: value.data }
      },
      async return() {
        await client.dispose()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** A project of the bench's own; removed with everything in it by `cleanUp`. */
  async createProject(): Promise<string> {
    const name = `bench-${Date.now().toString(36)}`
    const { projectCreate } = await this.query<{ projectCreate: { project: { id: string } } }>(
      'mutation($name: String!) { projectCreate(input: {name: $name}) { project { id } userErrors { message } } }',
      { name },
    )
    this.projects.push(projectCreate.project.id)
    return projectCreate.project.id
  }

  async createApplication(projectId: string, name: string, input: Record<string, unknown>): Promise<string> {
    const { applicationCreate } = await this.query<{
      applicationCreate: { application: { id: string } | null; userErrors: { field: string[]; message: string }[] }
    }>(
      'mutation($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { field message } } }',
      { input: { projectId, name, ...input } },
    )
    if (!applicationCreate.application) throw new Error(JSON.stringify(applicationCreate.userErrors))
    return applicationCreate.application.id
  }

  async updateApplication(id: string, input: Record<string, unknown>): Promise<void> {
    const { applicationUpdate } = await this.query<{ applicationUpdate: { userErrors: { field: string[]; message: string }[] } }>(
      'mutation($id: ID!, $input: ApplicationUpdateInput!) { applicationUpdate(id: $id, input: $input) { userErrors { field message } } }',
      { id, input },
    )
    if (applicationUpdate.userErrors.length > 0) throw new Error(JSON.stringify(applicationUpdate.userErrors))
  }

  /** Returns when each of them is Ready for what is desired of it now. */
  async whenReady(ids: string[]): Promise<void> {
    const query = `query($id: ID!) { application(id: $id) { generation conditions { type status observedGeneration } } }`
    for (const id of ids) {
      for (;;) {
        const { application } = await this.query<{
          application: { generation: number; conditions: { type: string; status: string; observedGeneration: number }[] }
        }>(query, { id })
        const ready = application.conditions.find((c) => c.type === 'Ready')
        if (ready?.status === 'True' && ready.observedGeneration === application.generation) break
        await sleep(50)
      }
    }
  }

  /** Where the machine's ingress takes requests without TLS. */
  async ingressPort(): Promise<number> {
    const { ingresses } = await this.query<{ ingresses: { nodes: { spec: { httpPort: number | null } }[] } }>(
      '{ ingresses { nodes { spec { httpPort } } } }',
    )
    return ingresses.nodes[0]?.spec.httpPort ?? 80
  }

  async deleteApplication(id: string): Promise<void> {
    await this.query('mutation($id: ID!) { applicationDelete(id: $id) { userErrors { message } } }', { id })
  }

  /** The project's applications, and which of them are Ready for their current generation. */
  async applications(projectId: string): Promise<{ id: string; ready: boolean }[]> {
    const nodes = await this.all<{
      id: string
      generation: number
      conditions: { type: string; status: string; observedGeneration: number }[]
    }>(projectId, 'id generation conditions { type status observedGeneration }')
    return nodes.map(({ id, generation, conditions }) => ({
      id,
      ready: conditions.some((c) => c.type === 'Ready' && c.status === 'True' && c.observedGeneration === generation),
    }))
  }

  /** Whether every application of the project was looked at as it is desired now. */
  async settled(projectId: string): Promise<boolean> {
    const nodes = await this.all<{ generation: number; observedGeneration: number }>(projectId, 'generation observedGeneration')
    return nodes.every((n) => n.generation === n.observedGeneration)
  }

  /** How many passes each of the project's applications has had. */
  async passes(projectId: string): Promise<{ workflowId: string; passes: number }[]> {
    const nodes = await this.all<{ lastPass: { number: number } | null; reconciler: { workflowId: string } }>(
      projectId,
      'lastPass { number } reconciler { workflowId }',
    )
    return nodes.map((n) => ({ workflowId: n.reconciler.workflowId, passes: n.lastPass?.number ?? 0 }))
  }

  /** Events in the history of the workflow's newest run. */
  async historyLength(workflowId: string): Promise<number> {
    this.temporal ??= new Client({
      connection: Connection.lazy({ address: this.settings.temporalAddress }),
      namespace: this.settings.temporalNamespace,
    })
    return (await this.temporal.workflow.getHandle(workflowId).describe()).historyLength
  }

  private async all<T>(projectId: string, fields: string): Promise<T[]> {
    interface Page {
      applications: { nodes: T[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
    }
    const found: T[] = []
    let after: string | null = null
    do {
      const { applications }: Page = await this.query(
        `query($projectId: ID!, $after: String) { applications(projectId: $projectId, first: 100, after: $after) {
           nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`,
        { projectId, after },
      )
      found.push(...applications.nodes)
      after = applications.pageInfo.hasNextPage ? applications.pageInfo.endCursor : null
    } while (after !== null)
    return found
  }

  /** The id of a running container of the resource, other than `not`. Asks the engine every 3 ms: what is measured is when it runs. */
  async runningContainer(resourceId: string, not?: string): Promise<string> {
    const filters = { label: [`${label.resource}=${resourceId}`], status: ['running'] }
    for (;;) {
      const containers = await this.docker.listContainers({ filters })
      const found = containers.find((c) => c.Id !== not)
      if (found) return found.Id
      await sleep(3)
    }
  }

  /** Creates and starts a container in the node's network by the bare Engine API. */
  async startRaw(image: string): Promise<Docker.Container> {
    const container = await this.docker.createContainer({
      Image: image,
      HostConfig: {
        NetworkMode: `evenkeel-${this.instance}`,
        LogConfig: { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } },
      },
    })
    await container.start()
    return container
  }

  /** Deletes the bench's projects and waits until nothing of them is left. */
  async cleanUp(): Promise<void> {
    for (const projectId of this.projects.splice(0)) {
      for (const { id } of await this.applications(projectId)) await this.deleteApplication(id)
      for (let left = 1; left > 0; await sleep(Math.max(200, left * 5))) left = (await this.applications(projectId)).length
      await this.query('mutation($id: ID!) { projectDelete(id: $id) { userErrors { message } } }', { id: projectId })
    }
  }
}
