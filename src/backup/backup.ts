import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Keyring } from '../adapters/crypto/keyring.js'
import { homeAt, instanceOf } from '../embedded/home.js'
import { HomeLock } from '../embedded/home-lock.js'
import { writeStateFile } from '../bootstrap/state-file.js'
import type { SetupLog } from '../embedded/setup-log.js'
import { homePaths, type Settings } from '../settings.js'
import { withInstanceDatabase } from './database-at.js'
import { dumpDatabase } from './dump.js'
import { manifestName, masterKeyBeside, readBackup, sha256Of, stateFolder, type BackupManifest } from './manifest.js'
import { copyStateFiles } from './state-files.js'

export interface BackupOptions {
  settings: Settings
  /** Folder that the backup's own folder is made in. */
  to: string
  withKey: boolean
  now: Date
  log: SetupLog
}

export interface Backup {
  folder: string
  /** Null when it was left out. */
  keyFile: string | null
  manifest: BackupManifest
}

/**
 * Makes one backup. It gets its name when it is whole and was read back: what is called a backup is one. Works while the
 * instance runs and while it is stopped.
 */
export async function makeBackup({ settings, to, withKey, now, log }: BackupOptions): Promise<Backup> {
  const home = homeAt(settings.home)
  const instance = await instanceOf(home.path)
  if (!instance) throw new Error(`there is no instance in ${home.path}: nothing to back up`)
  const folder = join(
    to,
    `evenkeel-${instance}-${now
      .toISOString()
      .replace(/\.\d+Z$/, 'Z')
      .replaceAll(':', '-')}`,
  )
  const partial = join(dirname(folder), `.${basename(folder)}.partial-${process.pid}`)
  await mkdir(to, { recursive: true, mode: 0o700 })
  await mkdir(partial, { mode: 0o700 })
  try {
    const keyPath = homePaths(home.path).masterKey
    const key = withKey ? await readFile(keyPath, 'utf8') : await textIfThere(keyPath)
    if (!withKey && key !== null) requireOneKey(key)
    // First the database: a file that is newer than its row is what every start makes agree, the other way round is not.
    const dumped = await withInstanceDatabase({ home, settings, lock: new HomeLock(home), log }, (url) =>
      dumpDatabase(url, partial),
    )
    if (key !== (await textIfThere(keyPath)))
      throw new Error('the master key was rotated while the backup was made: make it again when `npm run key:rotate` has ended')
    const state = await copyStateFiles(home.path, join(partial, stateFolder))
    const keyFile = masterKeyBeside(folder)
    if (withKey && key !== null) writeStateFile(keyFile, key)
    const manifest: BackupManifest = {
      format: 'evenkeel-backup-1',
      instance,
      madeAt: now.toISOString(),
      ...dumped,
      state,
      masterKeySha256: withKey ? await sha256Of(keyFile) : null,
    }
    writeStateFile(join(partial, manifestName), `${JSON.stringify(manifest, null, 2)}\n`)
    await readBackup(partial)
    await rename(partial, folder)
    return { folder, keyFile: withKey ? keyFile : null, manifest }
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  }
}

/** Between a rotation's beginning and its end the database needs two keys, which are together in one file only until then. */
function requireOneKey(key: string): void {
  if (Keyring.parse(key).oldKeyIds.length > 0)
    throw new Error(
      'a rotation of the master key has not ended, and afterwards no file holds all the keys that this backup would need: end it by `npm run key:rotate`, or leave out --without-key',
    )
}

async function textIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
