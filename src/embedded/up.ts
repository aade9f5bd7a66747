import type Docker from 'dockerode'
import { ensureDemo, type Demo } from '../bootstrap/demo.js'
import { ensureIngress, type IngressPorts, type LocalIngress } from '../bootstrap/ingress.js'
import { initialise, type Initialised } from '../bootstrap/initialise.js'
import { openDatabase, type Database } from '../persistence/database.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import type { Settings } from '../settings.js'
import { NudgeClient } from '../temporal/nudge.client.js'
import { cacheDir } from './cache-dir.js'
import { ensureDocker } from './docker-engine.js'
import { HomeLock } from './home-lock.js'
import { openHome, type Home } from './home.js'
import { ensureImage } from './images/ensure-image.js'
import { firstFreePort } from './ports.js'
import { CADDY_IMAGE, COREDNS_IMAGE, NGINX_IMAGE } from './images/stand-ins.js'
import { migrate } from './migrate.js'
import { instancesOn } from './owned-things.js'
import { agentPart, apiPart, apiUrlOf, postgresPart, temporalPart, workerPart } from './parts.js'
import type { Progress } from './progress.js'
import type { SetupLog } from './setup-log.js'
import { Supervisor } from './supervisor.js'
import { ensureTemporalBinary } from './temporal.js'
import { waitForControlPlane, waitForReady } from './wait-ready.js'

export interface UpOptions {
  /** Take over what an instance owns whose state directory was lost. */
  readonly adopt?: string
  /** Ends a start that is under way. */
  readonly signal: AbortSignal
}

/**
 * Starts everything, in the order in which one needs the other, and returns when the demo is Ready: with the way to
 * stop it all again. A step that fails stops what was started before it.
 */
export async function up(settings: Settings, options: UpOptions, progress: Progress): Promise<() => Promise<void>> {
  const home = await openHome(settings.home)
  const lock = new HomeLock(home)
  if (!(await lock.claim())) {
    const running = lock.running()
    throw new Error(
      running === undefined
        ? `${lock.heldBriefly}: try again when it has ended`
        : `Evenkeel already runs for ${home.path} (process ${running}). \`npm run down\`, or Ctrl-C where it runs, stops it.`,
    )
  }
  const supervisor = new Supervisor((line) => progress.say(`${new Date().toISOString()} ${line}`))
  const stop = async (): Promise<void> => {
    await supervisor.stop()
    await lock.release()
  }
  try {
    const start = new Start(settings, home, supervisor, progress)
    await Promise.race([start.all(options.adopt), whenAborted(options.signal)])
    return stop
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

/** One start of an instance: the steps in the order in which one needs the other, side by side where none does. */
class Start {
  constructor(
    private readonly settings: Settings,
    private readonly home: Home,
    private readonly supervisor: Supervisor,
    private readonly progress: Progress,
  ) {}

  async all(adopt: string | undefined): Promise<void> {
    const { progress } = this
    const docker = await progress.step('Docker engine', ensureDocker)
    await progress.step('Images', (log) => ensureImages(docker, log))
    const [databaseUrl] = await Promise.all([this.database(), progress.step('Temporal', (log) => this.temporal(log))])
    const db = openDatabase(databaseUrl, 3)
    try {
      const made = await progress.step('Keys and local node', () =>
        initialise({ settings: this.settings, db, ...(adopt === undefined ? {} : { adoptInstance: adopt }) }),
      )
      await tellOtherInstances(docker, made.instance, progress)
      await this.controlPlane(databaseUrl, made)
      const ingress = await this.ingress(db, made.node.name)
      const demo = await this.demo(db)
      progress.say(this.summary(made, demo, ingress))
      await tellRestored(db, progress)
    } finally {
      await db.$disconnect()
    }
  }

  private async database(): Promise<string> {
    const { progress } = this
    const url = await progress.step('PostgreSQL', (log) => this.postgres(log))
    await progress.step('Database schema', (log) => applyMigrations(url, log))
    return url
  }

  private async postgres(log: SetupLog): Promise<string> {
    if (this.settings.databaseUrl) return this.settings.databaseUrl
    let url = ''
    await this.supervisor.start(postgresPart(this.settings, this.home, log, (started) => (url = started)))
    return url
  }

  private async controlPlane(databaseUrl: string, made: Initialised): Promise<void> {
    const { settings, home, supervisor, progress } = this
    const env = environmentOf(settings, databaseUrl)
    await Promise.all([
      progress.step('API', () => supervisor.start(apiPart(settings, home, env))),
      progress.step('Control worker', () => supervisor.start(workerPart(settings, home, env))),
    ])
    // An agent has no access to the database, wherever it runs.
    await progress.step('Agent', () => supervisor.start(agentPart(settings, home, made, environmentOf(settings, ''))))
    await progress.step('Canary', (log) => waitForControlPlane(apiUrlOf(settings), log))
  }

  private async temporal(log: SetupLog): Promise<void> {
    const { settings, home, supervisor } = this
    if (settings.temporalAddress !== `127.0.0.1:${settings.temporalPort}`) return // somebody else's
    const binary = await ensureTemporalBinary({ cacheDir: cacheDir(), log })
    await supervisor.start(temporalPart(settings, home, binary, log))
  }

  private async ingress(db: Database, node: string): Promise<LocalIngress | null> {
    const { settings, progress } = this
    return progress.step('Ingress', async (log) => {
      const ingress = await ensureIngress(db, node, () => choosePorts(settings))
      if (!ingress) {
        log('its name belongs to something else, so this node has none: make one with ingressCreate')
        return null
      }
      await this.lookedAfter(db, ingress, log)
      return ingress
    })
  }

  private async demo(db: Database): Promise<Demo> {
    const { settings, progress } = this
    return progress.step('Demo', async (log) => {
      const demo = await ensureDemo(db, settings)
      await this.lookedAfter(db, demo, log)
      return demo
    })
  }

  /** Returns when it is Ready, or at once when nothing is to be done about it. */
  private async lookedAfter(db: Database, resource: Demo | LocalIngress, log: SetupLog): Promise<void> {
    const { settings } = this
    const nudges = await NudgeClient.connect(settings.temporalAddress, settings.temporalNamespace)
    await nudges.nudge(resource).finally(() => nudges.close())
    if (resource.paused) log(`the ${resource.name} is paused: nothing is done about it`)
    else await waitForReady(db, resource.id, log)
  }

  private summary(made: Initialised, demo: Demo, ingress: LocalIngress | null): string {
    const { settings, home, progress } = this
    const lines = [
      ['GraphQL', `${apiUrlOf(settings)}/graphql`],
      ['Owner token', made.ownerTokenFile],
      ['Temporal UI', settings.temporalUiUrl],
      ['Demo', [`http://127.0.0.1:${demo.hostPort}`, ...demoUrls(demo, ingress)].join(', ')],
      ['Ingress', ingress ? `ports ${ingress.httpPort} (HTTP) and ${ingress.httpsPort} (HTTPS)` : 'none'],
      ['Logs', home.runDir],
    ] as const
    return [
      '',
      `Evenkeel is ready after ${progress.total()} (instance ${made.instance}, node ${made.node.name}).`,
      '',
      ...lines.map(([name, value]) => `  ${name.padEnd(13)} ${value}`),
      '',
      'Ctrl-C stops the control plane, and containers go on running. `npm run down` removes them.',
    ].join('\n')
  }
}

function demoUrls({ host }: Demo, ingress: LocalIngress | null): string[] {
  if (!host || !ingress) return []
  return [`http://${host}${ingress.httpPort === 80 ? '' : `:${ingress.httpPort}`}`]
}

async function choosePorts({ httpPort, httpsPort }: Settings): Promise<IngressPorts> {
  return { httpPort: httpPort ?? (await firstFreePort([80, 8080])), httpsPort: httpsPort ?? (await firstFreePort([443, 8443])) }
}

async function ensureImages(docker: Docker, log: SetupLog): Promise<void> {
  for (const image of [COREDNS_IMAGE, NGINX_IMAGE, CADDY_IMAGE]) await ensureImage(docker, image, log)
}

async function applyMigrations(databaseUrl: string, log: SetupLog): Promise<void> {
  for (const name of await migrate(databaseUrl)) log(`applied ${name}`)
}

/**
 * What a process of ours is told by its environment. Secrets travel here and not in arguments, which everybody on the
 * machine can read.
 */
function environmentOf(settings: Settings, databaseUrl: string): Record<string, string> {
  return {
    EVENKEEL_HOME: settings.home,
    EVENKEEL_TEMPORAL_ADDRESS: settings.temporalAddress,
    EVENKEEL_TEMPORAL_UI_URL: settings.temporalUiUrl,
    EVENKEEL_DATABASE_URL: databaseUrl,
  }
}

/** After a restore nothing is repaired or changed before a person has looked: that must not be overlooked. */
async function tellRestored(db: Database, progress: Progress): Promise<void> {
  const paused = await new ResourceRepository(db).pausedByRestore()
  if (paused.length === 0) return
  progress.say(`
${paused.length} resources are paused since the restore: look at their plans (applicationPlan) and at the orphans, then
resume each (resourceResume) or all of them (restoreConfirm).`)
}

/** Containers of an instance whose state directory is elsewhere, or lost, are never touched; a person decides. */
async function tellOtherInstances(docker: Docker, own: string, progress: Progress): Promise<void> {
  for (const [instance, containers] of await instancesOn(docker)) {
    if (instance === own) continue
    progress.say(`    This engine also has ${containers} containers of instance ${instance}; they are left alone.`)
    progress.say(`    Was its state directory lost? \`npm run up -- --adopt ${instance}\` takes them over,`)
    progress.say(`    \`npm run down -- --instance ${instance}\` removes them.`)
  }
}
