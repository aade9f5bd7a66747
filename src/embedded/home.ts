import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homePaths } from '../settings.js'

/** Where the parts of the all-in-one keep their files below the state directory. */
export interface Home {
  readonly path: string
  /** Process ids and logs. */
  readonly runDir: string
  readonly postgresDir: string
  readonly temporalDir: string
}

export function homeAt(path: string): Home {
  return { path, runDir: join(path, 'run'), postgresDir: join(path, 'postgres'), temporalDir: join(path, 'temporal') }
}

/** Makes the state directory, for its owner only. */
export async function openHome(path: string): Promise<Home> {
  const home = homeAt(path)
  for (const folder of [home.path, home.runDir]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  }
  return home
}

/** The instance of a state directory, if it has one. */
export async function instanceOf(path: string): Promise<string | undefined> {
  const text = await readFile(homePaths(path).instance, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text?.trim()
}
