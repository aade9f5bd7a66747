import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateToken, hashToken } from '../src/adapters/crypto/token.js'
import { agentConfigSchema } from '../src/agent/config.js'
import { openDatabase, type Database } from '../src/persistence/database.js'
import { newResourceId } from '../src/persistence/id.js'
import { platformProject } from '../src/persistence/project.repository.js'
import { homePaths } from '../src/settings.js'
import type { Platform } from './platform.js'

/** A simulated node that has joined by the same records as any other, and its agent's process. */
export interface SimulatedNode {
  id: string
  name: string
  pid: number
  /** Engine calls since its start. */
  calls(): Promise<number>
  /** Ends the process and removes the records. */
  leave(): Promise<void>
}

export async function joinSimulatedNode(platform: Platform): Promise<SimulatedNode> {
  const db = openDatabase(databaseUrl(platform), 2)
  const id = newResourceId('node')
  const name = `bench-${id.slice(-8)}`
  const channelToken = generateToken('evn')
  await db.resource.create({
    data: {
      id,
      kind: 'node',
      projectId: platformProject.id,
      name,
      spec: {},
      observedGeneration: 1,
      nodeStatus: { create: { channelTokenHash: hashToken(channelToken) } },
    },
  })
  const local = agentConfigSchema.parse(JSON.parse(readFileSync(homePaths(platform.settings.home).agentConfig, 'utf8')))
  const config = join(mkdtempSync(join(tmpdir(), 'evenkeel-bench-')), 'config.json')
  writeFileSync(config, JSON.stringify({ ...local, node: id, channelToken }), { mode: 0o600 })
  const child = fork(fileURLToPath(new URL('simulated-node.main.js', import.meta.url)), [config])
  await answer(child)
  return {
    id,
    name,
    pid: child.pid ?? 0,
    calls: async () => {
      child.send('count')
      return ((await answer(child)) as { calls: number }).calls
    },
    leave: () => leave(db, id, child),
  }
}

async function leave(db: Database, id: string, child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  await db.releasedAddress.deleteMany({ where: { node: id } })
  await db.resource.delete({ where: { id } })
  await db.$disconnect()
}

function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (code: number | null) => reject(new Error(`the simulated node ended with code ${code}`))
    child.once('exit', failed)
    child.once('message', (message) => {
      child.off('exit', failed)
      resolve(message)
    })
  })
}

/** The embedded PostgreSQL's, unless another one is set. */
function databaseUrl({ settings }: Platform): string {
  if (settings.databaseUrl) return settings.databaseUrl
  const password = readFileSync(join(settings.home, 'postgres', 'password'), 'utf8').trim()
  return `postgresql://evenkeel:${encodeURIComponent(password)}@127.0.0.1:${settings.postgresPort}/evenkeel`
}
