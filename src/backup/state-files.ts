import { mkdir, readdir, readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { dirname, join, relative } from 'node:path'
import { writeStateFile } from '../bootstrap/state-file.js'
import { homePaths } from '../settings.js'
import type { BackupFile } from './manifest.js'

/** What must be there: without these an instance is another one. */
const needed = (home: string): string[] => {
  const { instance, signingKey, ownerToken, agentConfig } = homePaths(home)
  return [instance, signingKey, ownerToken, agentConfig]
}

/** What this node shows of each resource to its resolver and ingress. */
export const fragmentsFolder = join('agent', 'endpoints.d')

/** Copies the state files of `home` to `folder`; the master key is not among them. */
export async function copyStateFiles(home: string, folder: string): Promise<BackupFile[]> {
  const fragments = (await namesIn(join(home, fragmentsFolder))).filter((name) => name.endsWith('.json'))
  const optional = [join('agent', 'subnet'), ...fragments.map((name) => join(fragmentsFolder, name))]
  const files: BackupFile[] = []
  for (const path of needed(home)) files.push(await copy(home, folder, relative(home, path)))
  for (const path of optional) {
    try {
      files.push(await copy(home, folder, path))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return files
}

async function copy(home: string, folder: string, path: string): Promise<BackupFile> {
  const content = await readFile(join(home, path), 'utf8')
  await putStateFile(folder, path, content)
  return { path, bytes: Buffer.byteLength(content), sha256: createHash('sha256').update(content).digest('hex') }
}

export async function putStateFile(folder: string, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
  writeStateFile(join(folder, path), content)
}

/** Empty when there is no such folder. */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
