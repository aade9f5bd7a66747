import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { lastWords } from './last-words.js'

export interface RunOptions {
  readonly cwd?: string
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** A program of ours that could not be started or ended badly: says which one, how, and its last words. */
export class ProgramError extends Error {
  constructor(
    readonly program: string,
    readonly exitCode: number | string | undefined,
    lastWords: string,
    readonly stdout = '',
  ) {
    super(`${program} failed (${exitCode ?? 'killed'})${lastWords ? `: ${lastWords}` : ''}`)
    this.name = 'ProgramError'
  }
}

/** Runs a program to its end and returns what it wrote to standard output. Never through a shell. */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      file,
      [...args],
      {
        cwd: options.cwd,
        env: { ...process.env, ...options.env },
        timeout: options.timeoutMs ?? 0,
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        const code = error.code ?? (error.killed ? `killed after ${options.timeoutMs} ms` : (error.signal ?? undefined))
        reject(
          new ProgramError([file, ...args.slice(0, 2)].join(' '), code, lastWords(stderr || stdout || error.message), stdout),
        )
      },
    )
  })
}

/** The absolute path of a program on PATH, or nothing. */
export async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder === '') continue
    const candidate = join(folder, name)
    if (await executable(candidate)) return candidate
  }
  return undefined
}

export async function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
