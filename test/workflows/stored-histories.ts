import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = join(import.meta.dirname, 'histories')

/**
 * Histories of runs as released code made them. Every later version must be able to replay them. Recorded by
 * `EVENKEEL_RECORD_HISTORIES=1 npx vitest run test/workflows`, once a release.
 */
export function storedHistories(): { name: string; history: unknown }[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({ name: file.replace('.json', ''), history: JSON.parse(readFileSync(join(folder, file), 'utf8')) as unknown }))
}

/** The form is that of the official CLI, which replayers of all SDKs read. */
export async function recordHistory(server: { binary: string; address: string }, workflowId: string, name: string): Promise<void> {
  if (!process.env['EVENKEEL_RECORD_HISTORIES']) return
  mkdirSync(folder, { recursive: true })
  const args = ['workflow', 'show', '--workflow-id', workflowId, '--address', server.address, '--output', 'json']
  const { stdout } = await promisify(execFile)(server.binary, args, { maxBuffer: 64 * 1024 * 1024 })
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(JSON.parse(stdout), null, 1)}\n`)
}
