import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { verifyKeyring } from '../bootstrap/master-key.js'
import { homeAt, type Home } from '../embedded/home.js'
import type { SetupLog } from '../embedded/setup-log.js'
import { HomeLock } from '../embedded/home-lock.js'
import { openDatabase } from '../persistence/database.js'
import { InstallationRepository } from '../persistence/installation.repository.js'
import { homePaths, type Settings } from '../settings.js'
import { withOwnServer } from './database-at.js'
import { fragmentsFolder, namesIn, putStateFile } from './state-files.js'
import { stillTrue } from './fragments.js'
import { loadDatabase } from './load.js'
import { masterKeyBeside, readBackup, sha256Of, stateFolder, type BackupManifest } from './manifest.js'
import { pauseAll } from './pause-all.js'
import { runningAddresses } from './running-addresses.js'

export interface RestoreOptions {
  settings: Settings
  /** The backup's folder. */
  from: string
  /** The master key's file when it is not beside the backup. */
  keyFile?: string | undefined
  /** A state directory that holds something is set aside instead of refused. */
  force: boolean
  now: Date
  log: SetupLog
}

export interface Restored {
  manifest: BackupManifest
  paused: number
  /** Where what was in the state directory lies now; null when there was nothing. */
  setAside: string | null
  /** The database holds what was sealed with a key that is not here: nothing starts before it is put there. */
  keyMissing: boolean
}

/**
 * Makes a state directory from a backup. It is made beside its place and moved there when it is whole, so that a restore
 * that fails, or is killed, leaves things as they were. Never touches a container.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const home = homeAt(options.settings.home)
  const lock = new HomeLock(home)
  if (!(await lock.hold())) throw new Error(`${waitFor(lock, home)}, and restore then`)
  try {
    return await restoreInto(home, options)
  } finally {
    await lock.release()
  }
}

function waitFor(lock: HomeLock, home: Home): string {
  const running = lock.running()
  return running === undefined
    ? `${lock.heldBriefly}: wait for its end`
    : `Evenkeel runs for ${home.path} (process ${running}): stop it with Ctrl-C where it runs, or \`kill ${running}\` (\`npm run down\` would remove its containers)`
}

async function restoreInto(home: Home, options: RestoreOptions): Promise<Restored> {
  const { settings, from, force, now, log } = options
  if ((await holdsSomething(home.path)) && !force)
    throw new Error(`${home.path} is not empty: restore into another EVENKEEL_HOME, or let --force set what is there aside`)

  const manifest = await readBackup(from)
  const key = await readKey(options, manifest)
  await mkdir(dirname(home.path), { recursive: true, mode: 0o700 })
  const fresh = await mkdtemp(join(dirname(home.path), `.${basename(home.path)}.restoring-`))
  try {
    await copyState(options, home.path, fresh, manifest)
    if (key !== null) await putStateFile(fresh, join('secrets', basename(homePaths(fresh).masterKey)), key)
    const load = (url: string) => loadInto(url, fresh, options, manifest, key !== null)
    const loaded = settings.databaseUrl ? await load(settings.databaseUrl) : await withOwnServer(homeAt(fresh).postgresDir, log, load)
    const setAside = await moveIntoPlace(fresh, home.path, now)
    return { manifest, ...loaded, setAside }
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    throw error
  }
}

async function loadInto(
  url: string,
  home: string,
  { from, now }: RestoreOptions,
  manifest: BackupManifest,
  hasKey: boolean,
): Promise<{ paused: number; keyMissing: boolean }> {
  let paused = 0
  await loadDatabase(url, from, manifest, async (client) => {
    paused = (await pauseAll(client, new Date(manifest.madeAt), now)).resources
  })
  const db = openDatabase(url, 2)
  try {
    const installation = new InstallationRepository(db)
    if (hasKey) await verifyKeyring(installation, homePaths(home).masterKey)
    const sealed = (await installation.keyChecks()).length + (await installation.secretKeyIds()).length
    return { paused, keyMissing: !hasKey && sealed > 0 }
  } finally {
    await db.$disconnect()
  }
}

async function readKey({ from, keyFile }: RestoreOptions, manifest: BackupManifest): Promise<string | null> {
  const path = keyFile ?? masterKeyBeside(from)
  if (!existsSync(path)) {
    if (keyFile !== undefined) throw new Error(`the master key ${keyFile} is not there`)
    return null
  }
  // A key that was rotated since may be given by hand; it is proved against the database itself.
  if (keyFile === undefined && manifest.masterKeySha256 !== null && (await sha256Of(path)) !== manifest.masterKeySha256)
    throw new Error(`the master key ${path} is not the one that was written with this backup: give the right one by --key FILE`)
  return readFile(path, 'utf8')
}

async function copyState({ from, log }: RestoreOptions, present: string, fresh: string, manifest: BackupManifest): Promise<void> {
  const isFragment = (path: string): boolean => path.startsWith(fragmentsFolder)
  const backedUp = manifest.state.map((f) => f.path)
  for (const path of backedUp.filter((p) => !isFragment(p))) await putStateFile(fresh, path, await readFile(join(from, stateFolder, path), 'utf8'))

  const running = await runningAddresses(manifest.instance)
  if (running === null) return log('no Docker engine answers: names of applications are shown again when they are resumed')
  // What the node shows now is newer than what it showed when the backup was made.
  const shown = await namesIn(join(present, fragmentsFolder))
  const sources = shown.length > 0 ? shown.map((name) => join(present, fragmentsFolder, name)) : backedUp.filter(isFragment).map((p) => join(from, stateFolder, p))
  for (const source of sources) {
    const kept = stillTrue(await readFile(source, 'utf8'), running.get(basename(source, '.json')) ?? new Set())
    if (kept !== null) await putStateFile(fresh, join(fragmentsFolder, basename(source)), kept)
  }
}

/** `run` alone is what a refused start leaves behind. */
async function holdsSomething(path: string): Promise<boolean> {
  return (await namesIn(path)).some((name) => name !== 'run')
}

async function moveIntoPlace(fresh: string, home: string, now: Date): Promise<string | null> {
  if (!(await holdsSomething(home))) {
    await rm(join(home, 'run'), { recursive: true, force: true })
    await rmdir(home).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await rename(fresh, home)
    return null
  }
  const aside = `${home}.before-restore-${now.toISOString().replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')}`
  await rename(home, aside)
  await rename(fresh, home)
  return aside
}
