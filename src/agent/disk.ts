import { statfs } from 'node:fs/promises'

export interface DiskUse {
  totalBytes: number
  freeBytes: number
  /** 0 to 1, of what an ordinary user may use. */
  used: number
}

/**
 * Fill level of the file system that holds `path`, the engine's folder. An agent in a container does not see that folder,
 * but its own root lies in it.
 */
export async function diskUse(path: string): Promise<DiskUse> {
  const { bsize, blocks, bfree, bavail } = await statfs(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return statfs('/')
  })
  const usedBlocks = blocks - bfree
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, used: usedBlocks / Math.max(1, usedBlocks + bavail) }
}
