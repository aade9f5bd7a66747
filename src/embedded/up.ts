import { join } from 'node:path'
import type Docker from 'dockerode'
import { openDatabase } from '../persistence/database.js'
import { homePaths, type Settings } from '../settings.js'
import { cacheDir } from './cache-dir.js'
import { ensureDemo, waitForDemo } from './demo.js'
import { ensureDocker } from './docker-engine.js'
import { openHome, type Home } from './home.js'
import { ensureImage } from './images/ensure-image.js'
import { COREDNS_IMAGE, NGINX_IMAGE } from './images/stand-ins.js'
import { waitForNode } from './local-node.js'
import { migrate } from './migrate.js'
import { instancesOn } from './owned-things.js'
import { agentPart, apiPart, localAddress, postgresPart, temporalPart, workerPart } from './parts.js'
import { PidFile } from './processes.js'
import type { Progress } from './progress.js'
import { provision } from './provision.js'
import { Supervisor } from './supervisor.js'
import { ensureTemporalBinary } from './temporal.js'

export interface UpOptions {
  /** Take over the containers of an instance whose state directory was lost. */
  readonly adopt?: string
  /** Ends a start that is under way. */
  readonly signal: AbortSignal
}

/** An instance that runs under our supervision. */
export interface RunningInstance {
  readonly home: Home
  stop(): Promise<void>
}

/** The file that says which process supervises this state directory. */
export function supervisorPidFile(homePath: string): PidFile {
  return new PidFile(join(homePath, 'run', 'supervisor.pid'))
}

/**
 * Starts everything, in the order in which one needs the other, and returns when the demo is Ready.
 * A step that fails stops what was started before it.
 */
export async function up(settings: Settings, options: UpOptions, progress: Progress): Promise<RunningInstance> {
  const home = await openHome(settings.home, options.adopt)
  const lock = supervisorPidFile(home.path)
  if (!lock.claim(process.pid)) {
    throw new Error(
      `Evenkeel already runs for ${home.path} (process ${lock.running()}). Stop it with \`npm run down\` or Ctrl-C where it runs.`,
    )
  }
  const supervisor = new Supervisor((line) => progress.say(`${new Date().toISOString()} ${line}`))
  const stop = async (): Promise<void> => {
    await supervisor.stop()
    lock.remove()
  }
  try {
    await Promise.race([startAll(settings, home, supervisor, progress), whenAborted(options.signal)])
    return { home, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Never resolves; rejects when the signal says so. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(signal.reason as Error)
    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { once: true })
  })
}

async function startAll(settings: Settings, home: Home, supervisor: Supervisor, progress: Progress): Promise<void> {
  const docker = await progress.step('Docker engine', ensureDocker)
  await tellOtherInstances(docker, home, progress)
  await progress.step('Images', async (log) => {
    for (const image of [COREDNS_IMAGE, NGINX_IMAGE]) await ensureImage(docker, image, log)
  })
  const databaseUrl = await progress.step('PostgreSQL', (log) => startDatabase(settings, home, supervisor, log))
  await progress.step('Database schema', async (log) => {
    for (const name of await migrate(databaseUrl)) log(`applied ${name}`)
  })
  const { nodeId } = await progress.step('Keys and local node', () => provision(settings, home, databaseUrl))
  await progress.step('Temporal', async (log) => {
    if (settings.temporalAddress !== `127.0.0.1:${settings.temporalPort}`) return // somebody else's
    const binary = await ensureTemporalBinary({ cacheDir: cacheDir(), log })
    await supervisor.start(temporalPart(settings, home, binary, log))
  })
  const env = environmentOf(settings, databaseUrl)
  await progress.step('API', () => supervisor.start(apiPart(settings, home, env)))
  await progress.step('Control worker', () => supervisor.start(workerPart(settings, home, env)))
  await startNodeAndDemo(settings, home, supervisor, progress, databaseUrl, nodeId)
}

async function startNodeAndDemo(
  settings: Settings,
  home: Home,
  supervisor: Supervisor,
  progress: Progress,
  databaseUrl: string,
  nodeId: string,
): Promise<void> {
  const db = openDatabase(databaseUrl, 2)
  try {
    const since = new Date()
    await progress.step('Agent', () => supervisor.start(agentPart(settings, home, nodeId, environmentOf(settings, undefined))))
    await progress.step('Node', (log) => waitForNode(db, nodeId, since, log))
    const demo = await ensureDemo(db, settings.demoPort)
    if (demo) await progress.step('Demo', (log) => waitForDemo(db, demo, log))
    progress.say(summary(settings, home, demo?.hostPort, progress.total()))
  } finally {
    await db.$disconnect()
  }
}

async function startDatabase(
  settings: Settings,
  home: Home,
  supervisor: Supervisor,
  log: (line: string) => void,
): Promise<string> {
  if (settings.databaseUrl) return settings.databaseUrl
  let url = ''
  await supervisor.start(postgresPart(settings, home, log, (started) => (url = started)))
  return url
}

/**
 * What a process of ours is told by its environment. Secrets travel here and not in arguments, which everybody on the
 * machine can read; an agent gets no database.
 */
function environmentOf(settings: Settings, databaseUrl: string | undefined): Record<string, string> {
  return {
    EVENKEEL_HOME: settings.home,
    EVENKEEL_TEMPORAL_ADDRESS: settings.temporalAddress,
    EVENKEEL_TEMPORAL_UI_URL: settings.temporalUiUrl,
    EVENKEEL_DATABASE_URL: databaseUrl ?? '',
  }
}

/** Containers of an instance whose state directory is elsewhere, or lost, are never touched; a person decides. */
async function tellOtherInstances(docker: Docker, home: Home, progress: Progress): Promise<void> {
  for (const [instance, containers] of await instancesOn(docker)) {
    if (instance === home.instance) continue
    progress.say(`    This engine also runs ${containers} containers of instance ${instance}. They are left alone.`)
    progress.say(`    Was its state directory lost? \`npm run up -- --adopt ${instance}\` in a new one takes them over,`)
    progress.say(`    \`npm run down -- --instance ${instance}\` removes them.`)
  }
}

function summary(settings: Settings, home: Home, demoPort: number | undefined, total: string): string {
  const lines: [string, string][] = [
    ['GraphQL', `http://${localAddress(settings.listen)}:${settings.apiPort}/graphql`],
    ['Owner token', homePaths(home.path).ownerToken],
    ['Temporal UI', settings.temporalUiUrl],
    ...(demoPort === undefined ? [] : [['Demo', `http://127.0.0.1:${demoPort}`] as [string, string]]),
    ['Logs', home.runDir],
  ]
  return [
    '',
    `Evenkeel is ready after ${total} (instance ${home.instance}).`,
    '',
    ...lines.map(([name, value]) => `  ${name.padEnd(13)} ${value}`),
    '',
    'Ctrl-C stops the control plane, and containers go on running. `npm run down` removes them.',
  ].join('\n')
}
