import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'

const fileSchema = z.object({ path: z.string(), bytes: z.number().int(), sha256: z.string() })
export type BackupFile = z.infer<typeof fileSchema>

const tableSchema = z.object({
  name: z.string(),
  /** In the order of a line's values. */
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.number().int(),
  file: fileSchema,
})
export type BackupTable = z.infer<typeof tableSchema>

const manifestSchema = z.object({
  format: z.literal('evenkeel-backup-1'),
  instance: z.string(),
  madeAt: z.iso.datetime(),
  /** PostgreSQL's own, for people; any version can read the rows. */
  postgresVersion: z.string(),
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })).min(1),
  tables: z.array(tableSchema).min(1),
  sequences: z.array(z.object({ name: z.string(), value: z.string(), called: z.boolean() })),
  /** Paths below `state`. */
  state: z.array(fileSchema),
  /** SHA-256 of the master key's file, which lies apart; null when the backup was made without it. */
  masterKeySha256: z.string().nullable(),
})
export type BackupManifest = z.infer<typeof manifestSchema>

export const manifestName = 'manifest.json'
export const stateFolder = 'state'

/** The master key lies beside the backup and never in it. */
export const masterKeyBeside = (backup: string): string => `${backup.replace(/\/+$/, '')}.master.key`

/** Reads a backup's manifest and proves that every file is there and as it was written. */
export async function readBackup(folder: string): Promise<BackupManifest> {
  const path = join(folder, manifestName)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw new Error(`${folder} is no backup: it has no ${manifestName}`)
    throw error
  })
  const manifest = parse(text, path)
  const files = [...manifest.tables.map((t) => t.file), ...manifest.state.map((f) => ({ ...f, path: join(stateFolder, f.path) }))]
  for (const file of files) await requireUnchanged(folder, file)
  return manifest
}

function parse(text: string, path: string): BackupManifest {
  try {
    return manifestSchema.parse(JSON.parse(text))
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error)
    throw new Error(`${path} is damaged, or of a version that this Evenkeel does not know: ${why}`)
  }
}

async function requireUnchanged(folder: string, { path, sha256 }: BackupFile): Promise<void> {
  const found = await sha256Of(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`the backup is not whole: ${path} cannot be read (${error.code ?? error.message})`)
  })
  if (found !== sha256) throw new Error(`the backup is damaged: ${path} is not what was written (SHA-256 ${found} instead of ${sha256})`)
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
