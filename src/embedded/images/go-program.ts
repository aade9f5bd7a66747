import { basename, join } from 'node:path'
import { makeOnce } from '../cache-dir.js'
import { executable, findOnPath, run } from '../program.js'

/** Smaller programs: neither symbol table nor debugging information. */
const STRIPPED = ['-ldflags', '-s -w']
/** Without the C library a program runs in an image that holds nothing else. */
const STATIC = { CGO_ENABLED: '0' }

/** A program compiled from a published Go module; Go's checksum database vouches for the source. */
export async function installGoProgram(cacheDir: string, modulePath: string, version: string): Promise<string> {
  const name = basename(modulePath)
  const target = join(cacheDir, 'go', `${name}-${version}-${process.arch}`)
  if (await executable(target)) return target
  const go = await requireGo(name)
  return makeOnce(target, async (scratch) => {
    await run(go, ['install', ...STRIPPED, `${modulePath}@${version}`], { env: { ...STATIC, GOBIN: scratch } })
    return join(scratch, name)
  })
}

/** A program compiled from one source file of ours that needs the standard library only. */
export async function buildGoProgram(source: string, target: string): Promise<string> {
  const go = await requireGo(basename(target))
  await run(go, ['build', ...STRIPPED, '-o', target, source], { env: { ...STATIC, GO111MODULE: 'off' } })
  return target
}

async function requireGo(program: string): Promise<string> {
  const go = await findOnPath('go')
  if (!go) throw new Error(`${program} would have to be compiled, and Go is not installed`)
  return go
}
