import { randomInt } from 'node:crypto'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homePaths } from '../settings.js'
import { writeSecretOnce } from './secret-file.js'

const ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ID_LENGTH = 12

/** The state directory of one instance: everything that has to survive, and nothing else. */
export interface Home {
  readonly path: string
  /** Tells this instance's containers from those of others on the same engine. */
  readonly instance: string
  /** Process ids and logs. */
  readonly runDir: string
  readonly postgresDir: string
  readonly temporalDir: string
}

/**
 * Opens the state directory and makes what is missing. An instance gets its id once; `adopt` gives a new directory
 * the id of an instance whose directory was lost.
 */
export async function openHome(path: string, adopt?: string): Promise<Home> {
  const paths = homePaths(path)
  for (const folder of [path, paths.secrets, paths.agentState, join(path, 'run')]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  }
  const instance = (await writeSecretOnce(paths.instance, () => `${adopt ?? newInstanceId()}\n`)).trim()
  requireInstanceId(instance)
  if (adopt && adopt !== instance) {
    throw new Error(
      `${path} already belongs to instance ${instance}: only a new state directory can take over ${adopt}. Set EVENKEEL_HOME to another one.`,
    )
  }
  return { path, instance, runDir: join(path, 'run'), postgresDir: join(path, 'postgres'), temporalDir: join(path, 'temporal') }
}

/** The instance of a state directory, if it has one. */
export async function instanceOf(path: string): Promise<string | undefined> {
  const text = await readFile(homePaths(path).instance, 'utf8').catch(() => undefined)
  return text?.trim()
}

export function newInstanceId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join('')
}

/** Instance ids become parts of container names and labels. */
export function requireInstanceId(text: string): string {
  if (!/^[a-z0-9]{4,32}$/.test(text))
    throw new Error(`${JSON.stringify(text)} is no instance id: it has small letters and digits only`)
  return text
}
