import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../program.js'
import { packImage } from './image-archive.js'

interface SavedImage {
  manifest: { Config: string; RepoTags: string[]; Layers: string[] }[]
  config: { config: object; rootfs: { diff_ids: string[] } }
  layer: Buffer
}

describe('packImage', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'ek-archive-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const pack = async (name: string, modifiedAt: Date): Promise<SavedImage> => {
    const scratch = join(folder, name)
    await mkdir(join(scratch, 'root'), { recursive: true })
    await writeFile(join(scratch, 'root', 'hello'), 'hello')
    await utimes(join(scratch, 'root', 'hello'), modifiedAt, modifiedAt)
    const archive = await packImage(scratch, join(scratch, 'root'), ['a:1', 'b:2'], { Cmd: ['x'] })
    await mkdir(join(scratch, 'read'))
    await run('tar', ['-xf', archive, '-C', join(scratch, 'read')])
    const read = (file: string) => readFile(join(scratch, 'read', file))
    const manifest = JSON.parse((await read('manifest.json')).toString()) as SavedImage['manifest']
    const config = JSON.parse((await read(manifest[0]!.Config)).toString()) as SavedImage['config']
    return { manifest, config, layer: await read(manifest[0]!.Layers[0]!) }
  }

  it('archive -> tags, configuration, and the layer that the configuration names', async () => {
    const { manifest, config, layer } = await pack('one', new Date())
    expect(manifest[0]!.RepoTags).toEqual(['a:1', 'b:2'])
    expect(config.config).toEqual({ Cmd: ['x'] })
    expect(config.rootfs.diff_ids).toEqual([`sha256:${createHash('sha256').update(layer).digest('hex')}`])
  })

  it('same files with other times -> the same layer', async () => {
    const first = await pack('one', new Date('2020-01-01'))
    const second = await pack('two', new Date('2021-01-01'))
    expect(second.config.rootfs).toEqual(first.config.rootfs)
  })
})
