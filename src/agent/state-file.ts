import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Readers see the old text or the new one, never a part. Small files only: it is synchronous. The mode holds whatever the
 * umask is, because containers that run as other users read some of these files.
 */
export function writeFileAtomically(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true })
  const next = join(dirname(path), `.${process.pid}.next`)
  writeFileSync(next, text, { mode })
  chmodSync(next, mode)
  renameSync(next, path)
}

/** The file's text, or null when it is not there. */
export function readFileIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Differs for a folder that was removed and made again under the same path. A bind mount is one of the folder, not of the
 * path, so what mounts it has to be made anew then.
 */
export function folderIdentity(path: string): string {
  const { dev, ino, birthtimeMs } = statSync(path)
  return `${dev}:${ino}:${birthtimeMs}`
}
