import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import Docker from 'dockerode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureImage } from '../../src/embedded/images/ensure-image.js'
import { COREDNS_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { removeOwned } from '../../src/embedded/owned-things.js'
import { freePort } from '../../src/embedded/ports.js'
import { PROJECT_ROOT } from '../../src/embedded/project-root.js'
import { label } from '../../src/reconcile/labels.js'
import { ensureTestImage, testAppImage } from '../setup/test-images.js'
import { findCompose } from '../../scripts/compose.mjs'
import { composeImages, COMPOSE_STAND_INS } from './stand-ins.js'

const run = promisify(execFile)
const docker = new Docker()
const project = `ekcompose${randomBytes(4).toString('hex')}`
const state = mkdtempSync(join(tmpdir(), 'evenkeel-compose-'))
const passwordFile = join(state, 'postgres-password')
const log = (line: string) => console.log(`compose: ${line}`)

let compose: string[]
let env: NodeJS.ProcessEnv
let api: string
let instance: string | undefined

beforeAll(async () => {
  compose = await findCompose()
  for (const image of Object.values(composeImages)) await ensureImage(docker, image, log, COMPOSE_STAND_INS)
  await ensureImage(docker, COREDNS_IMAGE, log)
  await ensureTestImage(docker, testAppImage('1'), log)
  writeFileSync(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o444 })
  const ports = await Promise.all(['API', 'TEMPORAL', 'TEMPORAL_UI', 'WORKER_METRICS', 'AGENT_METRICS'].map(async (name) => [`EVENKEEL_${name}_PORT`, String(await freePort())]))
  env = {
    ...process.env,
    ...Object.fromEntries(ports),
    EVENKEEL_IMAGE: 'evenkeel:compose-test',
    EVENKEEL_STATE: state,
    EVENKEEL_NODE_NAME: 'first',
    EVENKEEL_POSTGRES_PASSWORD_FILE: passwordFile,
    COMPOSE_PROJECT_NAME: project,
  }
  api = `http://127.0.0.1:${env['EVENKEEL_API_PORT']}`
  // The host's network, because a machine may reach its package registry by it alone.
  await command('docker', ['build', '--network', 'host', '--tag', 'evenkeel:compose-test', '.'])
  await command(compose[0] ?? '', [...compose.slice(1), 'up', '--detach', '--no-build'])
}, 1_200_000)

afterAll(async () => {
  if (env) await command(compose[0] ?? '', [...compose.slice(1), 'down', '--volumes', '--timeout', '20']).catch((error: unknown) => log(String(error)))
  if (instance) await removeOwned(docker, instance, true, () => {})
  rmSync(state, { recursive: true, force: true })
}, 120_000)

async function command(file: string, args: string[]): Promise<string> {
  const { stdout } = await run(file, args, { cwd: PROJECT_ROOT, env, maxBuffer: 64 * 1024 * 1024 }).catch((error: Error & { stdout?: string; stderr?: string }) => {
    throw new Error(`${file} ${args.join(' ')}: ${error.message}\n${error.stdout?.slice(-4_000)}\n${error.stderr?.slice(-4_000)}`)
  })
  return stdout
}

/** What every service printed, for the message of a failing wait. */
const lastWords = () => command(compose[0] ?? '', [...compose.slice(1), 'logs', '--tail', '20']).catch(String)

async function until<T>(what: string, seconds: number, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + seconds * 1_000
  let last = ''
  for (;;) {
    const found = await look().catch((error: unknown) => void (last = String(error)))
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s (${last})\n${await lastWords()}`)
    await sleep(250)
  }
}

async function ask<T>(query: string, variables: object = {}): Promise<T> {
  const token = readFileSync(join(state, 'secrets', 'owner-token'), 'utf8').trim()
  const response = await fetch(`${api}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: T; errors?: { message: string }[] }
  if (errors) throw new Error(errors.map((e) => e.message).join('; '))
  return data
}

interface Ready {
  status: string
  reason: string
  message: string
}
const readyOf = (conditions: (Ready & { type: string })[]) => conditions.find((c) => c.type === 'Ready')

describe('docker-compose.yml', () => {
  it('official images -> those that the stand-ins stand for', () => {
    const files = ['docker-compose.yml', 'Dockerfile'].map((name) => readFileSync(join(PROJECT_ROOT, name), 'utf8')).join('\n')
    for (const image of Object.values(composeImages)) expect(files).toContain(image)
  })

  it('started -> the API is ready and the node has joined', async () => {
    await until('the API', 120, async () => ((await fetch(`${api}/readyz`)).ok ? true : undefined))
    instance = readFileSync(join(state, 'instance'), 'utf8').trim()
    const node = await until('the node', 60, async () => {
      const { nodes } = await ask<{ nodes: { nodes: { name: string; conditions: (Ready & { type: string })[] }[] } }>(
        '{ nodes { nodes { name conditions { type status reason message } } } }',
      )
      const [first] = nodes.nodes
      return first && readyOf(first.conditions)?.status === 'True' ? first : undefined
    })
    expect(node.name).toBe('first')
  }, 200_000)

  it('an application -> runs, and leaves nothing when it is deleted', async () => {
    const { projectCreate } = await ask<{ projectCreate: { project: { id: string } } }>(
      'mutation { projectCreate(input: { name: "shop" }) { project { id } userErrors { message } } }',
    )
    const { applicationCreate } = await ask<{ applicationCreate: { application: { id: string } | null; userErrors: object[] } }>(
      'mutation ($input: ApplicationCreateInput!) { applicationCreate(input: $input) { application { id } userErrors { message } } }',
      { input: { projectId: projectCreate.project.id, name: 'web', image: testAppImage('1'), replicas: 2, ports: [8080], readiness: { path: '/healthz' } } },
    )
    expect(applicationCreate.userErrors).toEqual([])
    const id = applicationCreate.application?.id ?? ''
    const application = await until('the application', 60, async () => {
      const { application: found } = await ask<{ application: { conditions: (Ready & { type: string })[]; endpoints: { address: string }[] } }>(
        'query ($id: ID!) { application(id: $id) { conditions { type status reason message } endpoints { address } } }',
        { id },
      )
      return readyOf(found.conditions)?.status === 'True' ? found : undefined
    })
    expect(application.endpoints).toHaveLength(2)
    for (const { address } of application.endpoints) expect((await fetch(`http://${address}:8080/healthz`)).status).toBe(200)

    await ask('mutation ($id: ID!) { applicationDelete(id: $id) { userErrors { message } } }', { id })
    const filters = { label: [`${label.resource}=${id}`] }
    await until('the deletion', 60, async () => ((await docker.listContainers({ all: true, filters })).length === 0 ? true : undefined))
  }, 150_000)

  it('each process -> sees only its own keys, and none runs as root but the agent', async () => {
    const look = async (service: string, what: string) => {
      const [container] = await docker.listContainers({ filters: { label: [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`] } })
      return (await command('docker', ['exec', container?.Id ?? service, 'node', '-p', what])).trim()
    }
    const keys = `JSON.stringify(fs.readdirSync('/home/evenkeel/secrets'))`
    expect(await look('api', keys)).toBe('["master.key"]')
    expect(await look('worker', keys)).toBe('["signing-key.pem"]')
    expect(await Promise.all(['api', 'worker', 'agent'].map((service) => look(service, 'process.getuid()')))).toEqual(['10001', '10002', '0'])
    expect(await look('agent', `JSON.stringify(fs.readdirSync('${state}'))`)).toBe('["agent"]')
  })

  it('published ports -> on the loopback address only', async () => {
    const containers = await docker.listContainers({ filters: { label: [`com.docker.compose.project=${project}`] } })
    const public_ = containers.flatMap((c) => c.Ports).filter((port) => port.PublicPort && port.IP !== '127.0.0.1')
    expect(public_).toEqual([])
  })
})
