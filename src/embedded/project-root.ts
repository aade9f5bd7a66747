import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder with package.json, whether this file runs from src/embedded or compiled from dist/src/embedded. */
export const PROJECT_ROOT = findRoot(import.meta.dirname)

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error(`no package.json above ${import.meta.dirname}`)
  return findRoot(parent)
}
