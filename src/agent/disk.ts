import { statfs } from 'node:fs/promises'

export interface DiskUse {
  totalBytes: number
  freeBytes: number
  /** 0 to 1, of what an ordinary user may use. */
  used: number
}

/** Fill level of the file system that holds `path`. */
export async function diskUse(path: string): Promise<DiskUse> {
  const { bsize, blocks, bfree, bavail } = await statfs(path)
  const usedBlocks = blocks - bfree
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, used: usedBlocks / Math.max(1, usedBlocks + bavail) }
}
