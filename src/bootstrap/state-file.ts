import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** A folder that only its owner may enter. */
export function ensurePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/** The text of a file, null when there is none. Any other trouble is an error: what cannot be read is not missing. */
export function readStateFile(path: string, what: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new Error(`${what} ${path} cannot be read: ${message}`)
  }
}

/** Writes beside the file, then renames: after a crash there is the old text or the new one, and never half of it. */
export function writeStateFile(path: string, text: string): void {
  const fresh = `${path}.new`
  const file = openSync(fresh, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  chmodSync(fresh, 0o600)
  renameSync(fresh, path)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
