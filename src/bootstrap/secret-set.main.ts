import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { reasonOf } from '../embedded/reason.js'
import { readSettings } from '../settings.js'
import { setSecret } from './set-secret.js'

/** What `npm run secret:set` runs. The value comes from a file or from standard input: arguments are seen by every user of a machine. */
const usage = 'Usage: npm run secret:set -- PROJECT NAME [--file PATH]   (without --file the value is read from standard input)'

try {
  const { values, positionals } = parseArgs({ options: { file: { type: 'string' } }, allowPositionals: true })
  const [project, name, ...more] = positionals
  if (project === undefined || name === undefined || more.length > 0) throw new Error(usage)
  if (values.file === undefined && process.stdin.isTTY) console.error('Reading the value from the terminal; Ctrl-D ends it.')
  const value = await (values.file === undefined ? buffer(process.stdin) : readFile(resolve(process.env['INIT_CWD'] ?? '.', values.file)))
  const { version, bytes } = await setSecret({ settings: readSettings(), project, name, value })
  console.log(`Secret ${name} of project ${project} is at version ${version} now: ${bytes} bytes${value.at(-1) === 0x0a ? ', the last of which ends a line' : ''}.`)
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}
