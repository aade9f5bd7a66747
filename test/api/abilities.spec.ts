import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSchema } from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { generateToken, hashToken } from '../../src/adapters/crypto/token.js'
import { abilities, abilityOf, type Ability } from '../../src/api/auth/ability.js'
import { SubscriptionGateway } from '../../src/api/graphql/subscription.gateway.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

type Root = 'Query' | 'Mutation' | 'Subscription'

/**
 * Every operation of the schema: the weakest ability that may, and one call of it, with arguments under which it may well
 * refuse: only the permission matters here. Said apart from the table of the API, so that a slip there is found.
 */
const lines: Record<Root, Record<string, [needed: Ability, call: string]>> = {
  Query: {
    viewer: ['read', 'viewer { name }'],
    project: ['read', 'project(id: "x") { id }'],
    projects: ['read', 'projects { nodes { id } }'],
    secrets: ['read', 'secrets(projectId: "x") { nodes { id } }'],
    registryCredentials: ['read', 'registryCredentials(projectId: "x") { nodes { id } }'],
    resource: ['read', 'resource(id: "x") { id }'],
    application: ['read', 'application(id: "x") { id }'],
    applications: ['read', 'applications { nodes { id } }'],
    applicationPlan: ['read', 'applicationPlan(id: "x") { plan { converges } }'],
    applicationReleaseDiff: ['read', 'applicationReleaseDiff(id: "x", from: 1, to: 2) { userErrors { code } }'],
    applicationLogTail: ['read', 'applicationLogTail(id: "x") { cursor }'],
    nginxdemo: ['read', 'nginxdemo(id: "x") { id }'],
    nginxdemos: ['read', 'nginxdemos { nodes { id } }'],
    ingress: ['read', 'ingress(id: "x") { id }'],
    ingresses: ['read', 'ingresses { nodes { id } }'],
    domains: ['read', 'domains { nodes { host } }'],
    node: ['read', 'node(id: "x") { id }'],
    nodes: ['read', 'nodes { nodes { id } }'],
    event: ['read', 'event(id: "1") { id }'],
    events: ['read', 'events { nodes { id } }'],
    lastResult: ['read', 'lastResult(id: "x") { pass }'],
    orphans: ['read', 'orphans { nodes { resourceId } }'],
    tokens: ['admin', 'tokens { nodes { id } }'],
    audit: ['admin', 'audit { nodes { id } }'],
  },
  Mutation: {
    projectCreate: ['write', 'projectCreate(input: { name: "-" }) { userErrors { code } }'],
    projectDelete: ['write', 'projectDelete(id: "x") { userErrors { code } }'],
    projectEnvSet: ['write', 'projectEnvSet(projectId: "x", env: []) { userErrors { code } }'],
    secretSet: ['write', 'secretSet(input: { projectId: "x", name: "-" }) { userErrors { code } }'],
    secretDelete: ['write', 'secretDelete(id: "x") { userErrors { code } }'],
    secretVersionDelete: ['write', 'secretVersionDelete(id: "x", version: 1) { userErrors { code } }'],
    registryCredentialSet: [
      'write',
      'registryCredentialSet(input: { projectId: "x", name: "-", host: "", username: "", password: "" }) { userErrors { code } }',
    ],
    registryCredentialDelete: ['write', 'registryCredentialDelete(id: "x") { userErrors { code } }'],
    applicationCreate: ['write', 'applicationCreate(input: { projectId: "x", name: "-", image: "-" }) { userErrors { code } }'],
    applicationUpdate: ['deploy', 'applicationUpdate(id: "x", input: { image: "y" }) { userErrors { code } }'],
    applicationDelete: ['write', 'applicationDelete(id: "x") { userErrors { code } }'],
    applicationRestart: ['deploy', 'applicationRestart(id: "x") { userErrors { code } }'],
    applicationRedeploy: ['deploy', 'applicationRedeploy(id: "x") { userErrors { code } }'],
    applicationScale: ['deploy', 'applicationScale(id: "x", replicas: 1) { userErrors { code } }'],
    applicationSuspend: ['deploy', 'applicationSuspend(id: "x") { userErrors { code } }'],
    applicationResume: ['deploy', 'applicationResume(id: "x") { userErrors { code } }'],
    applicationRollback: ['deploy', 'applicationRollback(id: "x", toRelease: 1) { userErrors { code } }'],
    applicationClone: ['write', 'applicationClone(id: "x", name: "y") { userErrors { code } }'],
    applicationExec: ['admin', 'applicationExec(id: "x", command: ["y"]) { userErrors { code } }'],
    nginxdemoCreate: ['write', 'nginxdemoCreate(input: { projectId: "x", name: "-", hostPort: 0 }) { userErrors { code } }'],
    nginxdemoUpdate: ['write', 'nginxdemoUpdate(id: "x", input: { hostPort: 0 }) { userErrors { code } }'],
    nginxdemoDelete: ['write', 'nginxdemoDelete(id: "x") { userErrors { code } }'],
    ingressCreate: ['admin', 'ingressCreate(input: { projectId: "x", name: "-" }) { userErrors { code } }'],
    ingressUpdate: ['admin', 'ingressUpdate(id: "x", input: {}) { userErrors { code } }'],
    ingressDelete: ['admin', 'ingressDelete(id: "x") { userErrors { code } }'],
    resourcePause: ['deploy', 'resourcePause(id: "x") { userErrors { code } }'],
    resourceResume: ['deploy', 'resourceResume(id: "x") { userErrors { code } }'],
    restoreConfirm: ['admin', 'restoreConfirm { resources userErrors { code } }'],
    resyncAll: ['deploy', 'resyncAll { resources userErrors { code } }'],
    actionCancel: ['deploy', 'actionCancel(id: "x", key: "y") { userErrors { code } }'],
    tokenCreate: ['write', 'tokenCreate(input: { name: "", abilities: [] }) { userErrors { code } }'],
    tokenRevoke: ['admin', 'tokenRevoke(id: "x") { userErrors { code } }'],
    orphanAdopt: [
      'admin',
      'orphanAdopt(orphan: { nodeId: "x", resourceId: "y" }, input: { projectId: "x", name: "z" }) { userErrors { code } }',
    ],
    orphanRemove: ['admin', 'orphanRemove(orphan: { nodeId: "x", resourceId: "y" }) { userErrors { code } }'],
  },
  Subscription: {
    resourceChanged: ['read', 'resourceChanged(ids: []) { id }'],
    applicationLogs: ['read', 'applicationLogs(id: "x") { __typename }'],
    events: ['read', 'events { id }'],
  },
}

const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'))
const operations = (['Query', 'Mutation', 'Subscription'] as const).flatMap((root) =>
  Object.keys(schema.getRootType(root.toLowerCase() as never)?.getFields() ?? {}).map((field) => ({ root, field })),
)
const holders = ['none', ...abilities] as const
type Holder = (typeof holders)[number]

let api: ApiUnderTest
const tokens = {} as Record<Holder, string>

beforeAll(async () => {
  api = await startApi()
  for (const held of holders) {
    tokens[held] = generateToken('evk')
    const data = { id: `tok_${held}`, name: held, tokenHash: hashToken(tokens[held]), abilities: held === 'none' ? [] : [held] }
    await api.db.apiToken.create({ data: { ...data, createdBy: 'test' } })
  }
})
afterAll(() => api?.stop())

const codesOf = (errors: readonly { extensions?: Record<string, unknown> }[]) => errors.map((e) => e.extensions?.['code'])

async function asked(root: Root, call: string, token: string): Promise<unknown[]> {
  if (root !== 'Subscription') return codesOf((await api.graphql(`${root.toLowerCase()} { ${call} }`, {}, token)).errors)
  return subscribed(`subscription { ${call} }`, token)
}

/** Codes of the errors that a subscription begins with; none when it follows, or ended well. */
async function subscribed(query: string, token: string): Promise<unknown[]> {
  const client = createClient({
    url: `${api.url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { authorization: `Bearer ${token}` },
  })
  const opened = () => api.app.get(SubscriptionGateway).openedSubscriptions
  const before = opened()
  let codes: unknown[] | null = null
  try {
    client.subscribe(
      { query },
      {
        next: (result) => (codes ??= codesOf(result.errors ?? [])),
        error: (error) => (codes ??= Array.isArray(error) ? codesOf(error) : [error]),
        complete: () => (codes ??= []),
      },
    )
    await expect.poll(() => codes !== null || opened() > before).toBe(true)
    return codes ?? []
  } finally {
    await client.dispose()
  }
}

describe('every operation of the schema', () => {
  it.each(operations)('$root $field -> has a line here, and the API needs what the line says', ({ root, field }) => {
    expect(lines[root][field], `add a line for ${root}.${field}`).toBeDefined()
    expect(abilityOf[root][field]).toBe(lines[root][field]?.[0])
  })

  it('lines -> name nothing that is not there', () => {
    const named = (['Query', 'Mutation', 'Subscription'] as const).flatMap((root) =>
      Object.keys(lines[root]).map((field) => ({ root, field })),
    )
    expect(named).toHaveLength(operations.length)
  })

  const matrix = operations.flatMap(({ root, field }) => holders.map((held) => ({ root, field, held })))

  it.each(matrix)('$root $field with $held -> exactly when it is enough', async ({ root, field, held }) => {
    const [needed, call] = lines[root][field] ?? ['admin', '']
    const codes = await asked(root, call, tokens[held])
    const enough = held !== 'none' && abilities.indexOf(held) >= abilities.indexOf(needed)
    expect(codes.includes('FORBIDDEN')).toBe(!enough)
    expect(codes).not.toContain('GRAPHQL_VALIDATION_FAILED')
    expect(codes).not.toContain('INTERNAL_SERVER_ERROR')
  })

  it.each(operations.filter((o) => o.root !== 'Subscription'))(
    '$root $field without a token -> UNAUTHENTICATED',
    async ({ root, field }) => {
      const { status, errors } = await api.graphql(`${root.toLowerCase()} { ${lines[root][field]?.[1]} }`, {}, null)
      expect([401, 429]).toContain(status) // whoever asks so often is told to wait
      expect(['UNAUTHENTICATED', 'RATE_LIMITED']).toContain(errors[0]?.extensions['code'])
    },
  )

  it('subscription without a token -> the connection is closed', async () => {
    expect(await subscribed('subscription { events { id } }', 'none')).toMatchObject([{ code: 4403 }])
  })
})
