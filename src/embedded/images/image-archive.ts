import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from '../program.js'

/** How a container of the image runs, in the words of the OCI image format. */
export interface ImageConfig {
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
  readonly StopSignal?: string
  readonly ExposedPorts?: Readonly<Record<string, Record<string, never>>>
  readonly Labels?: Readonly<Record<string, string>>
}

/** Debian and Docker agree on these names for what Node calls x64 and arm64. */
const ARCHITECTURE: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }

/**
 * Packs a folder as an image of one layer, in the format that `docker save` writes and every engine loads.
 * All files belong to root and no times or orders leak in, so the same files give the same layer.
 */
export async function packImage(scratch: string, root: string, names: readonly string[], config: ImageConfig): Promise<string> {
  const folder = join(scratch, 'image')
  await mkdir(folder)
  const layer = join(folder, 'layer.tar')
  await run('tar', ['-c', '-f', layer, ...REPRODUCIBLE, '-C', root, '.'])
  const configJson = JSON.stringify({
    architecture: ARCHITECTURE[process.arch] ?? process.arch,
    os: 'linux',
    created: new Date().toISOString(),
    config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${await sha256OfFile(layer)}`] },
    history: [{ created: new Date().toISOString(), created_by: 'evenkeel: stand-in from local packages' }],
  })
  const configName = `${createHash('sha256').update(configJson).digest('hex')}.json`
  await writeFile(join(folder, configName), configJson)
  const manifest = [{ Config: configName, RepoTags: names, Layers: ['layer.tar'] }]
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
  const archive = join(scratch, 'image.tar')
  await run('tar', ['-c', '-f', `${archive}.part`, '-C', folder, '.'])
  await rename(`${archive}.part`, archive)
  return archive
}

const REPRODUCIBLE = ['--sort=name', '--numeric-owner', '--owner=0', '--group=0', '--mtime=@0', '--format=gnu']

async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
