import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import { cacheDir } from './cache-dir.js'
import { findOnPath, run } from './program.js'
import { reasonOf } from './reason.js'
import type { SetupLog } from './setup-log.js'

/** The engines that Evenkeel is written for, by major and minor version. */
const OLDEST_ENGINE = [20, 10] as const
const NEWEST_ENGINE_MAJOR = 29

const PACKAGES = ['docker.io', 'iptables', 'iproute2']
const ANSWER_TIMEOUT_MS = 5_000
const START_TIMEOUT_MS = 60_000

/** What `/version` and `/info` say about an engine, as far as it decides whether we can work with it. */
export interface EngineFacts {
  readonly version: string
  readonly components: readonly string[]
  readonly operatingSystem: string
  readonly osType: string
  readonly securityOptions: readonly string[]
}

/**
 * Makes sure that a Docker engine answers which Evenkeel can work with, and returns a client for it.
 * On Debian and Ubuntu root gets one installed and started; elsewhere the error says what to do.
 */
export async function ensureDocker(log: SetupLog): Promise<Docker> {
  let silence = await whySilent()
  if (silence) {
    await raiseEngine(silence, log)
    silence = await whySilent()
    if (silence) throw new Error(`The Docker engine was started but does not answer: ${silence.message}`)
  }
  const docker = new Docker()
  const facts = await readFacts(docker)
  const refusal = refuseEngine(facts)
  if (refusal) throw new Error(refusal)
  const [major = 0] = versionNumbers(facts.version)
  if (major > NEWEST_ENGINE_MAJOR) log(`Docker engine ${facts.version} is newer than any that Evenkeel was tried with`)
  return docker
}

/** One clear sentence when Evenkeel cannot work with this engine; nothing when it can. */
export function refuseEngine(facts: EngineFacts): string | undefined {
  const use = 'Use the ordinary Docker engine of Linux, version 20.10 to 29, run by root.'
  if (facts.components.some((component) => /podman/i.test(component))) {
    return `The container engine is Podman, whose networks Evenkeel cannot manage. ${use}`
  }
  if (/docker desktop/i.test(facts.operatingSystem)) {
    return `The Docker engine is Docker Desktop, whose containers cannot be reached by their addresses. ${use}`
  }
  if (facts.securityOptions.some((option) => option.includes('rootless'))) {
    return `The Docker engine is rootless, so its containers cannot be reached by their addresses. ${use}`
  }
  if (facts.osType !== 'linux') return `The Docker engine runs ${facts.osType} containers, not Linux ones. ${use}`
  const [major = 0, minor = 0] = versionNumbers(facts.version)
  if (major < OLDEST_ENGINE[0] || (major === OLDEST_ENGINE[0] && minor < OLDEST_ENGINE[1])) {
    return `The Docker engine is version ${facts.version}, which is too old. ${use}`
  }
  return undefined
}

function versionNumbers(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10))
}

async function readFacts(docker: Docker): Promise<EngineFacts> {
  const version = (await docker.version()) as { Version: string; Components?: { Name: string }[] }
  const info = (await docker.info()) as { OperatingSystem: string; OSType: string; SecurityOptions?: string[] | null }
  return {
    version: version.Version,
    components: (version.Components ?? []).map((component) => component.Name),
    operatingSystem: info.OperatingSystem,
    osType: info.OSType,
    securityOptions: info.SecurityOptions ?? [],
  }
}

async function whySilent(): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await new Docker({ timeout: ANSWER_TIMEOUT_MS }).ping()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

async function raiseEngine(silence: NodeJS.ErrnoException, log: SetupLog): Promise<void> {
  const host = process.env['DOCKER_HOST']
  if (host)
    throw new Error(`No Docker engine answers at DOCKER_HOST=${host} (${silence.message}). Start it, or unset DOCKER_HOST.`)
  if (silence.code === 'EACCES') {
    throw new Error(
      'The Docker engine is there, but this user may not use it: add the user to the group "docker" and log in again, or run as root.',
    )
  }
  if (process.getuid?.() !== 0 || !(await debianLike())) {
    throw new Error(
      'No Docker engine answers: install Docker Engine 20.10 to 29 and start it, then run this again (on Debian and Ubuntu root gets this done automatically).',
    )
  }
  if (!(await findOnPath('dockerd'))) await installEngine(log)
  if (await whySilent()) await startEngine(log)
}

async function debianLike(): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return isDebianLike(release) && (await findOnPath('apt-get')) !== undefined
}

/** Does this os-release file describe Debian, Ubuntu or a system made from them? */
export function isDebianLike(release: string): boolean {
  const ids = [...release.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap((match) => match[1]?.split(' ') ?? [])
  return ids.includes('debian') || ids.includes('ubuntu')
}

async function installEngine(log: SetupLog): Promise<void> {
  log(`Docker: installing ${PACKAGES.join(', ')}`)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  // A repository that cannot be reached fails the update; what apt knows and has may still be enough.
  const stale = await run('apt-get', ['update', '-q'], { env }).then(
    () => '',
    (error: unknown) => `; the package lists are old: ${reasonOf(error)}`,
  )
  await run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...PACKAGES], { env }).catch((error: unknown) => {
    throw new Error(
      `The Docker engine could not be installed (${reasonOf(error)}${stale}). Install it by hand, then run this again.`,
    )
  })
}

async function startEngine(log: SetupLog): Promise<void> {
  if (existsSync('/run/systemd/system')) {
    log('Docker: starting the service')
    await run('systemctl', ['enable', '--now', 'docker'])
  } else {
    log('Docker: starting dockerd')
    startDetached('dockerd', join(cacheDir(), 'dockerd.log'))
  }
  const deadline = Date.now() + START_TIMEOUT_MS
  while ((await whySilent()) && Date.now() < deadline) await sleep(200)
}

/** Without systemd nothing else would keep the engine: it must outlive us, as the containers do. */
function startDetached(program: string, logFile: string): void {
  mkdirSync(cacheDir(), { recursive: true })
  const log = openSync(logFile, 'a', 0o600)
  try {
    spawn(program, [], { detached: true, stdio: ['ignore', log, log] }).unref()
  } finally {
    closeSync(log)
  }
}
