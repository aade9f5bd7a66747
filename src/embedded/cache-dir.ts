import { mkdir, rm, rename, mkdtemp } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** Where downloaded and compiled parts are kept; shared by all instances of a user, safe to delete. */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const chosen = env['EVENKEEL_CACHE']
  if (chosen) return resolve(chosen)
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'evenkeel')
}

/**
 * Lets `make` fill a fresh folder and returns the path of the file it made, moved to `target`.
 * The move is atomic, so a file in the cache is always whole, however the maker was interrupted,
 * and two makers of the same file do not disturb each other.
 */
export async function makeOnce(target: string, make: (scratch: string) => Promise<string>): Promise<string> {
  await mkdir(dirname(target), { recursive: true })
  const scratch = await mkdtemp(join(dirname(target), '.making-'))
  try {
    await rename(await make(scratch), target)
    return target
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
