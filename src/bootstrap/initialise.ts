import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { Keyring } from '../adapters/crypto/keyring.js'
import { generateSigningKey, pinnedKeyOf, type PinnedKey } from '../adapters/crypto/signing.js'
import { generateToken, hashToken, looksLikeToken } from '../adapters/crypto/token.js'
import { agentConfigSchema, type AgentConfig } from '../agent/config.js'
import type { Database } from '../persistence/database.js'
import { newInstanceId } from '../persistence/id.js'
import { InstallationRepository } from '../persistence/installation.repository.js'
import { NodeRepository } from '../persistence/node.repository.js'
import { ProjectRepository } from '../persistence/project.repository.js'
import { TokenRepository } from '../persistence/token.repository.js'
import { homePaths, type Settings } from '../settings.js'
import { keyCheckPlace, keyCheckText, verifyKeyring } from './master-key.js'
import { localNodeName } from './node-name.js'
import { ensurePrivateFolder, readStateFile, writeStateFile } from './state-file.js'

export interface InitialiseOptions {
  settings: Settings
  db: Database
  /** Makes this the instance's id whatever file and database say: to take over what another instance left behind. */
  adoptInstance?: string
  /** The machine's name when it is not the operating system's. */
  hostName?: string
}

export interface Initialised {
  instance: string
  node: { id: string; name: string }
  /** Where the owner's token lies. */
  ownerTokenFile: string
  agentConfigFile: string
}

const instancePattern = /^[a-z][a-z0-9-]{0,31}$/
const allAbilities = ['read', 'deploy', 'write', 'admin'] as const

/**
 * Makes what an installation needs and lacks: instance id, keys, the owner's token, the local node and its agent's
 * configuration. Idempotent, and safe to kill at any point: a file is always written before the row that stands for it,
 * and a row that differs from its file is made to agree. Only the master key is never made anew once something is
 * sealed with it. Wants a migrated database.
 */
export async function initialise(options: InitialiseOptions): Promise<Initialised> {
  const { settings, db } = options
  const paths = homePaths(settings.home)
  for (const folder of [settings.home, paths.secrets, paths.agentState, dirname(paths.agentConfig)]) ensurePrivateFolder(folder)

  const installation = new InstallationRepository(db)
  return installation.alone(async () => {
    const instance = await ensureInstance(installation, paths.instance, options.adoptInstance)
    await ensureMasterKey(installation, paths.masterKey)
    const pinned = ensureSigningKey(paths.signingKey)
    await new ProjectRepository(db).ensurePlatform()
    await ensureOwnerToken(new TokenRepository(db), paths.ownerToken)
    const node = await ensureLocalNode(options, instance, pinned)
    return { instance, node, ownerTokenFile: paths.ownerToken, agentConfigFile: paths.agentConfig }
  })
}

async function ensureInstance(installation: InstallationRepository, file: string, adopt: string | undefined): Promise<string> {
  if (adopt !== undefined && !instancePattern.test(adopt))
    throw new Error(`${JSON.stringify(adopt)} is no instance id: it starts with a letter and holds only a-z, 0-9 and -`)
  const inFile = readStateFile(file, 'the instance id')?.trim() || null
  const inDatabase = await installation.instance()
  if (inFile !== null && !instancePattern.test(inFile))
    throw new Error(`the instance id in ${file} is damaged: it should be a short word such as e4k2h7mq`)
  if (adopt === undefined && inFile !== null && inDatabase !== null && inFile !== inDatabase)
    throw new Error(
      `the state directory is of instance ${inFile} (${file}) and the database of instance ${inDatabase}: point EVENKEEL_HOME or EVENKEEL_DATABASE_URL at the other's, or say which one goes on with --adopt ${inFile} or --adopt ${inDatabase}`,
    )
  const instance = adopt ?? inFile ?? inDatabase ?? newInstanceId()
  if (inFile !== instance) writeStateFile(file, `${instance}\n`)
  if (inDatabase !== instance) await installation.setInstance(instance)
  return instance
}

async function ensureMasterKey(installation: InstallationRepository, file: string): Promise<void> {
  if ((await verifyKeyring(installation, file)) === null) writeStateFile(file, Keyring.generate())
  // Read back: what is sealed from now on must open with what lies on the disk.
  const text = readStateFile(file, 'the master key')
  if (text === null) throw new Error(`the master key ${file} vanished while Evenkeel was starting`)
  const { keyId, sealed } = Keyring.parse(text).seal(Buffer.from(keyCheckText), keyCheckPlace)
  await installation.addKeyCheck(keyId, sealed)
}

function ensureSigningKey(file: string): PinnedKey {
  const kept = readStateFile(file, 'the signing key')
  if (kept === null) {
    const made = generateSigningKey()
    writeStateFile(file, made.privatePem)
    return made.pinned
  }
  try {
    return pinnedKeyOf(kept)
  } catch {
    throw new Error(
      `the signing key ${file} is damaged: put it back from a backup, or remove it, and every node but this one has to join again`,
    )
  }
}

async function ensureOwnerToken(tokens: TokenRepository, file: string): Promise<void> {
  let token = readStateFile(file, "the owner's token")?.trim() ?? null
  if (token === null || !looksLikeToken(token, 'evk')) {
    token = generateToken('evk')
    writeStateFile(file, `${token}\n`)
  }
  await tokens.ensureOwner(hashToken(token), allAbilities)
}

/** Joins the machine by the same records as any other node: row, channel token, pinned key, configuration file. */
async function ensureLocalNode({ settings, db, hostName }: InitialiseOptions, instance: string, pinned: PinnedKey) {
  const nodes = new NodeRepository(db)
  const paths = homePaths(settings.home)
  const kept = keptAgentConfig(readStateFile(paths.agentConfig, "the agent's configuration"))
  const node = await nodes.ensureLocal({ id: kept?.node ?? null, name: localNodeName(hostName ?? hostname()) }, new Date())

  const keepsToken = kept !== null && looksLikeToken(kept.channelToken, 'evn') && kept.node === node.id
  const config: AgentConfig = {
    instance,
    node: node.id,
    apiUrl: apiUrlOf(settings),
    channelToken: keepsToken ? kept.channelToken : generateToken('evn'),
    // During a rotation the file pins the next key beside the current one; both stay.
    pinnedKeys: kept?.pinnedKeys.some((k) => k.publicKey === pinned.publicKey) ? kept.pinnedKeys : [pinned],
    temporal: { address: settings.temporalAddress, namespace: settings.temporalNamespace },
    stateDir: paths.agentState,
    dockerSocket: kept?.dockerSocket ?? null,
  }
  if (JSON.stringify(config) !== JSON.stringify(kept)) writeStateFile(paths.agentConfig, `${JSON.stringify(config, null, 2)}\n`)
  await nodes.setChannelToken(node.id, hashToken(config.channelToken))
  return node
}

function keptAgentConfig(text: string | null): AgentConfig | null {
  if (text === null) return null
  try {
    const { instance, node, apiUrl, channelToken, pinnedKeys, temporal, stateDir, dockerSocket } = agentConfigSchema.parse(
      JSON.parse(text),
    )
    return { instance, node, apiUrl, channelToken, pinnedKeys, temporal, stateDir, dockerSocket }
  } catch {
    return null // a damaged file is written anew
  }
}

/** The address that a program on this machine reaches the API by. */
export function apiUrlOf({ listen, apiPort }: Settings): string {
  const everywhere = listen === '0.0.0.0' || listen === '::'
  const host = everywhere ? '127.0.0.1' : listen.includes(':') ? `[${listen}]` : listen
  return `http://${host}:${apiPort}`
}
