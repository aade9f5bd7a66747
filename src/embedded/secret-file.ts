import { randomUUID } from 'node:crypto'
import { link, open, readFile, rm } from 'node:fs/promises'

/**
 * The content of a file that is written once and readable by its owner only; `make` is asked when there is none yet.
 * The file appears whole or not at all, also when two processes make it at once: then both get the same content.
 */
export async function writeSecretOnce(path: string, make: () => string): Promise<string> {
  const kept = await readIfThere(path)
  if (kept !== undefined) return kept
  const fresh = `${path}.${randomUUID()}`
  try {
    const file = await open(fresh, 'wx', 0o600)
    try {
      await file.writeFile(make())
      await file.sync()
    } finally {
      await file.close()
    }
    await link(fresh, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(fresh, { force: true })
  }
  return readFile(path, 'utf8')
}

/** Nothing when there is no such file; a file that cannot be read is an error, never a reason to make a new one. */
async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
