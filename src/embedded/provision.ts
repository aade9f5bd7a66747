import { readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { Keyring } from '../adapters/crypto/keyring.js'
import { generateSigningKey, pinnedKeyOf } from '../adapters/crypto/signing.js'
import { generateToken, hashToken } from '../adapters/crypto/token.js'
import { agentConfigSchema, type AgentConfig } from '../agent/config.js'
import { openDatabase, type Database } from '../persistence/database.js'
import { newResourceId } from '../persistence/id.js'
import { platformProject, ProjectRepository } from '../persistence/project.repository.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import { homePaths, type Settings } from '../settings.js'
import type { Home } from './home.js'
import { localAddress } from './parts.js'
import { writeSecretOnce } from './secret-file.js'

/** Who the set-up is in audit entries and revisions. */
const ACTOR = 'up'

export interface Provisioned {
  /** Resource id of this machine's node. */
  readonly nodeId: string
}

/**
 * Makes the keys and records that the processes expect: signing key, master key, the owner's token, and the local
 * node, which joins by the same records as any other. Repeatable; what exists is kept.
 */
export async function provision(settings: Settings, home: Home, databaseUrl: string): Promise<Provisioned> {
  const paths = homePaths(home.path)
  const db = openDatabase(databaseUrl, 2)
  try {
    await ensureMasterKey(db, paths.masterKey)
    const signingKey = await writeSecretOnce(paths.signingKey, () => generateSigningKey().privatePem)
    await writeSecretOnce(paths.ownerToken, () => `${generateToken('evk')}\n`)
    await new ProjectRepository(db).ensurePlatform()
    const agent = await writeAgentConfig(settings, home, pinnedKeyOf(signingKey))
    await ensureNode(db, agent)
    return { nodeId: agent.node }
  } finally {
    await db.$disconnect()
  }
}

/** A lost master key is never replaced while something is sealed with it: that would hide the loss. */
async function ensureMasterKey(db: Database, path: string): Promise<void> {
  const sealed = await db.keyCheck.count()
  await writeSecretOnce(path, () => {
    if (sealed > 0)
      throw new Error(`${path} is missing, but the database holds secrets that were sealed with it. Put it back from its backup.`)
    return Keyring.generate()
  })
}

async function writeAgentConfig(settings: Settings, home: Home, pinned: AgentConfig['pinnedKeys'][number]): Promise<AgentConfig> {
  const paths = homePaths(home.path)
  const kept = await readKept(paths.agentConfig)
  const config: AgentConfig = {
    instance: home.instance,
    node: kept?.node ?? newResourceId('node'),
    apiUrl: `http://${localAddress(settings.listen)}:${settings.apiPort}`,
    channelToken: kept?.channelToken ?? generateToken('evn'),
    pinnedKeys: [pinned],
    temporal: { address: settings.temporalAddress, namespace: settings.temporalNamespace },
    stateDir: paths.agentState,
    dockerSocket: kept?.dockerSocket ?? null,
  }
  const fresh = `${paths.agentConfig}.new`
  await writeFile(fresh, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
  await rename(fresh, paths.agentConfig)
  return config
}

async function readKept(path: string): Promise<AgentConfig | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : agentConfigSchema.parse(JSON.parse(text))
}

async function ensureNode(db: Database, agent: AgentConfig): Promise<void> {
  const resources = new ResourceRepository(db)
  if (!(await resources.get(agent.node))) {
    const draft = { kind: 'node', id: agent.node, projectId: platformProject.id, name: nodeName(hostname()), spec: {} } as const
    const made = await resources.create(draft, { actor: ACTOR, ability: 'admin', operation: 'nodeJoin', now: new Date() })
    if (made.outcome === 'nameTaken')
      throw new Error(`a ${made.holder.kind} named ${draft.name} already stands in the way of this node`)
  }
  const [pinned] = agent.pinnedKeys
  const records = { channelTokenHash: hashToken(agent.channelToken), publicKey: pinned?.publicKey ?? null }
  await db.nodeStatus.upsert({
    where: { resourceId: agent.node },
    create: { resourceId: agent.node, ...records },
    update: records,
  })
}

/** The host's name in the form that every resource's name has. */
export function nodeName(host: string): string {
  const short = host.toLowerCase().split('.')[0] ?? ''
  const name = short
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63)
    .replace(/-+$/, '')
  return name === '' ? 'node' : name
}
